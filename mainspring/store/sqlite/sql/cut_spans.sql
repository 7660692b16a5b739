-- Spans that reach into what is decided anew end before it.
UPDATE fires
SET through = :after_at, fire_count = NULL
WHERE schedule_id = :id AND through > :after_at AND nominal_at <= :after_at AND job_id IS NULL;

-- Fires that a job would have stood for which was not inserted.
UPDATE fires
SET outcome = 'skipped_overlap', job_id = NULL
WHERE outcome = 'coalesced_into' AND job_id = :job_id;

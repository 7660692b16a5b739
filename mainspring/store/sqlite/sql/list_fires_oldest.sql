-- One page of the ledger, with the spans that reach into it.
SELECT
    schedule_id, nominal_at, sequence, outcome, cause, due_at, decided_at, version, through,
    fire_count, job_id, backfill_id, local_time, note, missed, job_state, job_ended_at
FROM fires
WHERE
    schedule_id = :id
    AND nominal_at > :after_at
    AND nominal_at <= :until_at
    AND (:outcomes IS NULL OR outcome IN (SELECT asked.value FROM json_each(:outcomes) AS asked))
UNION ALL
SELECT
    schedule_id, nominal_at, sequence, outcome, cause, due_at, decided_at, version, through,
    fire_count, job_id, backfill_id, local_time, note, missed, job_state, job_ended_at
FROM fires
WHERE
    schedule_id = :id
    AND through > :after_at
    AND nominal_at <= :after_at
    AND nominal_at <= :until_at
    AND (:outcomes IS NULL OR outcome IN (SELECT asked.value FROM json_each(:outcomes) AS asked))
ORDER BY nominal_at ASC, sequence ASC
LIMIT :page_size;

-- Lines of held attempts only, each once. The key refuses a repetition that runs at the same
-- time; the look-up refuses one whose instant was stamped anew.
INSERT INTO mainspring.job_logs (job_id, at, attempt, sequence, level, message, fields)
SELECT DISTINCT ON (given.job_id, given.attempt, given.sequence)
    given.job_id,
    given.at,
    given.attempt,
    given.sequence,
    given.level,
    given.message,
    given.fields
FROM unnest(
    :ids::uuid[], :attempts::integer[], :sequences::integer[], :instants::timestamptz[],
    :levels::text[], :messages::text[], :fields_each::text[]
) AS given (job_id, attempt, sequence, at, level, message, fields)
INNER JOIN mainspring.jobs AS job
    ON given.job_id = job.id AND given.attempt = job.attempt AND job.worker_id IS NOT null
WHERE
    NOT EXISTS (
        SELECT FROM mainspring.job_logs AS kept
        WHERE
            kept.job_id = given.job_id
            AND kept.attempt = given.attempt
            AND kept.sequence = given.sequence
    )
ORDER BY given.job_id, given.attempt, given.sequence, given.at
ON CONFLICT (job_id, attempt, sequence, at) DO NOTHING
RETURNING sequence;

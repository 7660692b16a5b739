-- Progress is written only where it is news; what is asked about is looked up by primary key.
WITH reported AS (
    UPDATE mainspring.jobs AS job
    SET
        progress_done = given.done,
        progress_total = given.total,
        progress_note = given.note
    FROM unnest(
        :progress_ids::uuid[], :progress_attempts::integer[], :done_each::double precision[],
        :totals::double precision[], :notes::text[]
    ) AS given (id, attempt, done, total, note)
    WHERE job.id = given.id AND job.attempt = given.attempt AND job.worker_id IS NOT null
)

SELECT
    given.id,
    job.id IS null AS lost
FROM unnest(:ids::uuid[], :attempts::integer[]) AS given (id, attempt)
LEFT JOIN mainspring.jobs AS job
    ON
        given.id = job.id
        AND given.attempt = job.attempt
        AND job.worker_id IS NOT null
WHERE job.id IS null OR job.state = 'cancelling';

INSERT INTO mainspring.operation_jobs (operation_id, job_id, due_at, attempt, replays, state)
SELECT :id::uuid, given.job_id, given.due_at, given.attempt, given.replays, given.state
FROM
    unnest(
        :job_ids::uuid[], :due_ats::timestamptz[], :attempts::integer[], :replays::smallint[],
        :states::text[]
    ) AS given (job_id, due_at, attempt, replays, state)
ON CONFLICT (operation_id, job_id) DO NOTHING;

-- Sessions that live, and those that ended a short while ago, newest first.
SELECT
    workers.id,
    workers.name,
    workers.host,
    workers.pid,
    workers.version,
    workers.queues,
    workers.kinds,
    workers.state,
    workers.started_at,
    workers.beat_at,
    workers.lease_until,
    (
        SELECT count(*) FROM jobs
        WHERE jobs.worker_id = workers.id AND jobs.state IN ('running', 'cancelling')
    ) AS running,
    workers.tenant
FROM workers
WHERE
    (workers.ended_at IS NULL OR workers.ended_at > :ended_after)
    AND (:tenant IS NULL OR workers.tenant = :tenant)
ORDER BY workers.started_at DESC, workers.id DESC;

SELECT
    holder.id, holder.name, holder.host, holder.pid, holder.version, holder.queues,
    holder.kinds, holder.state, holder.started_at, holder.beat_at, holder.lease_until,
    (
        SELECT count(*) FROM mainspring.jobs AS job
        WHERE job.worker_id = holder.id AND job.state IN ('running', 'cancelling')
    ) AS running,
    holder.tenant
FROM mainspring.workers AS holder
WHERE
    (
        holder.ended_at IS null
        OR holder.ended_at > coalesce(:at::timestamptz, statement_timestamp()) - interval '1 hour'
    )
    AND (:tenant::text IS null OR holder.tenant = :tenant::text)
ORDER BY holder.started_at DESC, holder.id DESC;

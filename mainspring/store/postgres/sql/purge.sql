WITH purged AS (
    DELETE FROM mainspring.jobs_history
    WHERE state = 'dead' AND id = any(:ids::uuid[])
    RETURNING id, tenant, kind, tries, crashes, payload, payload_ref, result_ref
),

forgotten_attempts AS (
    DELETE FROM mainspring.attempts AS closed
    USING purged
    WHERE closed.job_id = purged.id
),

forgotten_lines AS (
    DELETE FROM mainspring.job_logs AS kept
    USING purged
    WHERE kept.job_id = purged.id
)

SELECT
    purged.id, purged.tenant, purged.kind, purged.tries, purged.crashes, purged.payload,
    purged.payload_ref, purged.result_ref
FROM purged;

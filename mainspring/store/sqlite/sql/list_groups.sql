-- The newest failures, by group. "+id" keeps the primary key out of the plan: its order is another.
WITH failure AS MATERIALIZED (
    SELECT
        id, error_group, kind, finished_at,
        row_number() OVER (
            PARTITION BY error_group ORDER BY finished_at DESC, id DESC
        ) AS place
    FROM (
        SELECT id, error_group, kind, finished_at
        FROM jobs_history
        WHERE
            error_group IS NOT NULL
            AND state IN (SELECT wanted.value FROM json_each(:states) AS wanted)
            AND (:kinds IS NULL OR kind IN (SELECT wanted.value FROM json_each(:kinds) AS wanted))
            AND (
                :queues IS NULL
                OR queue IN (SELECT wanted.value FROM json_each(:queues) AS wanted)
            )
            AND (:tenant IS NULL OR tenant = :tenant)
            AND (
                :error_groups IS NULL
                OR error_group IN (SELECT wanted.value FROM json_each(:error_groups) AS wanted)
            )
            AND +id >= :id_from
            AND +id < :before_id
            AND (:created_after IS NULL OR created_at >= :created_after)
            AND (:created_before IS NULL OR created_at < :created_before)
            AND (:finished_after IS NULL OR finished_at >= :finished_after)
            AND (:finished_before IS NULL OR finished_at < :finished_before)
        ORDER BY finished_at DESC
        LIMIT :scan_limit
    ) AS newest
),

counted AS (
    SELECT
        error_group,
        count(*) AS jobs,
        min(finished_at) AS first_at,
        max(finished_at) AS last_at
    FROM failure
    GROUP BY error_group
    ORDER BY jobs DESC, last_at DESC, error_group
    LIMIT :page_size
),

bucket AS (
    SELECT
        error_group,
        (finished_at - :begins_at) / (:bucket_ms * 1000) AS number,
        count(*) AS jobs
    FROM failure
    WHERE finished_at >= :begins_at AND finished_at < :ends_at
    GROUP BY error_group, number
)

SELECT
    counted.error_group, counted.jobs, failure.kind, counted.first_at, counted.last_at,
    failure.id, sample.error,
    (
        SELECT json_group_object(bucket.number, bucket.jobs)
        FROM bucket
        WHERE bucket.error_group = counted.error_group
    ) AS trend
FROM counted
CROSS JOIN failure
CROSS JOIN jobs_history AS sample
WHERE
    failure.error_group = counted.error_group
    AND failure.place = 1
    AND sample.id = failure.id
ORDER BY counted.jobs DESC, counted.last_at DESC, counted.error_group;

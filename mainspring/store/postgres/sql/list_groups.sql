-- The newest failures, by group. The states are never absent, so that whole tables are left out.
WITH failure AS MATERIALIZED (
    SELECT
        id, error_group, kind, finished_at,
        row_number() OVER (
            PARTITION BY error_group ORDER BY finished_at DESC, id DESC
        ) AS place
    FROM (
        SELECT id, error_group, kind, finished_at
        FROM mainspring.jobs_history
        WHERE
            error_group IS NOT null
            AND state = any(:states::text[])
            AND (:kinds::text[] IS null OR kind = any(:kinds::text[]))
            AND (:queues::text[] IS null OR queue = any(:queues::text[]))
            AND (:tenant::text IS null OR tenant = :tenant::text)
            AND (:error_groups::text[] IS null OR error_group = any(:error_groups::text[]))
            AND (:id_from::uuid IS null OR id >= :id_from::uuid)
            AND (:id_before::uuid IS null OR id < :id_before::uuid)
            AND created_at >= coalesce(:created_after::timestamptz, '-infinity')
            AND created_at < coalesce(:created_before::timestamptz, 'infinity')
            AND finished_at >= coalesce(:finished_after::timestamptz, '-infinity')
            AND finished_at < coalesce(:finished_before::timestamptz, 'infinity')
        ORDER BY finished_at DESC
        LIMIT :scan_limit::integer
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
    LIMIT :row_limit::integer
),

bucket AS (
    SELECT
        error_group,
        floor(
            extract(EPOCH FROM finished_at - :begins_at::timestamptz)
            * 1000 / :bucket_ms::bigint
        )::integer AS number,
        count(*) AS jobs
    FROM failure
    WHERE finished_at >= :begins_at::timestamptz AND finished_at < :ends_at::timestamptz
    GROUP BY error_group, number
)

SELECT
    counted.error_group, counted.jobs, failure.kind, counted.first_at, counted.last_at,
    failure.id, sample.error,
    (
        SELECT json_object_agg(bucket.number, bucket.jobs)::text
        FROM bucket
        WHERE bucket.error_group = counted.error_group
    ) AS trend
FROM counted
INNER JOIN failure ON counted.error_group = failure.error_group AND failure.place = 1
INNER JOIN mainspring.jobs_history AS sample
    ON failure.id = sample.id AND failure.finished_at = sample.finished_at
WHERE sample.state = any(:states::text[])
ORDER BY counted.jobs DESC, counted.last_at DESC, counted.error_group;

-- The server at a glance. A snapshot is held by a session in a transaction, or by a prepared one.
SELECT
    current_setting('server_version') AS version,
    current_setting('max_connections')::integer AS connections_max,
    (
        SELECT count(*)::integer FROM pg_stat_activity
        WHERE backend_type = 'client backend'
    ) AS connections,
    oldest.seconds,
    oldest.held_by
FROM (SELECT 1) AS present
LEFT JOIN LATERAL (
    SELECT
        extract(EPOCH FROM clock_timestamp() - holder.began_at)::double precision AS seconds,
        holder.held_by
    FROM (
        SELECT
            xact_start AS began_at,
            format('process %s of %s (%s)', pid, usename, application_name) AS held_by
        FROM pg_stat_activity
        WHERE backend_xmin IS NOT null AND pid <> pg_backend_pid()
        UNION ALL
        SELECT
            prepared AS began_at,
            format('the prepared transaction %s', gid) AS held_by
        FROM pg_prepared_xacts
    ) AS holder
    WHERE holder.began_at IS NOT null
    ORDER BY holder.began_at
    LIMIT 1
) AS oldest ON true;

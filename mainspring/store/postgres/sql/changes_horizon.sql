-- The instant before which nothing can appear any more, to whoever looks after this: what is
-- written bears a time after its transaction's beginning. A transaction is seen here a moment after
-- it has begun, and has a number of its own only with its first change. Nobody waits long for one.
SELECT
    coalesce(
        :at::timestamptz,
        greatest(
            least(statement_timestamp() - interval '100 milliseconds', min(activity.xact_start)),
            statement_timestamp() - make_interval(secs => :patience_seconds::double precision)
        )
    ) AS through
FROM pg_stat_activity AS activity
WHERE
    activity.datname = current_database()
    AND activity.backend_type = 'client backend'
    AND activity.pid <> pg_backend_pid()
    AND (activity.backend_xid IS NOT null OR activity.state = 'active');

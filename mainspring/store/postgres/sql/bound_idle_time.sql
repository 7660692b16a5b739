-- A caller that freezes between the end of its attempt and its commit must not hold up others.
-- A shorter bound of the caller's own stays.
SELECT set_config('idle_in_transaction_session_timeout', :seconds::text || 's', true)
FROM pg_settings
WHERE
    name = 'idle_in_transaction_session_timeout'
    AND (setting = '0' OR setting::bigint > :seconds::bigint * 1000);

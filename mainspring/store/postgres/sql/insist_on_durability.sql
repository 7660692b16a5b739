-- What is acknowledged is on disk (law 1), whatever the server's default says.
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off';

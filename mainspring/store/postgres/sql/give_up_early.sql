-- Like shorten_waits, without a parameter: it travels inside a script.
SELECT set_config('lock_timeout', '1000ms', true);

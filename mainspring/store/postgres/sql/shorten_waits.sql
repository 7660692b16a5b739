-- A schema change that has to wait makes everybody behind it wait: give up early, try again later.
SELECT set_config('lock_timeout', :milliseconds::text, true);

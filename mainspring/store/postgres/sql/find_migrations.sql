SELECT to_regclass('mainspring.migrations') IS NOT NULL AS found;

-- One caller at a time migrates; the others wait here, however long the step takes.
SELECT pg_advisory_xact_lock(hashtextextended('mainspring.migrations', 0));

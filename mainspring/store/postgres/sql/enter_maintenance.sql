-- Partitions are added and dropped by one caller at a time.
SELECT pg_advisory_xact_lock(hashtextextended('mainspring.partitions', 0));

INSERT INTO migrations (name, checksum, applied_at, by_version)
VALUES (:name, :checksum, :now, :by_version);

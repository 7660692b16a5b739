INSERT INTO mainspring.migrations (name, checksum, applied_at, by_version)
VALUES (:name, :checksum, statement_timestamp(), :by_version);

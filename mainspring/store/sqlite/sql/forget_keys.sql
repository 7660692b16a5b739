DELETE FROM submission_keys
WHERE (tenant, key) IN (
    SELECT old.tenant, old.key
    FROM submission_keys AS old
    WHERE old.expires_at <= :now
    ORDER BY old.expires_at
    LIMIT :batch_size
);

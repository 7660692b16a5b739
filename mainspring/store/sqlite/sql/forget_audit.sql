DELETE FROM audit
WHERE rowid IN (
    SELECT old.rowid
    FROM audit AS old
    WHERE old.at < :before_at
    ORDER BY old.at
    LIMIT :batch_size
);

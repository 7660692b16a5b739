-- The old one stays good until then, or until it would have expired anyway.
UPDATE api_keys
SET
    replaced_by = :successor,
    expires_at = min(
        coalesce(expires_at, :at + :overlap_seconds * 1000000),
        :at + :overlap_seconds * 1000000
    )
WHERE id = :id
RETURNING expires_at;

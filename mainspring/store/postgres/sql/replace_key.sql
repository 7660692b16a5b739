-- The old one stays good until then, or until it would have expired anyway.
UPDATE mainspring.api_keys
SET
    replaced_by = :successor::text,
    expires_at = least(
        expires_at,
        coalesce(:at::timestamptz, statement_timestamp())
        + :overlap_seconds::integer * interval '1 second'
    )
WHERE id = :id::text
RETURNING expires_at;

-- :entries [[tenant, unique key, while], ...]; answers [[position, job id, whether nobody has begun
-- it, its payload's reference], ...] of those that are held.
SELECT
    json_group_array(
        json_array(
            given.key,
            hex(holder.id),
            CASE
                WHEN holder.attempt = 0 AND holder.state IN ('scheduled', 'ready')
                    THEN json('true')
                ELSE json('false')
            END,
            holder.payload_ref
        )
    )
FROM json_each(:entries) AS given
CROSS JOIN jobs AS holder
WHERE
    holder.tenant = json_extract(given.value, '$[0]')
    AND holder.unique_key = json_extract(given.value, '$[1]')
    AND holder.unique_while = json_extract(given.value, '$[2]')
    AND (holder.unique_while = 'live' OR holder.attempt = 0);

-- :ids and :used_ats are lists of one length.
UPDATE api_keys
SET
    used_at = (
        SELECT min(:at, json_extract(:used_ats, '$[' || given.key || ']'))
        FROM json_each(:ids) AS given
        WHERE given.value = api_keys.id
    )
WHERE
    id IN (
        SELECT given.value
        FROM json_each(:ids) AS given
        WHERE
            coalesce(api_keys.used_at, 0) < json_extract(:used_ats, '$[' || given.key || ']')
    );

-- Where schedules stand now. :entries [[cursor, state, look, waiting], ...].
UPDATE schedules
SET
    cursor = json_extract(given.value, '$[0]'),
    state = json_extract(given.value, '$[1]'),
    look_at = json_extract(given.value, '$[2]'),
    waiting = json_extract(given.value, '$[3]'),
    paused_at = CASE WHEN json_extract(given.value, '$[1]') = 'paused' THEN paused_at END,
    paused_by = CASE WHEN json_extract(given.value, '$[1]') = 'paused' THEN paused_by END,
    paused_reason = CASE WHEN json_extract(given.value, '$[1]') = 'paused' THEN paused_reason END,
    paused_until = CASE WHEN json_extract(given.value, '$[1]') = 'paused' THEN paused_until END
FROM json_each(:entries) AS given
WHERE schedules.id = substr(:ids, given.key * 16 + 1, 16);

-- :entries [[subject, detail], ...].
INSERT INTO audit (at, actor, action, subject, detail)
SELECT
    :now,
    :actor,
    :action,
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]')
FROM json_each(:entries) AS given;

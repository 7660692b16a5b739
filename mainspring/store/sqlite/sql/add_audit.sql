-- :entries [[subject, tenant, detail, before, after], ...].
INSERT INTO audit (at, actor, source, action, subject, tenant, detail, before_change, after_change)
SELECT
    :now,
    :actor,
    :source,
    :action,
    json_extract(given.value, '$[0]'),
    json_extract(given.value, '$[1]'),
    json_extract(given.value, '$[2]'),
    json_extract(given.value, '$[3]'),
    json_extract(given.value, '$[4]')
FROM json_each(:entries) AS given;

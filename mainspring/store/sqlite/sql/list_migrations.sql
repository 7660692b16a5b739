SELECT
    name,
    checksum
FROM migrations
ORDER BY name;

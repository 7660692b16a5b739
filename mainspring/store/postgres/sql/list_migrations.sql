SELECT name, checksum FROM mainspring.migrations ORDER BY name;

SELECT
    parent.relname::text AS parent,
    part.relname::text AS name
FROM pg_inherits AS link
INNER JOIN pg_class AS parent ON link.inhparent = parent.oid
INNER JOIN pg_class AS part ON link.inhrelid = part.oid
INNER JOIN pg_namespace AS home ON parent.relnamespace = home.oid
WHERE home.nspname = 'mainspring' AND parent.relkind = 'p' AND part.relkind = 'r'
ORDER BY parent.relname, part.relname;

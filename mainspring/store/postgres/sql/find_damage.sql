-- Indexes that a broken build has left behind: they cost every write, and serve no read.
SELECT index_class.relname AS name
FROM pg_index AS index_row
INNER JOIN pg_class AS index_class ON index_row.indexrelid = index_class.oid
INNER JOIN pg_namespace AS space ON index_class.relnamespace = space.oid
WHERE space.nspname = 'mainspring' AND NOT index_row.indisvalid
ORDER BY index_class.relname;

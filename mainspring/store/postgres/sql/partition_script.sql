-- The script that adds one partition. It is attached, not created in place, so that the parent
-- stays open for writers; rows that the default partition caught meanwhile move into it.
SELECT
    format(
        'LOCK TABLE mainspring.%1$I IN ACCESS EXCLUSIVE MODE;'
        ' CREATE TABLE mainspring.%2$I (LIKE mainspring.%3$I'
        ' INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES);'
        ' WITH strays AS (DELETE FROM mainspring.%1$I'
        ' WHERE %4$I >= %5$L AND %4$I < %6$L RETURNING *)'
        ' INSERT INTO mainspring.%2$I SELECT * FROM strays;'
        ' ALTER TABLE mainspring.%3$I ATTACH PARTITION mainspring.%2$I'
        ' FOR VALUES FROM (%5$L) TO (%6$L)',
        :parent::text || '_default',
        :name::text,
        :parent::text,
        :time_column::text,
        :begins_at::timestamptz,
        :ends_at::timestamptz
    ) AS script;

-- A bounded delete of what a default partition caught and nobody needs any more.
SELECT
    format(
        'DELETE FROM mainspring.%1$I WHERE ctid = any(ARRAY('
        'SELECT ctid FROM mainspring.%1$I WHERE %2$I < %3$L LIMIT %4$s)) RETURNING %5$s',
        :parent::text || '_default',
        :time_column::text,
        :before::timestamptz,
        :row_limit::integer,
        CASE
            WHEN :parent::text LIKE 'jobs_history_%' THEN 'payload_ref, result_ref'
            ELSE 'null::text AS payload_ref, null::text AS result_ref'
        END
    ) AS script;

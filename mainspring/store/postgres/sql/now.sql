SELECT coalesce(:at::timestamptz, statement_timestamp()) AS now;

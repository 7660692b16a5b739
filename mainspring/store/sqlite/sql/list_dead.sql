SELECT
    jobs_history.id, jobs_history.tenant, jobs_history.kind, jobs_history.tries,
    jobs_history.crashes, jobs_history.payload, jobs_history.payload_ref, jobs_history.result_ref
FROM json_each(:positions) AS given
CROSS JOIN jobs_history
WHERE
    jobs_history.id = substr(:ids, given.key * 16 + 1, 16)
    AND jobs_history.state = 'dead';

-- Of these schedules, those whose exclusive job is live.
SELECT jobs.schedule_id
FROM json_each(:positions) AS given
CROSS JOIN jobs
WHERE jobs.schedule_id = substr(:ids, given.key * 16 + 1, 16) AND jobs.alone = 1;

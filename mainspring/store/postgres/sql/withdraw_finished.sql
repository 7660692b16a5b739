-- Of jobs inserted again after an unknown outcome: take back those that finished meanwhile.
DELETE FROM mainspring.jobs AS again
WHERE
    again.id = any(:ids::uuid[])
    AND EXISTS (SELECT FROM mainspring.jobs_history AS done WHERE done.id = again.id)
RETURNING again.id;

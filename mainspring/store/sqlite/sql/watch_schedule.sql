-- From now on failures count anew.
UPDATE schedules
SET watched_from = :now
WHERE id = :id;

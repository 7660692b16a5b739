UPDATE backfills
SET state = :state
WHERE id = :id AND state = 'active';

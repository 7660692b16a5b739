UPDATE backfills
SET released_at = :released_at
WHERE id = :id;

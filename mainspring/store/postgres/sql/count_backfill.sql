-- How many fires a backfill took up: once for all, whatever becomes of them.
UPDATE mainspring.backfills AS backfill
SET fires = CASE WHEN :is_new::boolean THEN taken.fires ELSE backfill.fires END
FROM (
    SELECT count(*) AS fires
    FROM mainspring.fires AS fire
    WHERE fire.backfill_id = :id::uuid
) AS taken
WHERE backfill.id = :id::uuid
RETURNING backfill.fires;

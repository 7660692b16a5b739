-- From here on these sessions can never beat again.
UPDATE workers
SET state = 'lost', ended_at = :now
WHERE state IN ('alive', 'draining') AND lease_until < :now;

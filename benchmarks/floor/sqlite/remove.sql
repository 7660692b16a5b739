DELETE FROM jobs
WHERE id = :id AND attempt = :attempt;

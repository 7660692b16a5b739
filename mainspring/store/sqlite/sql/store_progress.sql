UPDATE jobs
SET progress_done = :done, progress_total = :total, progress_note = :note
WHERE id = :id AND attempt = :attempt AND worker_id IS NOT NULL;

DELETE FROM fires
WHERE schedule_id = :id AND nominal_at = :nominal_at AND sequence = :sequence;

SELECT json_group_array(name)
FROM queues
WHERE paused_at IS NOT NULL;

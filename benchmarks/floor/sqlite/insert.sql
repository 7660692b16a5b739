-- Each job brings its own values: a bulk insert may hold jobs of every kind and queue.
INSERT INTO jobs (id, created_at, due_at, priority, state, queue, kind, payload)
VALUES (:id, :at, :at, :priority, 'ready', :queue, :kind, :payload);

-- Each job brings its own values: a bulk insert may hold jobs of every kind and queue.
INSERT INTO jobs (id, created_at, due_at, priority, state, queue, kind, payload)
SELECT
    given.id,
    statement_timestamp(),
    given.due_at,
    given.priority,
    'ready',
    given.queue,
    given.kind,
    given.payload
FROM
    unnest(
        :ids::uuid[], :due_ats::timestamptz[], :priorities::smallint[], :queues::text[],
        :kinds::text[], :payloads::text[]
    ) AS given (id, due_at, priority, queue, kind, payload);

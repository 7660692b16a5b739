-- Bulk actions as objects, and the jobs that each of them is about.

-- A row is read and written whole; only what is looked for stands beside the record.
CREATE TABLE operations (
    id blob NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant text,
    state text NOT NULL CHECK (
        state IN ('previewed', 'running', 'paused', 'done', 'aborted', 'failed')
    ),
    step_at integer NOT NULL,
    ended_at integer,
    record text NOT NULL,
    CHECK ((state IN ('done', 'aborted')) = (ended_at IS NOT NULL))
);

CREATE INDEX operations_running ON operations (step_at)
WHERE state = 'running';

-- How a job stood when it was found, and what became of it.
CREATE TABLE operation_jobs (
    operation_id blob NOT NULL,
    job_id blob NOT NULL,
    state text NOT NULL,
    attempt integer NOT NULL,
    replays integer NOT NULL,
    due_at integer NOT NULL,
    outcome text CHECK (outcome IN ('changed', 'left_alone', 'failed')),
    reason text,
    PRIMARY KEY (operation_id, job_id)
) WITHOUT ROWID;

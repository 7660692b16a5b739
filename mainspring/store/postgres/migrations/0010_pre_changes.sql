-- By time, for those who watch. Rows come in order of time, so these indexes are a few pages each
-- and next to nothing to keep.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

-- An index of a partitioned table cannot be made concurrently; one of this kind is made in a scan.
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX jobs_history_by_time ON mainspring.jobs_history
USING brin (finished_at) WITH (pages_per_range = 32, autosummarize = on);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX attempts_by_time ON mainspring.attempts
USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on);

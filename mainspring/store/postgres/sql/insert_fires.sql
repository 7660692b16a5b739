-- The key decides which fires are new, whatever the judge believed; only those get their jobs.
INSERT INTO mainspring.fires (
    schedule_id, nominal_at, sequence, version, outcome, cause, due_at, decided_at, through,
    fire_count, job_id, backfill_id, alone, wall_time, note, missed
)
SELECT
    given.schedule_id, given.nominal_at, given.sequence, given.version, given.outcome,
    given.cause, given.due_at, coalesce(:at::timestamptz, statement_timestamp()), given.through,
    given.fire_count, given.job_id, given.backfill_id, given.alone, given.wall_time, given.note,
    given.missed
FROM
    unnest(
        :schedule_ids::uuid[], :nominal_ats::timestamptz[], :sequences::integer[],
        :versions::integer[], :outcomes::text[], :causes::text[], :due_ats::timestamptz[],
        :throughs::timestamptz[], :fire_counts::integer[], :job_ids::uuid[],
        :backfill_ids::uuid[], :alone_each::boolean[], :wall_times::text[], :notes::text[],
        :missed_each::text[]
    ) AS given (
        schedule_id, nominal_at, sequence, version, outcome, cause, due_at, through, fire_count,
        job_id, backfill_id, alone, wall_time, note, missed
    )
ON CONFLICT DO NOTHING
RETURNING schedule_id, nominal_at, sequence;

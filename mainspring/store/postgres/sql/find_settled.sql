-- Which settlements that changed nothing had been carried out before, in the same way.
SELECT given.position
FROM unnest(
    :ids::uuid[], :attempts::integer[], :attempt_states::text[], :becomes::text[]
) WITH ORDINALITY AS given (id, attempt, attempt_state, becomes, position)
WHERE
    EXISTS (
        SELECT FROM mainspring.jobs_history AS done
        WHERE
            done.id = given.id
            AND done.attempt = given.attempt
            AND done.attempt_state = given.attempt_state
            AND (
                done.state = given.becomes
                OR (
                    done.state = 'cancelled'
                    AND given.becomes IN ('ready', 'scheduled', 'retrying')
                )
            )
    )
    OR EXISTS (
        SELECT FROM mainspring.attempts AS closed
        WHERE
            closed.job_id = given.id
            AND closed.attempt = given.attempt
            AND closed.state = given.attempt_state
    );

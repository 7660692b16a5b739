"""Jobs come in: ``SubmissionStore``."""

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

import msgspec

from mainspring.domain.job import Backoff, Priority, Receipt
from mainspring.domain.limits import PAYLOAD_BYTES_MAX, SUBMISSION_KEY_HOURS
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import id_at, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    SUCCEEDED,
    Suite,
    absent,
    accept,
    claim,
    claim_one,
    counts,
    finish,
    make_dead,
    open_worker,
    start,
    state_of,
    submit,
    submit_one,
    view,
)

_MICROSECOND = timedelta(microseconds=1)
_BODY = hashlib.sha256(b"one body").digest()
_OTHER_BODY = hashlib.sha256(b"another body").digest()
_EVERY_JSON_VALUE = (
    b'{"null":null,"yes":true,"no":false,"big":123456789012345678901234567890,"neg":-0.0,'
    b'"exp":1e+300,"text":"\\u0000\\ud83d\\ude00 \xe2\x82\xac \xf0\x9f\x98\x80 \\"\\\\",'
    b'"list":[1,[2,[]],{}],"spaces" :  1 , "":"empty name", "a":1, "a":2}'
)


class SubmissionSuite(Suite):
    """Every sentence of ``submit``."""

    async def test_receipts_come_in_the_order_given(self, store: Store) -> None:
        jobs = [new_job(priority=number % 4) for number in range(50)][::-1]
        receipts = await store.submit(jobs)
        assert receipts == [Receipt(job.id) for job in jobs]

    async def test_an_empty_batch_is_no_work(self, store: Store) -> None:
        assert await store.submit([]) == []
        assert await counts(store) == {}

    async def test_a_thousand_jobs_in_one_call(self, store: Store) -> None:
        jobs = [new_job(payload=b"%d" % number) for number in range(1_000)]
        assert await store.submit(jobs) == [Receipt(job.id) for job in jobs]
        assert await counts(store) == {JobState.READY: 1_000}
        assert (await view(store, jobs[617].id)).payload == b"617"

    async def test_without_an_instant_a_job_is_due_at_once(
        self, store: Store, clock: SettableClock
    ) -> None:
        found = await view(store, await submit_one(store))
        assert found.state is JobState.READY
        assert found.due_at == found.created_at == clock.now()

    async def test_due_at_now_is_ready_and_a_microsecond_later_is_scheduled(
        self, store: Store, clock: SettableClock
    ) -> None:
        exact = await submit_one(store, due_at=clock.now())
        late = await submit_one(store, due_at=clock.now() + _MICROSECOND)
        assert await state_of(store, exact) is JobState.READY
        assert await state_of(store, late) is JobState.SCHEDULED
        assert (await view(store, late)).due_at == clock.now() + _MICROSECOND

    async def test_due_in_the_past_is_ready_and_keeps_its_instant(
        self, store: Store, clock: SettableClock
    ) -> None:
        past = clock.now() - timedelta(days=400)
        found = await view(store, await submit_one(store, due_at=past))
        assert (found.state, found.due_at) == (JobState.READY, past)

    async def test_a_delay_counts_from_the_clock_of_the_store(
        self, store: Store, clock: SettableClock
    ) -> None:
        found = await view(store, await submit_one(store, delay_ms=1_500))
        assert found.state is JobState.SCHEDULED
        assert found.due_at == clock.now() + timedelta(milliseconds=1_500)
        assert await state_of(store, await submit_one(store, delay_ms=0)) is JobState.READY

    async def test_ten_years_ahead(self, store: Store, clock: SettableClock) -> None:
        due_at = clock.now() + timedelta(days=3_650)
        job_id = await submit_one(store, delay_ms=3_650 * 86_400_000)
        assert (await view(store, job_id)).due_at == due_at
        last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
        assert (await view(store, await submit_one(store, due_at=last))).due_at == last

    async def test_at_far_instants(self, store: Store, clock: SettableClock) -> None:
        for instant in (
            datetime(1971, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
            datetime(2038, 1, 19, 3, 14, 8, 999_999, tzinfo=UTC),
            datetime(2899, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ):
            clock.set(instant)
            claimed = await start(store)
            assert claimed.started_at == claimed.due_at == instant
            await accept(store, claimed, SUCCEEDED)
            found = await view(store, claimed.job_id)
            assert found.created_at == found.finished_at == instant

    async def test_an_id_made_by_a_wrong_clock_is_as_good_as_any(
        self, store: Store, clock: SettableClock
    ) -> None:
        for number, instant in enumerate(
            (clock.now() - timedelta(days=9_000), clock.now() + timedelta(days=9_000))
        ):
            claimed = await finish(store, id=id_at(instant, number))
            assert await state_of(store, claimed.job_id) is JobState.SUCCEEDED

    async def test_everything_given_is_kept(self, store: Store) -> None:
        backoff = Backoff(initial_ms=7, factor=1.5, cap_ms=70_000, jitter=0.0)
        job = new_job(
            kind="email.send",
            payload=b'{"to":"someone"}',
            payload_ref="blob/1",
            tenant="default",
            queue="mail",
            priority=Priority.CRITICAL,
            max_attempts=1_000,
            max_crashes=100,
            backoff=backoff,
            timeout_ms=604_800_000,
            on_exhausted="email.bounced",
            effect_key="effect €",
            submission_key="key €",
            body_hash=_BODY,
            unique_key="unique €",
            unique_while="waiting",
        )
        await submit(store, job)
        found = await view(store, job.id)
        # What a view and a submission both have is equal, name by name.
        common = set(job.__struct_fields__) & set(found.__struct_fields__) - {"due_at"}
        assert len(common) >= 14
        for name in sorted(common):
            assert getattr(found, name) == getattr(job, name), name
        assert (found.attempt, found.tries, found.crashes, found.replays) == (0, 0, 0, 0)
        assert absent(found.worker_id, found.started_at, found.finished_at, found.result)

    async def test_absent_options_stay_absent(self, store: Store) -> None:
        found = await view(store, await submit_one(store))
        assert absent(found.backoff, found.on_exhausted, found.effect_key)
        assert absent(found.payload_ref, found.submission_key, found.reason, found.error)
        assert absent(found.unique_key, found.unique_while, found.error_group)

    async def test_a_payload_comes_back_byte_by_byte(self, store: Store) -> None:
        large = b'"' + b"x" * (PAYLOAD_BYTES_MAX - 2) + b'"'
        payloads = (b"null", b"{}", b'""', '[1,\n\t"ä"]'.encode(), _EVERY_JSON_VALUE, large)
        for payload in payloads:
            job_id = await submit_one(store, payload=payload)
            assert (await view(store, job_id)).payload == payload
        claimed = await claim(store, await open_worker(store))
        assert [job.payload for job in claimed] == list(payloads)

    async def test_a_known_id_is_not_inserted_again(self, store: Store) -> None:
        job = new_job(payload=b"1")
        await submit(store, job)
        again = msgspec.structs.replace(job, payload=b"2")
        assert (await store.submit([again, new_job()]))[0] == Receipt(job.id, created=False)
        assert (await view(store, job.id)).payload == b"1"

    async def test_a_known_id_twice_in_one_call(self, store: Store) -> None:
        job = new_job()
        receipts = await store.submit([job, job])
        assert receipts == [Receipt(job.id), Receipt(job.id, created=False)]
        assert await counts(store) == {JobState.READY: 1}

    async def test_a_known_id_that_runs_goes_on(self, store: Store) -> None:
        job = new_job()
        await submit(store, job)
        claimed = await claim_one(store, await open_worker(store))
        assert (await store.submit([job]))[0] == Receipt(job.id, created=False)
        assert (await view(store, job.id)).state is JobState.RUNNING
        await accept(store, claimed, SUCCEEDED)

    async def test_a_repetition_knows_jobs_that_have_finished(self, store: Store) -> None:
        done, waiting, fresh = new_job(priority=0), new_job(), new_job()
        await submit(store, done, waiting)
        claimed = await claim_one(store, await open_worker(store), limit=1)
        assert claimed.job_id == done.id
        await accept(store, claimed, SUCCEEDED)
        assert await store.submit([done, waiting, fresh], repeated=True) == [
            Receipt(done.id, created=False),
            Receipt(waiting.id, created=False),
            Receipt(fresh.id),
        ]
        assert await state_of(store, done.id) is JobState.SUCCEEDED
        assert await counts(store) == {JobState.SUCCEEDED: 1, JobState.READY: 2}

    async def test_a_repetition_of_a_job_with_a_key_changes_nothing(self, store: Store) -> None:
        job = new_job(submission_key="k", body_hash=_BODY)
        await submit(store, job)
        assert await store.submit([job], repeated=True) == [Receipt(job.id, created=False)]
        await accept(store, await claim_one(store, await open_worker(store)), SUCCEEDED)
        assert await store.submit([job], repeated=True) == [Receipt(job.id, created=False)]
        assert await counts(store) == {JobState.SUCCEEDED: 1}

    async def test_a_dead_job_stays_dead_under_repetition(self, store: Store) -> None:
        job = new_job()
        await make_dead(store, id=job.id)
        assert await store.submit([job], repeated=True) == [Receipt(job.id, created=False)]
        assert await counts(store) == {JobState.DEAD: 1}


class SubmissionKeySuite(Suite):
    """What ``submit`` says of submission keys."""

    async def test_the_same_key_and_body_name_the_first_job(self, store: Store) -> None:
        first = new_job(submission_key="k", body_hash=_BODY, payload=b"1")
        await submit(store, first)
        second = new_job(submission_key="k", body_hash=_BODY, payload=b"1")
        assert await store.submit([second]) == [Receipt(first.id, created=False)]
        assert await store.get_job(second.id) is None

    async def test_another_body_is_a_conflict_that_hinders_nobody(self, store: Store) -> None:
        await submit_one(store, submission_key="k", body_hash=_BODY)
        before, wrong, after = (
            new_job(),
            new_job(submission_key="k", body_hash=_OTHER_BODY),
            new_job(submission_key="other", body_hash=_OTHER_BODY),
        )
        receipts = await store.submit([before, wrong, after])
        assert receipts[0] == Receipt(before.id)
        assert receipts[1].conflict
        assert not receipts[1].created
        assert receipts[2] == Receipt(after.id)
        assert await store.get_job(wrong.id) is None
        assert await counts(store) == {JobState.READY: 3}

    async def test_equal_keys_in_one_call_behave_like_two_calls(self, store: Store) -> None:
        first, same, other = (
            new_job(submission_key="k", body_hash=_BODY),
            new_job(submission_key="k", body_hash=_BODY),
            new_job(submission_key="k", body_hash=_OTHER_BODY),
        )
        receipts = await store.submit([first, same, other])
        assert receipts[0] == Receipt(first.id)
        assert receipts[1] == Receipt(first.id, created=False)
        assert receipts[2].conflict
        assert not receipts[2].created
        assert await counts(store) == {JobState.READY: 1}

    async def test_a_key_outlives_its_job_and_ends_by_the_clock(
        self, store: Store, clock: SettableClock
    ) -> None:
        first = await finish(store, submission_key="k", body_hash=_BODY)
        clock.advance(timedelta(hours=SUBMISSION_KEY_HOURS) - _MICROSECOND)
        late = new_job(submission_key="k", body_hash=_BODY)
        assert await store.submit([late]) == [Receipt(first.job_id, created=False)]
        clock.advance(2 * _MICROSECOND)
        other = new_job(submission_key="k", body_hash=_OTHER_BODY)
        assert await store.submit([other]) == [Receipt(other.id)]
        # From here on the key means the new body.
        assert (await store.submit([late]))[0].conflict

    async def test_keys_belong_to_their_tenant(self, store: Store) -> None:
        first = new_job(submission_key="k", body_hash=_BODY)
        second = new_job(submission_key="k", body_hash=_OTHER_BODY, tenant="other")
        await submit(store, first, second)
        again = new_job(submission_key="k", body_hash=_OTHER_BODY, tenant="other")
        assert await store.submit([again]) == [Receipt(second.id, created=False)]

    async def test_keys_are_exact(self, store: Store) -> None:
        for key in ("k", "K", "k ", "ķ", "k" * 256):
            await submit_one(store, submission_key=key, body_hash=_BODY)
        assert await counts(store) == {JobState.READY: 5}

    async def test_twenty_at_once_with_one_key_make_one_job(self, store: Store) -> None:
        jobs = [new_job(submission_key="k", body_hash=_BODY) for _ in range(20)]
        answers = await asyncio.gather(*(store.submit([job]) for job in jobs))
        assert all(len(receipts) == 1 for receipts in answers)
        assert len({receipts[0].job_id for receipts in answers}) == 1
        assert sum(receipts[0].created for receipts in answers) == 1
        assert not any(receipts[0].conflict for receipts in answers)
        assert await counts(store) == {JobState.READY: 1}

    async def test_crossing_batches_of_keys_do_not_block_each_other(self, store: Store) -> None:
        def batch(order: int) -> list[str]:
            return [f"k{number}" for number in range(30)][::order]

        answers = await asyncio.gather(
            *(
                store.submit([new_job(submission_key=key, body_hash=_BODY) for key in batch(order)])
                for order in (1, -1, 1, -1)
            )
        )
        assert sum(receipt.created for receipts in answers for receipt in receipts) == 30
        assert await counts(store) == {JobState.READY: 30}

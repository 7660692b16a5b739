import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import InvalidInput, InvalidPayload, NotFound, NotJson
from mainspring.domain.job import Claimed, HandlerInfo, JobFilter, JobView, Trend
from mainspring.domain.limits import INLINE_BYTES_MAX, PAGE_ITEMS_MAX
from mainspring.domain.outcome import Failed
from mainspring.domain.states import JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import ClientGateway, Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.builders import log_line, settlement
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    BOOM,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    accept,
    claim,
    counts,
    make_dead,
    open_worker,
    start,
    state_of,
    submit_one,
    view,
)
from tests.registry.faults import files_below

_LARGE = b'{"a":"' + b"x" * INLINE_BYTES_MAX + b'"}'


async def dead_with_large_payload(gateway: ClientGateway, store: Store) -> Claimed:
    await gateway.submit([Submission(kind="test.work", payload=_LARGE, kind_is_known=True)])
    claimed = (await claim(store, await open_worker(store)))[0]
    await accept(store, claimed, FAILED_FOR_GOOD)
    return claimed


async def test_a_missing_job_is_not_found(gateway: ClientGateway) -> None:
    missing = new_job_id()
    with pytest.raises(NotFound, match="there is no job job_"):
        await gateway.get_job(missing)
    with pytest.raises(NotFound):
        await gateway.wait_for_change(missing, None, 30)
    with pytest.raises(NotFound):
        await gateway.replay([missing], payload=b"{}", actor="me")
    assert await gateway.replay([missing], actor="me") == []
    assert await gateway.purge([missing], actor="me") == 0


async def test_a_large_result_is_fetched(
    gateway: ClientGateway, store: Store, blobs: LocalBlobs
) -> None:
    claimed = await start(store)
    reference = await blobs.put("result/x", b"[1]")
    await store.settle([settlement(claimed, result_ref=reference)])
    assert (await gateway.get_job(claimed.job_id)).result == b"[1]"
    assert (await view(store, claimed.job_id)).result is None


@pytest.mark.parametrize("limit", [0, -1, PAGE_ITEMS_MAX + 1])
async def test_pages_have_a_limit(gateway: ClientGateway, limit: int) -> None:
    with pytest.raises(InvalidInput, match="is not a whole number from 1 to 500"):
        await gateway.list_jobs(JobFilter(), limit=limit, before=None)
    with pytest.raises(InvalidInput, match="is not a whole number from 1 to 500"):
        await gateway.list_logs(new_job_id(), limit=limit)


async def test_questions_reach_the_store(gateway: ClientGateway, store: Store) -> None:
    claimed = await start(store, queue="default")
    await store.append_logs([log_line(claimed)])
    assert [line.message for line in await gateway.list_logs(claimed.job_id)] == ["line 1"]
    assert [item.attempt for item in await gateway.list_attempts(claimed.job_id)] == [1]
    assert [queue.name for queue in await gateway.list_queues()] == ["default"]
    assert len(await gateway.list_workers()) == 1
    assert await gateway.list_handlers() == []
    assert (await gateway.count_states())[JobState.RUNNING] == 1


async def test_replay_brings_a_job_back_and_wakes_its_queue(
    gateway: ClientGateway, store: Store
) -> None:
    dead = await make_dead(store)
    listening = store.wakeups.subscribe({"queue:default"})
    assert await gateway.replay([dead.job_id], actor="me") == [dead.job_id]
    assert await listening.wait(30) == {"queue:default"}
    listening.close()
    assert await state_of(store, dead.job_id) is JobState.READY
    assert await gateway.replay([dead.job_id], actor="me") == []


async def test_replay_with_a_changed_payload(gateway: ClientGateway, store: Store) -> None:
    dead = await make_dead(store, payload=b'{"a":1}')
    assert await gateway.replay([dead.job_id], payload=b'{"a":2}', actor="me") == [dead.job_id]
    assert (await gateway.get_job(dead.job_id)).payload == b'{"a":2}'


async def test_a_changed_payload_takes_the_place_of_a_large_one(
    gateway: ClientGateway, store: Store
) -> None:
    dead = await dead_with_large_payload(gateway, store)
    assert await gateway.replay([dead.job_id], payload=b'{"a":2}', actor="me") == [dead.job_id]
    found = await gateway.get_job(dead.job_id)
    assert (found.payload, found.payload_ref) == (b'{"a":2}', None)


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (b"nope", NotJson),
        (b"[]", InvalidPayload),
        (b'{"to":7}', InvalidPayload),
        (_LARGE, InvalidInput),
    ],
)
async def test_a_wrong_replacement_changes_nothing(
    gateway: ClientGateway, store: Store, payload: bytes, error: type[InvalidInput]
) -> None:
    schema = '{"type":"object","properties":{"to":{"type":"string"}}}'
    await store.declare_handlers([HandlerInfo(kind="test.work", schema=schema)])
    dead = await make_dead(store, payload=b'{"to":"a"}')
    with pytest.raises(error):
        await gateway.replay([dead.job_id], payload=payload, actor="me")
    found = await gateway.get_job(dead.job_id)
    assert (found.state, found.payload) == (JobState.DEAD, b'{"to":"a"}')


async def _dead(store: Store, clock: SettableClock, count: int, **changes: Any) -> list[bytes]:
    made = []
    for _ in range(count):
        clock.advance(1)
        made.append((await make_dead(store, **changes)).job_id)
    return made


async def test_replay_of_what_matches_takes_the_oldest_first(
    gateway: ClientGateway, store: Store, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.registry.desk.PAGE_ITEMS_MAX", 2)
    dead = await _dead(store, clock, 5)
    await submit_one(store, queue="other")
    dry = await gateway.replay_matching(JobFilter(), limit=3, dry_run=True, actor="me")
    assert (dry.matched, dry.changed) == (3, ())
    assert (await counts(store))[JobState.DEAD] == 5
    done = await gateway.replay_matching(JobFilter(), limit=3, dry_run=False, actor="me")
    assert done.matched == 3
    assert done.changed == tuple(sorted(dead)[:3])
    rest = await gateway.replay_matching(JobFilter(), limit=99, dry_run=False, actor="me")
    assert rest.changed == tuple(sorted(dead)[3:])


async def test_replay_of_what_matches_touches_dead_jobs_of_the_filter_only(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    await _dead(store, clock, 2)
    succeeded = await start(store)
    await accept(store, succeeded, SUCCEEDED)
    nothing = await gateway.replay_matching(
        JobFilter(kinds=frozenset({"other"})), limit=9, dry_run=False, actor="me"
    )
    assert nothing.changed == ()
    asked = JobFilter(states=frozenset({JobState.SUCCEEDED}))
    found = await gateway.replay_matching(asked, limit=9, dry_run=False, actor="me")
    assert len(found.changed) == 2
    assert await state_of(store, succeeded.job_id) is JobState.SUCCEEDED
    with pytest.raises(InvalidInput, match="limit: 0 is not at least 1"):
        await gateway.replay_matching(JobFilter(), limit=0, dry_run=True, actor="me")


async def test_purge_deletes_jobs_and_their_objects(
    gateway: ClientGateway, store: Store, tmp_path: Path
) -> None:
    dead = await dead_with_large_payload(gateway, store)
    alive = await submit_one(store)
    assert len(files_below(tmp_path)) == 1
    assert await gateway.purge([dead.job_id, alive, new_job_id()], actor="me") == 1
    assert files_below(tmp_path) == []
    with pytest.raises(NotFound):
        await gateway.get_job(dead.job_id)
    assert await state_of(store, alive) is JobState.READY


async def test_cancel_tells_the_worker_and_those_who_wait(
    gateway: ClientGateway, store: Store
) -> None:
    running = await start(store)
    worker_id = (await view(store, running.job_id)).worker_id
    assert worker_id is not None
    waiting = await submit_one(store)
    listening = store.wakeups.subscribe({f"worker:{worker_id.hex()}", "done"})
    first = await gateway.cancel([running.job_id], actor="me")
    assert [item.state for item in first] == [JobState.CANCELLING]
    assert await listening.wait(30) == {f"worker:{worker_id.hex()}"}
    await gateway.cancel([waiting], actor="me")
    assert await listening.wait(30) == {"done"}
    again = await gateway.cancel([waiting, new_job_id()], actor="me")
    assert [(item.state, item.changed) for item in again] == [
        (JobState.CANCELLED, False),
        (None, False),
    ]
    listening.close()


async def test_run_now_wakes_the_queue(gateway: ClientGateway, store: Store) -> None:
    later = await submit_one(store, delay_ms=60_000, queue="mail")
    listening = store.wakeups.subscribe({"queue:mail"})
    assert await gateway.run_now([later], actor="me") == [later]
    assert await listening.wait(30) == {"queue:mail"}
    assert await gateway.run_now([new_job_id()], actor="me") == []
    await gateway.pause_queue("mail", reason="busy", actor="me")
    assert await gateway.resume_queue("mail", actor="me")
    assert await listening.wait(30) == {"queue:mail"}
    listening.close()


async def _waits(desk: FrontDesk, seen: JobView) -> asyncio.Task[JobView]:
    """Begin to wait, and return when the wait has really begun."""
    begun = asyncio.Event()
    subscribe = desk._store.wakeups.subscribe

    def note(topics: Any) -> Any:
        begun.set()
        return subscribe(topics)

    desk._store.wakeups.subscribe = note  # type: ignore[method-assign]  # to see that it began
    waiting = asyncio.create_task(desk.wait_for_change(seen.id, seen, 30))
    await begun.wait()
    return waiting


async def test_waiting_ends_with_a_change(desk: FrontDesk, store: Store) -> None:
    claimed = await start(store)
    waiting = await _waits(desk, await desk.get_job(claimed.job_id))
    await accept(store, claimed, SUCCEEDED)
    store.wakeups.announce({"done"})
    assert (await waiting).state is JobState.SUCCEEDED


async def test_waiting_needs_no_hint(desk: FrontDesk, store: Store) -> None:
    claimed = await start(store)
    waiting = await _waits(desk, await desk.get_job(claimed.job_id))
    await accept(store, claimed, Failed(BOOM))
    assert (await waiting).state is JobState.RETRYING


async def test_waiting_for_what_is_over_or_unseen_returns_at_once(
    gateway: ClientGateway, store: Store
) -> None:
    dead = await make_dead(store)
    waiting = await submit_one(store)
    assert (await gateway.wait_for_change(waiting, None, 30)).state is JobState.READY
    seen = await gateway.get_job(dead.job_id)
    assert await gateway.wait_for_change(dead.job_id, seen, 30) == seen


async def test_waiting_ends_at_its_timeout_with_the_job_as_it_is(
    gateway: ClientGateway, store: Store
) -> None:
    seen = await gateway.get_job(await submit_one(store))
    assert await gateway.wait_for_change(seen.id, seen, 0) == seen
    assert await gateway.wait_for_change(seen.id, seen, 0.001) == seen


async def test_waiting_fetches_a_large_payload_once(
    desk: FrontDesk, store: Store, blobs: LocalBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = b'{"a":"' + b"x" * INLINE_BYTES_MAX + b'"}'
    wanted = Submission(kind="mail.send", payload=payload, kind_is_known=True)
    [accepted] = await desk.submit([wanted])
    seen = await desk.get_job(accepted.job_id)
    looks: list[bytes] = []
    fetched: list[str] = []
    look, fetch = store.get_job, blobs.get

    async def counted_look(job_id: bytes) -> JobView | None:
        looks.append(job_id)
        return await look(job_id)

    async def counted_fetch(reference: str) -> bytes:
        fetched.append(reference)
        return await fetch(reference)

    monkeypatch.setattr(store, "get_job", counted_look)
    monkeypatch.setattr(blobs, "get", counted_fetch)
    assert await desk.wait_for_change(seen.id, seen, 0.2) == seen
    assert len(looks) > 2
    assert fetched == [seen.payload_ref]


async def test_a_job_that_falls_due_has_changed(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    seen = await gateway.get_job(await submit_one(store, delay_ms=1_000))
    clock.advance(timedelta(seconds=1))
    assert (await gateway.wait_for_change(seen.id, seen, 30)).state is JobState.READY


async def test_groups_are_those_of_dead_letters_by_the_hour(
    gateway: ClientGateway, store: Store
) -> None:
    dead = await make_dead(store)
    retrying = await start(store)
    await accept(store, retrying, Failed(BOOM))
    await gateway.cancel([retrying.job_id], actor="me")
    (group,) = await gateway.list_groups(JobFilter())
    assert (group.jobs, group.sample_id, group.trend) == (1, dead.job_id, (*[0] * 23, 1))
    for limit, buckets in ((0, 1), (1, 0), (1, 1_001)):
        with pytest.raises(InvalidInput):
            await gateway.list_groups(
                JobFilter(), limit=limit, trend=Trend(group.last_at, 1_000, buckets)
            )

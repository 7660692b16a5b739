from typing import Any

import pytest

from mainspring.domain.errors import InvalidInput, InvalidQuery, UnknownOption
from mainspring.domain.outcome import Failed
from mainspring.domain.states import JobState
from mainspring.ports.gateway import Bulk, ClientGateway, Operation
from mainspring.ports.store import Store
from mainspring.registry import finding
from mainspring.registry.desk import FrontDesk
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    BOOM,
    accept,
    claim_one,
    finish,
    make_dead,
    open_worker,
    start,
    states_of,
    submit_many,
    submit_one,
    view,
)


async def _every(gateway: ClientGateway, query: str, limit: int) -> list[bytes]:
    found: list[bytes] = []
    before: bytes | None = None
    for _ in range(1_000):
        page = await gateway.find(query, limit=limit, before=before)
        assert len(page.items) <= limit
        found += [job.id for job in page.items]
        before = page.next_before
        if before is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize(("page_items", "most"), [(500, 10_000), (3, 7), (2, 1)])
async def test_pages_hold_every_job_that_matches_once(
    gateway: ClientGateway,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    page_items: int,
    most: int,
) -> None:
    monkeypatch.setattr(finding, "PAGE_ITEMS_MAX", page_items)
    monkeypatch.setattr(finding, "FIND_JOBS_MAX", most)
    wanted: list[bytes] = []
    for number in range(20):
        payload = b'{"n":%d}' % (number % 4)
        job_id = await submit_one(store, payload=payload, queue=f"q{number % 2}")
        if number % 4 == 2:
            wanted.append(job_id)
    for limit in (1, 2, 50):
        assert await _every(gateway, "args.n:2", limit) == wanted[::-1]
        assert await _every(gateway, "queue:q0 args.n:2", limit) == wanted[::-1]
        assert await _every(gateway, "queue:q1 args.n:2", limit) == []


async def test_a_page_ends_after_so_many_looks_and_says_where(
    gateway: ClientGateway, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "FIND_JOBS_MAX", 5)
    jobs = sorted(await submit_many(store, 8))
    page = await gateway.find("args.n:1", limit=1)
    assert (page.items, page.next_before) == ((), jobs[3])
    assert (await gateway.find("args.n:1", limit=1, before=jobs[3])).next_before is None


async def test_what_cannot_match_is_not_looked_for(
    desk: FrontDesk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk._store, "list_jobs", None)
    assert (await desk.find("state:dead state:ready", limit=5)).items == ()
    with pytest.raises(InvalidQuery, match="there is no field 'stat'"):
        await desk.find("stat:dead", limit=5)
    with pytest.raises(InvalidInput, match="is not a whole number from 1 to 500"):
        await desk.find("", limit=0)


async def test_words_mean_what_the_store_shows(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    dead = await make_dead(store, queue="default", kind="test.work")
    clock.advance(3_600)
    later = await submit_one(store, delay_ms=60_000)
    retrying = await start(store)
    await accept(store, retrying, Failed(BOOM))
    group = (await view(store, dead.job_id)).error_group
    for query, expected in {
        "state:dead": {dead.job_id},
        "state:failed": {dead.job_id, retrying.job_id},
        f"group:{group}": {dead.job_id, retrying.job_id},
        f"group:{group} finished:>30m": {dead.job_id},
        "created:<1h": {later, retrying.job_id},
        "error:boom -state:dead": {retrying.job_id},
        "state:scheduled,(state:dead kind:test.*)": {later, dead.job_id},
    }.items():
        assert set(await _every(gateway, query, 50)) == expected, query


# --- Operations -----------------------------------------------------------------------------------


async def _operate(gateway: ClientGateway, action: str, query: str, **changes: Any) -> Operation:
    dry_run = changes.pop("dry_run", False)
    wanted = Bulk(action=action, query=query, **changes)
    return await gateway.operate(wanted, dry_run=dry_run, actor="me")


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long operations rested; nobody waits for it."""
    seen: list[float] = []

    async def note(seconds: float) -> None:
        seen.append(seconds)

    monkeypatch.setattr(finding, "pause_seconds", note)
    return seen


async def test_a_preview_tells_and_changes_nothing(gateway: ClientGateway, store: Store) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(7)]
    await finish(store)
    told = await _operate(gateway, "replay", " kind:test.* ", dry_run=True)
    assert (told.matched, told.capped, told.states) == (7, False, {JobState.DEAD: 7})
    assert [job.id for job in told.sample] == dead[:1:-1]
    assert (told.query, told.changed, told.dry_run) == ("kind:test.*", (), True)
    assert set(await states_of(store, dead)) == {JobState.DEAD}


async def test_a_replay_is_of_the_set_that_was_previewed(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(3)]
    late = await start(store)
    told = await _operate(gateway, "replay", "kind:test.*", dry_run=True)
    clock.advance(1)
    await accept(store, late, Failed(BOOM, permanent=True))
    newer = (await make_dead(store)).job_id
    done = await _operate(gateway, "replay", "kind:test.*", until=told.until)
    assert (done.changed, done.dry_run) == (tuple(dead), False)
    assert set(await states_of(store, [late.job_id, newer])) == {JobState.DEAD}
    # Again is harmless, also when one of them has died again.
    worker = await open_worker(store)
    again = await claim_one(store, worker, limit=1)
    await accept(store, again, Failed(BOOM, permanent=True))
    assert (await _operate(gateway, "replay", "kind:test.*", until=told.until)).changed == ()
    assert set((await _operate(gateway, "replay", "kind:test.*")).changed) == {
        late.job_id,
        newer,
        again.job_id,
    }


async def test_an_operation_on_everything_must_be_meant(
    gateway: ClientGateway, store: Store
) -> None:
    await submit_many(store, 2)
    for query in ("", "  "):
        with pytest.raises(InvalidInput, match="query: it is empty"):
            await _operate(gateway, "cancel", query)
    assert len((await gateway.find("state:ready", limit=9)).items) == 2


async def test_the_oldest_of_the_newest_go_first_at_their_rate(
    gateway: ClientGateway, store: Store, rests: list[float]
) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(7)]
    done = await _operate(gateway, "purge", "state:dead", limit=5, rate=2.0)
    assert (done.matched, done.capped, done.changed) == (5, True, tuple(dead[2:]))
    assert rests == [1.0, 1.0]
    rest = await _operate(gateway, "purge", "state:dead", rate=0.5)
    assert (rest.matched, rest.capped, rest.changed) == (2, False, tuple(dead[:2]))
    assert rests == [1.0, 1.0, 2.0]
    assert await store.count_states() == {}


async def test_cancel_and_retry_take_what_they_can_change(
    gateway: ClientGateway, store: Store
) -> None:
    running = await start(store)
    dead = (await make_dead(store)).job_id
    waiting = await submit_one(store, delay_ms=60_000)
    told = await _operate(gateway, "cancel", "kind:test.*", dry_run=True)
    assert told.states == {JobState.RUNNING: 1, JobState.SCHEDULED: 1}
    assert (await _operate(gateway, "retry", "kind:test.*")).changed == (dead, waiting)
    assert await states_of(store, [dead, waiting]) == [JobState.READY] * 2
    done = await _operate(gateway, "cancel", "state:running", reason="stop", force=True)
    assert done.changed == (running.job_id,)
    assert (await view(store, running.job_id)).reason == "stop"
    assert (await _operate(gateway, "replay", "state:succeeded")).matched == 0


async def test_looking_has_an_end(
    gateway: ClientGateway, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "BULK_SCAN_JOBS_MAX", 3)
    await submit_many(store, 5, payload=b'{"n":1}')
    told = await _operate(gateway, "cancel", "args.n:2", dry_run=True)
    assert (told.matched, told.capped) == (0, True)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"action": "replya"}, UnknownOption, "action: there is no 'replya'"),
        ({"query": "stat:dead"}, InvalidQuery, "there is no field 'stat'"),
        ({"limit": 0}, InvalidInput, "limit: 0 is not"),
        ({"limit": 10_001}, InvalidInput, "limit: 10001 is not"),
        ({"rate": 0}, InvalidInput, "rate: 0 is not"),
        ({"rate": float("nan")}, InvalidInput, "rate: nan is not"),
    ],
)
async def test_bad_operations_change_nothing(
    gateway: ClientGateway,
    store: Store,
    changes: dict[str, Any],
    error: type[Exception],
    words: str,
) -> None:
    dead = (await make_dead(store)).job_id
    with pytest.raises(error, match=words):
        await _operate(gateway, **{"action": "replay", "query": "", **changes})
    assert await states_of(store, [dead]) == [JobState.DEAD]

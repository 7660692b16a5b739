"""The client against a real store: what it submits, what it returns, what it raises."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mainspring
from mainspring import (
    App,
    AsyncClient,
    Call,
    Client,
    Fail,
    Handle,
    JobCancelled,
    JobDead,
    MainspringError,
    ResultTimeout,
)
from mainspring.client import blocking as blocking_face
from mainspring.client import client as async_face
from mainspring.domain.errors import (
    Conflict,
    InvalidDuration,
    InvalidId,
    InvalidInput,
    InvalidPayload,
    NotFound,
    StoreNotMigrated,
    SubmissionKeyReused,
    UnknownKind,
    UnknownOption,
)
from mainspring.domain.ids import show_job
from mainspring.domain.job import NewSession
from mainspring.domain.outcome import ErrorInfo, Failed, Report, Succeeded
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_worker_id
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.runtime.assemble import open_client_gateway, open_store, open_worker_gateway
from mainspring.runtime.setting_table import Settings
from mainspring.testing import Kit
from tests.loopback import serving, serving_apart

app = App("shop")


class Receipt(msgspec.Struct):
    order: int
    lines: list[str]


@app.job()
async def charge(order: int, *, lines: list[str] | None = None) -> Receipt:
    return Receipt(order, lines or [])


@app.job()
def forget(order: int) -> None:
    return None


@pytest.fixture
def mainspring_apps() -> App:
    return app


@pytest.fixture
async def store_url(tmp_path: Path) -> str:
    settings = Settings(store_url=f"sqlite:///{tmp_path / 'store.db'}")
    store = await open_store(settings)
    await store.migrate(phase="all")
    await store.declare_handlers([handler.info for handler in app.handlers.values()])
    await store.close()
    return settings.store_url


@pytest.fixture(params=["store", "server"])
async def client(request: pytest.FixtureRequest, store_url: str) -> AsyncIterator[AsyncClient]:
    """A client of the store, and one of a server before it: nobody can tell them apart."""
    async with AsyncExitStack() as stack:
        url = store_url
        if request.param == "server":
            gateway = await stack.enter_async_context(open_client_gateway(Settings(store_url=url)))
            url = await stack.enter_async_context(serving(gateway))
        yield await stack.enter_async_context(mainspring.connect(url))


class Hands:
    """Runs due jobs by hand, as a worker would."""

    def __init__(self, gateway: WorkerGateway) -> None:
        self.gateway = gateway
        self.worker_id = new_worker_id()

    async def begin(self) -> None:
        session = NewSession(
            id=self.worker_id, name="hands", host="h", pid=1, version="0", queues={}, kinds=()
        )
        infos = [handler.info for handler in app.handlers.values()]
        await self.gateway.open_session(session, infos)

    async def end_all(self, error: ErrorInfo | None = None) -> int:
        ask = ClaimAsk(
            worker_id=self.worker_id,
            child=1,
            lanes=(Lane("default", 100),),
            kinds=tuple(app.handlers),
            limit=100,
        )
        claimed = await self.gateway.claim(ask)
        for job in claimed:
            handler = app.handlers[job.kind]
            value = handler.function(**handler.decode(job.payload))
            if asyncio.iscoroutine(value):
                value = await value
            outcome = Succeeded(handler.encode_result(value))
            failed = Failed(error, permanent=True) if error else outcome
            await self.gateway.report([Report(job.job_id, job.attempt, failed)])
        return len(claimed)


@asynccontextmanager
async def hands_on(store_url: str) -> AsyncIterator[Hands]:
    async with open_worker_gateway(Settings(store_url=store_url)) as gateway:
        hands = Hands(gateway)
        await hands.begin()
        yield hands


async def test_a_result_comes_back_in_its_type(mainspring: Kit) -> None:
    client = mainspring.aclient
    handle = await client.submit(charge.call(7, lines=["tea"]))
    assert handle.created
    assert (await handle.aget()).state is JobState.READY
    await mainspring.adrain()
    assert await handle.aresult(timeout="5s") == Receipt(7, ["tea"])
    assert await client.handle(handle.id).aresult("5s") == {"order": 7, "lines": ["tea"]}
    assert await client.handle(handle.id, charge).aresult() == Receipt(7, ["tea"])
    assert [item.attempt for item in await handle.aattempts()] == [1]


async def test_a_wait_is_woken_by_the_end(client: AsyncClient, store_url: str) -> None:
    handle = await client.submit(forget.call(7))
    async with hands_on(store_url) as hands, asyncio.TaskGroup() as group:
        waiting = group.create_task(handle.aresult(timeout="30s"))
        assert await hands.end_all() == 1
    assert waiting.result() is None


async def test_a_failure_is_raised_with_its_facts(mainspring: Kit) -> None:
    client = mainspring.aclient
    handle = await client.submit(charge.call(7))
    mainspring.fail_next(charge, Fail("no money"))
    await mainspring.adrain()
    with pytest.raises(JobDead, match=r"dead .*Fail: no money") as caught:
        await handle.aresult()
    assert caught.value.details["error_type"] == "Fail"
    assert caught.value.details["job_id"] == handle.id
    assert (caught.value.code, caught.value.attempts) == ("job_dead", 1)
    assert (caught.value.error.type, caught.value.error.message) == ("Fail", "no money")
    assert await client.jobs.replay(handle.id, payload={"order": 8})
    assert not await client.jobs.replay(handle.id)
    await mainspring.adrain()
    assert await handle.aresult() == Receipt(8, [])


async def test_a_wait_that_ends_early_leaves_the_job(client: AsyncClient) -> None:
    handle = await client.submit(charge.call(7))
    with pytest.raises(ResultTimeout, match="still ready after 10ms") as caught:
        await handle.aresult(timeout="10ms")
    assert caught.value.details["state"] == "ready"
    assert await handle.acancel(reason="changed my mind") is JobState.CANCELLED
    with pytest.raises(JobCancelled, match="cancelled"):
        await handle.aresult()
    assert await handle.acancel() is JobState.CANCELLED


async def test_many_are_submitted_together_or_not_at_all(client: AsyncClient) -> None:
    handles = await client.submit_many([charge.call(order) for order in range(3)])
    assert len({handle.id for handle in handles}) == 3
    await client.submit(charge.call(1).options(key="k"))
    calls = [charge.call(9), charge.call(2).options(delay="99999d")]
    with pytest.raises(mainspring.MainspringError, match="submission 2 of 2"):
        await client.submit_many(calls)
    counted = await client.door.aask(lambda gateway: gateway.count_states())
    assert counted[JobState.READY] == 4


async def test_a_key_names_one_job(client: AsyncClient) -> None:
    first = await client.submit(charge.call(1).options(key="k"))
    again = await client.submit(charge.call(1).options(key="k"))
    assert (again.id, again.created) == (first.id, False)
    with pytest.raises(SubmissionKeyReused):
        await client.submit(charge.call(2).options(key="k"))


async def test_a_kind_can_be_submitted_by_name(client: AsyncClient) -> None:
    handle: Handle[object] = await client.submit("charge", {"order": 1}, delay="1m")
    assert (await handle.aget()).state is JobState.SCHEDULED
    with pytest.raises(UnknownKind, match="chrage"):
        await client.submit("chrage", {"order": 1})
    with pytest.raises(InvalidPayload, match="order"):
        await client.submit("charge", {"order": "x"})
    with pytest.raises(InvalidPayload, match=r"NaN|nan"):
        await client.submit("charge", {"order": float("nan")})
    with pytest.raises(InvalidPayload):
        await client.submit("charge", {"order": object()})


async def test_bad_questions_are_told_apart(client: AsyncClient) -> None:
    with pytest.raises(InvalidId):
        await client.jobs.get("nope")
    missing = "job_01JD3M0V5T7QK4C8R2N6W9XYZA"
    with pytest.raises(NotFound):
        await client.jobs.get(missing)
    with pytest.raises(NotFound):
        await client.jobs.cancel(missing)
    handle = await client.submit(forget.call(1))
    with pytest.raises(InvalidDuration):
        await handle.aresult(timeout="soon")
    assert await client.jobs.logs(handle.id) == []


async def test_a_search_is_looked_through_and_worked_on(
    client: AsyncClient, store_url: str
) -> None:
    await client.submit_many([charge.call(order) for order in range(5)])
    await client.submit_many([forget.call(order).options(delay="1h") for order in range(3)])
    async with hands_on(store_url) as hands:
        await hands.end_all(ErrorInfo("Declined", "no money"))
    failed = client.jobs.find("state:dead kind:charge created:<1d")
    assert [show_job(job.id) async for job in failed] == sorted(
        [show_job(job.id) async for job in client.jobs.find("state:dead")], reverse=True
    )
    first = await failed.page(limit=2)
    rest = await failed.page(limit=9, before=first.next_before)
    assert (len(first.items), len(rest.items)) == (2, 3)
    op = await client.ops.replay(failed.query, rate="20/s", dry_run=True)
    assert (op.matched, op.changed, op.dry_run) == (5, (), True)
    op = await client.ops.replay(failed, rate="600/s", until=op.until, limit=4)
    assert (op.matched, len(op.changed)) == (4, 4)
    assert (await client.ops.purge("state:dead")).matched == 1
    assert (await client.ops.retry("kind:forget")).matched == 3
    assert (await client.ops.cancel("kind:forget", reason="enough")).matched == 3
    assert {job.state async for job in client.jobs.find("kind:forget")} == {JobState.CANCELLED}


async def test_wrong_searches_and_rates_are_told(client: AsyncClient) -> None:
    wrong: Any
    for wrong in ("", "  ", 5, None):
        with pytest.raises(InvalidInput, match="is no search"):
            client.jobs.find(wrong)
    with pytest.raises(MainspringError, match="staet") as caught:
        await client.jobs.find("staet:dead").page()
    assert "state" in caught.value.hint
    for wrong in ("20", "0/s", "20/x", 20, "-1/s"):
        with pytest.raises(InvalidInput, match="is no rate"):
            await client.ops.replay("state:dead", rate=wrong)
    with pytest.raises(InvalidInput, match="limit: 0 is not"):
        await client.ops.replay("state:dead", limit=0)
    with pytest.raises(InvalidInput, match="until: it has no time zone"):
        await client.ops.replay("state:dead", until=datetime(2026, 1, 1))  # noqa: DTZ001


async def test_wrong_arguments_say_what_is_wanted(client: AsyncClient) -> None:
    wrong: Any = charge
    with pytest.raises(InvalidInput, match="<Job charge> is no call") as caught:
        await client.submit(wrong)
    assert caught.value.hint == "write charge.call(...)"
    wrong = 5
    with pytest.raises(InvalidInput, match="5 is no call"):
        await client.submit(wrong)
    with pytest.raises(InvalidInput, match="the call has its arguments"):
        await client.submit(wrong_call(), {"order": 1})  # type: ignore[call-overload]  # the same
    with pytest.raises(UnknownOption, match="no option 'dealy'") as unknown:
        await client.submit("charge", {"order": 1}, dealy="5m")  # type: ignore[call-overload]
    assert unknown.value.hint == "did you mean delay?"
    with pytest.raises(InvalidId, match="5 is not an id"):
        await client.jobs.get(wrong)
    with pytest.raises(InvalidInput, match="states: 'dead' is no list"):
        await client.jobs.list(states="dead")
    with pytest.raises(UnknownOption, match="states: there is no 'deda'") as state:
        await client.jobs.list(states=["deda"])
    assert state.value.hint == "did you mean dead?"
    with pytest.raises(InvalidInput, match="limit: 0 is not"):
        await client.jobs.list(limit=0)
    handle = await client.submit(forget.call(1))
    wrong = "all"
    with pytest.raises(InvalidInput, match="limit: 'all' is not"):
        await client.jobs.logs(handle.id, limit=wrong)
    wrong = ["job_x"]
    with pytest.raises(InvalidInput, match="'job_x' is no handle"):
        client.as_completed(wrong)
    with pytest.raises(NotFound, match="no handler of the kind 'chrage'") as kind:
        await client.handlers.get("chrage")
    assert kind.value.hint == "did you mean charge?"
    assert (await client.handlers.get("charge")).kind == "charge"


async def test_every_wrong_value_is_named_before_anything_is_asked(
    client: AsyncClient, store_url: str
) -> None:
    job_id = (await client.submit(forget.call(1))).id
    wrong: Any = 5
    jobs, queues = client.jobs, client.queues
    for asking, words in (
        (lambda: client.submit_many(wrong), "calls: 5 is no list"),
        (lambda: client.submit_many("ab"), "calls: 'ab' is no list"),  # type: ignore[arg-type]
        (lambda: jobs.list(kinds=[wrong]), "kinds: 5 is not a name"),
        (lambda: jobs.list(queues=[wrong]), "queues: 5 is not a name"),
        (lambda: jobs.list(before=wrong), "before: 5 is no place in a list"),
        (lambda: jobs.find("state:dead").page(before=b"x"), "before: b'x' is no place"),
        (lambda: jobs.logs(job_id, after=wrong), "after: 5 is no place in a log"),
        (lambda: jobs.logs(job_id, after=wrong_place()), "after: .* is no place in a log"),
        (lambda: jobs.cancel(job_id, reason=wrong), "reason: 5 is no text"),
        (lambda: jobs.cancel(job_id, reason="x" * 1_001), "reason: 'x{40}' is no text"),
        (lambda: jobs.cancel(job_id, reason="a\0b"), "is no text"),
        (lambda: jobs.cancel(job_id, reason="\ud800"), "is no text"),
        (lambda: jobs.cancel(job_id, force=wrong), "force: 5 is neither True nor False"),
        (lambda: queues.pause(""), "queue: '' is not a name"),
        (lambda: queues.pause("mail", reason=wrong), "reason: 5 is no text"),
        (lambda: queues.resume(wrong), "queue: 5 is not a name"),
        (lambda: client.handlers.get(wrong), "kind: 5 is not a name"),
        (lambda: client.ops.cancel("kind:a", until=wrong), "until: 5 is not an instant"),
        (lambda: client.ops.cancel("kind:a", dry_run=wrong), "dry_run: 5 is neither"),
        (lambda: client.ops.cancel("kind:a", force=wrong), "force: 5 is neither"),
        (lambda: client.ops.cancel("kind:a", dry_run=True, reason=wrong), "reason: 5 is no text"),
    ):
        with pytest.raises(InvalidInput, match=words) as caught:
            await asking()
        assert caught.value.hint or "neither" in words
    with pytest.raises(InvalidInput, match="handles: 5 is no list"):
        client.as_completed(wrong)
    with pytest.raises(InvalidInput, match="job: 5 is no job"):
        client.handle(job_id, wrong)
    assert [queue.name for queue in await queues.list()] == ["default"]
    assert (await jobs.get(job_id)).state is JobState.READY
    with pytest.raises(InvalidInput, match="actor: '' is not a key"):
        await mainspring.connect(store_url, actor="").__aenter__()


def wrong_place() -> Any:
    return (1, "2")


def wrong_call() -> Call[Receipt]:
    return charge.call(1)


async def test_a_store_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreNotMigrated):
        async with mainspring.connect(f"sqlite:///{tmp_path / 'new.db'}"):
            pytest.fail("it must not open")


def test_a_fail_is_no_error_of_ours() -> None:
    assert not issubclass(Fail, mainspring.MainspringError)


# --- The blocking face --------------------------------------------------------------------------


def run_due_jobs(store_url: str, error: ErrorInfo | None = None) -> None:
    async def run() -> None:
        async with hands_on(store_url) as hands:
            await hands.end_all(error)

    asyncio.run(run())


@pytest.mark.parametrize("behind", ["store", "server"])
def test_blocking_code_gets_the_same_answers(tmp_path: Path, behind: str) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    asyncio.run(_migrate(url))
    with (
        nullcontext(url) if behind == "store" else serving_apart(url) as address,
        mainspring.connect_sync(address) as client,
    ):
        handle = client.submit(charge.call(7, lines=["tea"]))
        by_name = client.submit("charge", {"order": 8})
        many = client.submit_many([forget.call(1), forget.call(2)])
        with pytest.raises(ResultTimeout):
            handle.result(timeout="10ms")
        assert many[1].cancel() is JobState.CANCELLED
        run_due_jobs(url)
        assert handle.result(timeout="5s") == Receipt(7, ["tea"])
        assert client.handle(by_name.id).result() == {"order": 8, "lines": []}
        assert many[0].result() is None
        assert client.jobs.get(handle.id).state is JobState.SUCCEEDED
        assert client.jobs.wait(many[1].id).state is JobState.CANCELLED
        assert client.handle(handle.id, charge).result() == Receipt(7, ["tea"])
        assert client.jobs.find("kind:charge").page().items
        assert [job.kind for job in client.jobs.find("state:cancelled")] == ["forget"]
        assert client.ops.replay("state:dead", dry_run=True).matched == 0
        assert len(client.jobs.attempts(handle.id)) == len(handle.attempts()) == 1
        assert client.jobs.logs(handle.id) == []
        dying = client.submit(charge.call(1))
        run_due_jobs(url, ErrorInfo("Declined", "no"))
        with pytest.raises(JobDead):
            dying.result()
        assert client.jobs.replay(dying.id)
        assert client.jobs.cancel(dying.id) is JobState.CANCELLED
    with pytest.raises(Conflict, match="closed"):
        client.jobs.get(handle.id)


async def _migrate(url: str) -> None:
    store = await open_store(Settings(store_url=url))
    await store.migrate(phase="all")
    await store.declare_handlers([handler.info for handler in app.handlers.values()])
    await store.close()


def test_what_opening_raises_is_raised_here(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreNotMigrated),
        mainspring.connect_sync(f"sqlite:///{tmp_path / 'new.db'}"),
    ):
        pytest.fail("it must not open")


def test_both_faces_offer_the_same() -> None:
    def offered(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert offered(AsyncClient) == offered(Client)
    for space in ("Jobs", "Ops", "Queues", "Workers", "Handlers", "Files", "Search"):
        awaited = offered(getattr(async_face, f"Async{space}"))
        assert awaited == offered(getattr(blocking_face, f"Blocking{space}"))
    faces = offered(Handle) - {"id", "raw", "created"}
    plain = {name for name in faces if f"a{name}" in faces}
    assert faces == plain | {f"a{name}" for name in plain}

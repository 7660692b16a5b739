"""The examples of the SDK's guide, as drafted, through a real store and a real worker."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from mainspring import (
    AsyncClient,
    Client,
    DuplicateJob,
    Event,
    FileRef,
    Handle,
    InvalidInput,
    JobDead,
    JobFailed,
    NotFound,
    ResultTimeout,
    testing,
)
from mainspring.domain.ids import show_job
from mainspring.domain.job import Priority
from mainspring.domain.states import JobState
from tests.client import shop
from tests.client.shop import (
    ReportSpec,
    app,
    charge,
    export,
    refresh,
    resize,
    send_receipt,
    sync_stock,
)

pytestmark = pytest.mark.slow


@pytest.fixture
async def client(shop_url: str) -> AsyncIterator[AsyncClient]:
    async with app.connect(shop_url) as opened:
        yield opened


@pytest.fixture
def blocking(shop_url: str) -> Iterator[Client]:
    with app.connect_sync(shop_url) as opened:
        yield opened


async def test_1_declare_and_submit(shop_url: str) -> None:
    async with app.connect(shop_url):
        handle = await send_receipt.asubmit(order_id=7)
        assert await handle.aresult(timeout="1m") == "msg-7"


def test_2_options(blocking: Client) -> None:
    assert sync_stock.submit(3).result("30s") == 3
    later = sync_stock.options(delay="15m", key="stock-3", on_duplicate="replace")
    job = later.submit(3, full=True).get()
    assert (job.state, job.priority) == (JobState.SCHEDULED, Priority.HIGH)
    assert job.backoff is not None
    assert job.backoff.full_jitter


def test_3_context(blocking: Client, tmp_path: Path) -> None:
    handle = export.submit(ReportSpec("r"))
    kept = handle.result(timeout="1m")
    assert (kept.name, kept.size_bytes) == ("report.csv", len(f"r,0,{handle.id}\n") * 2)
    assert blocking.files.read(kept) == f"r,0,{handle.id}\nr,1,{handle.id}\n".encode()
    blocking.files.save(kept, tmp_path / "copy.csv")
    assert (tmp_path / "copy.csv").read_bytes() == blocking.files.read(kept)
    for wrong in (FileRef("x"), FileRef("x", 1, "payload/default/2026-01-01/job_x#1#ab")):
        with pytest.raises(InvalidInput, match="is no reference to a file"):
            blocking.files.read(wrong)
    with pytest.raises(InvalidInput, match="'x' is no FileRef"):
        blocking.files.read("x")  # type: ignore[arg-type]  # wrong on purpose


def test_3_alone(tmp_path: Path) -> None:
    ctx = testing.context(attempt=2)
    assert export.run(ReportSpec("r"), ctx=ctx) == FileRef("report.csv")
    assert ctx.files["report.csv"].startswith(b"r,0,job_")
    with pytest.raises(InvalidInput, match=r"nothing\.csv cannot be read: No such file"):
        ctx.save_file(tmp_path / "nothing.csv")
    with pytest.raises(InvalidInput, match="'' is no name of a file"):
        ctx.save_file(tmp_path / "nothing.csv", name="")


def test_2_unique(blocking: Client) -> None:
    unique = resize.options(unique=True, delay="1h")
    first = unique.submit("unique")
    again = unique.submit("unique")
    assert (again.id, again.created) == (first.id, False)
    with pytest.raises(DuplicateJob) as caught:
        unique.options(on_duplicate="reject").submit("unique")
    assert caught.value.handle == first
    assert caught.value.handle.get().state is JobState.SCHEDULED
    replaced = unique.options(on_duplicate="replace", priority="low").submit("unique")
    assert replaced.id == first.id
    assert first.get().priority == Priority.LOW
    stock = sync_stock.options(delay="15m", key="stock-4", on_duplicate="replace")
    earlier = stock.submit(4)
    later = stock.submit(4, full=True)
    assert (later.id, earlier.get().payload) == (earlier.id, b'{"shop_id":4,"full":true}')


def test_8_fan_out(blocking: Client) -> None:
    urls = [f"u{number}" for number in range(25)]
    handles = blocking.submit_many((resize.call(url=u) for u in urls), chunk=10)
    ended = list(blocking.as_completed(handles, timeout="1m"))
    assert {handle.id for handle in ended} == {handle.id for handle in handles}
    assert [handle.result() for handle in handles] == [f"small {url}" for url in urls]


async def test_8_fan_out_awaited(client: AsyncClient) -> None:
    handles = await client.submit_many([resize.call(url=""), resize.call(url="u")])
    results = []
    async for handle in client.as_completed([*handles, handles[0]], timeout="1m"):
        try:
            results.append(await handle.aresult())
        except JobFailed as error:
            results.append(error.error.message)
    assert sorted(results) == ["no url", "no url", "small u"]


async def test_9_dependencies(client: AsyncClient) -> None:
    assert await (await refresh.asubmit(sku="tea")).aresult("30s") == 3


async def test_10_stream(client: AsyncClient) -> None:
    handle = await export.options(delay="100ms").asubmit(ReportSpec("r"))
    events: list[Event] = [event async for event in client.jobs.follow(handle.id, "1m")]
    states = [event.data["state"] for event in events if event.kind == "state"]
    assert states[-1] == "succeeded"
    assert states[0] in {"scheduled", "ready"}
    lines = [event.data for event in events if event.kind == "log"]
    words = [line["message"] for line in lines]
    assert words == ["span opened", "page written", "page written", "span closed"]
    assert lines[1]["fields"] == {"page": 0}
    assert events[-1].kind == "state"
    told = [event.data for event in events if event.kind == "progress"]
    assert all(step["note"] == "writing" for step in told)
    # Of a job that has ended, all that is kept is told.
    again = [event async for event in client.jobs.follow(handle.id)]
    assert [event.kind for event in again if event.kind != "progress"] == ["log"] * 4 + ["state"]


async def test_10_find(client: AsyncClient) -> None:
    handle = await resize.asubmit("")
    with pytest.raises(JobDead):
        await handle.aresult("1m")
    failed = client.jobs.find("state:dead kind:resize created:<1d")
    op = await client.ops.replay(failed.query, rate="20/s", dry_run=True)
    assert op.matched >= 1
    assert handle.id in [show_job(job.id) async for job in failed]


def test_10_stream_blocking(blocking: Client) -> None:
    handle = charge.submit(1, "/nowhere/note")
    events = list(blocking.jobs.follow(handle.id, "1m"))
    assert events[-1].data["error_message"] == "card declined"
    assert events[-1].data["state"] == "dead"


def test_11_errors(blocking: Client, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with pytest.raises(JobFailed) as caught:
        charge.submit(1, str(note)).result(timeout="30s")
    error = caught.value
    assert isinstance(error, JobDead)
    assert (error.error.type, error.error.message) == ("Fail", "card declined")
    assert error.attempts == 1
    refunds = blocking.jobs.list(kinds=["refund_customer"]).items
    refund = max(refunds, key=lambda job: job.id)
    assert blocking.handle(show_job(refund.id)).result("30s") is None
    assert note.read_text() == "card declined"
    for order in (2, 3):
        handle = charge.submit(order, "")
        assert handle.result(timeout="30s") == handle.id
    with pytest.raises(ResultTimeout):
        resize.options(delay="1h").submit("u").result(timeout="10ms")


def test_a_handler_submits_to_the_store_of_its_worker(blocking: Client) -> None:
    for job in (shop.place_order, shop.place_order_async, shop.place_order_alone):
        (child,) = job.submit(5).result("1m")
        assert blocking.handle(child).result("30s") == "msg-5"


def test_waiting_for_many_ends_in_time_and_says_what_is_left(blocking: Client) -> None:
    later = resize.options(delay="1h")
    handles = blocking.submit_many([later.call("u"), later.call("v"), resize.call("w")])
    handles[2].result("1m")
    seen: list[Handle[str]] = []
    with pytest.raises(ResultTimeout, match="2 of 3 jobs have not ended after 500ms") as caught:
        seen.extend(blocking.as_completed(handles, timeout="500ms"))
    assert seen == [handles[2]]
    assert caught.value.details["left"] == [handles[0].id, handles[1].id]
    assert list(blocking.as_completed([])) == []


def test_bad_batches_are_told_apart(blocking: Client) -> None:
    with pytest.raises(InvalidInput, match="one call is no list"):
        blocking.submit_many(resize.call("u"))  # type: ignore[arg-type]  # wrong on purpose
    wrong: list[Any] = [resize.call("u"), "v"]
    with pytest.raises(InvalidInput, match="item 2 is a str, no call"):
        blocking.submit_many(wrong)
    with pytest.raises(InvalidInput, match="chunk: 0 is not"):
        blocking.submit_many([], chunk=0)
    calls = [resize.call("a"), resize.call("b"), resize.call("c").options(delay="99999d")]
    with pytest.raises(InvalidInput, match="delay") as caught:
        blocking.submit_many(calls, chunk=2)
    submitted = caught.value.details["submitted"]
    assert isinstance(submitted, list)
    assert [blocking.handle(job_id).result("30s") for job_id in submitted] == [
        "small a",
        "small b",
    ]
    missing = blocking.handle("job_01JD3M0V5T7QK4C8R2N6W9XYZA")
    with pytest.raises(NotFound):
        list(blocking.as_completed([missing]))
    with pytest.raises(NotFound):
        list(blocking.jobs.follow(missing.id))

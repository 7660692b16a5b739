"""An app and its doors: where a submission goes, and from where it may come."""

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring import App, Conflict, Handle, MainspringError
from mainspring.app import declare
from mainspring.domain.states import JobState
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings

app = App("shop")


@app.job()
async def charge(order: int) -> int:
    return order


def make_store(path: Path) -> str:
    url = f"sqlite:///{path}"

    async def make() -> None:
        store = await open_store(Settings(store_url=url))
        await store.migrate(phase="all")
        await store.declare_handlers([handler.info for handler in app.handlers.values()])
        await store.close()

    asyncio.run(make())
    return url


@pytest.fixture
def url(tmp_path: Path) -> str:
    return make_store(tmp_path / "store.db")


@pytest.fixture
def kept(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """An app of its own, so that what it keeps open ends with the test."""
    monkeypatch.setenv("MAINSPRING_STORE", url)
    own = App("own")
    own.job(kind="charge")(charge.function)
    yield own
    own._kept._close()


def bound(own: App) -> declare.Job[[int], int]:
    return declare.Job(charge.function, own.handlers["charge"], own)


def count(url: str) -> int:
    with App("count").connect_sync(url) as client:
        return len(client.jobs.list().items)


def test_connected_the_jobs_go_there(url: str) -> None:
    async def main() -> tuple[str, JobState]:
        async with app.connect(url) as client:
            handle = await charge.asubmit(order=7)
            assert handle.created
            assert (await client.jobs.get(handle.id)).id == (await handle.aget()).id
            return handle.id, await handle.acancel()

    job_id, state = asyncio.run(main())
    assert state is JobState.CANCELLED
    with app.connect_sync(url) as client:
        assert client.jobs.get(job_id).state is JobState.CANCELLED
        assert charge.submit(8).get().state is JobState.READY


def test_without_a_door_one_is_opened_and_kept(kept: App, url: str) -> None:
    first = bound(kept).submit(1)
    door = kept.door
    assert bound(kept).submit(2).get().state is JobState.READY
    assert kept.door is door

    async def main() -> Handle[int]:
        handle = await bound(kept).asubmit(3)
        assert (await handle.aget()).state is JobState.READY
        return handle

    assert asyncio.run(main()).id != first.id
    assert count(url) == 3


def test_what_opening_raises_is_raised_and_tried_again(
    kept: App, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_STORE", f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(MainspringError, match="there is no store at"):
        bound(kept).submit(1)
    monkeypatch.setenv("MAINSPRING_STORE", url)
    assert bound(kept).submit(1).created


def test_a_forked_child_opens_its_own(kept: App, url: str) -> None:
    parent = bound(kept).submit(1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            handle = bound(kept).submit(2)
            os.write(writing, handle.id.encode())
            code = 0 if handle.get().state is JobState.READY else 2
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as answer:
        told = answer.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert told not in {"", parent.id}
    assert parent.get().state is JobState.READY
    assert count(url) == 2


def test_a_blocking_call_on_the_loop_is_refused_with_a_way_out(url: str) -> None:
    async def main() -> None:
        async with app.connect(url):
            handle = await charge.asubmit(1)
            for call in (lambda: charge.submit(1), handle.get, handle.result, handle.cancel):
                with pytest.raises(Conflict, match="running event loop") as caught:
                    call()
                assert "asubmit()" in caught.value.hint
            # From a thread of its own it is what it is made for.
            assert (await asyncio.to_thread(charge.submit, 2)).created
            assert (await asyncio.to_thread(handle.get)).state is JobState.READY

    asyncio.run(main())


def test_a_handle_is_awaited_on_any_loop(url: str) -> None:
    with app.connect_sync(url):
        handle = charge.submit(1)
        assert asyncio.run(handle.aget()).state is JobState.READY
        answers: list[JobState] = []
        thread = threading.Thread(target=lambda: answers.append(handle.cancel()))
        thread.start()
        thread.join()
        assert answers == [JobState.CANCELLED]
    for ask in (handle.get, handle.result):
        with pytest.raises(Conflict, match="closed"):
            ask()


def test_doors_are_used_from_the_last_to_the_first(tmp_path: Path) -> None:
    first, second = (make_store(tmp_path / name) for name in ("first.db", "second.db"))
    with app.connect_sync(first):
        with app.connect_sync(second):
            charge.submit(1)
        charge.submit(2)
        charge.submit(3)
    assert (count(first), count(second)) == (2, 1)


def test_a_bare_declaration_says_how_to_connect() -> None:
    bare = declare.App("bare")

    @bare.job()
    def work() -> None: ...

    with pytest.raises(Conflict, match="the app 'bare' is not connected") as caught:
        work.submit()
    assert "app.connect()" in caught.value.hint
    with pytest.raises(MainspringError, match=r"a builtins\.object is no connection"):
        work.using(object())

"""The shop of the SDK's examples behaves in the kit as it does under a real worker.

``tests/client/test_examples.py`` says the same of a worker process on a file.
"""

from pathlib import Path

import pytest

from mainspring import App, JobDead, JobFailed
from mainspring.domain.job import Priority
from mainspring.testing import Kit
from tests.client import shop
from tests.client.shop import app


@pytest.fixture
def mainspring_apps() -> App:
    return app


async def test_1_declare_and_submit(mainspring: Kit) -> None:
    mainspring.mode = "inline"
    async with app.connect("http://localhost:7400"):
        handle = await shop.send_receipt.asubmit(order_id=7)
        assert await handle.aresult(timeout="1m") == "msg-7"


def test_2_options(mainspring: Kit) -> None:
    with mainspring.inline():
        assert shop.sync_stock.submit(3).result("30s") == 3
    later = shop.sync_stock.options(delay="15m", key="stock-3", on_duplicate="replace")
    job = later.submit(3, full=True).get()
    assert (job.state, job.priority) == ("scheduled", Priority.HIGH)
    again = later.submit(3)
    assert not again.created
    mainspring.advance("15m", drain=True)
    assert again.result() == 3


def test_8_fan_out(mainspring: Kit) -> None:
    urls = ["a", "b", "c"]
    handles = mainspring.client.submit_many(shop.resize.call(url=url) for url in urls)
    mainspring.drain()
    ended = mainspring.client.as_completed(handles, timeout="1m")
    assert sorted(handle.result() for handle in ended) == ["small a", "small b", "small c"]


def test_9_dependencies(mainspring: Kit) -> None:
    with mainspring.inline():
        assert shop.refresh.submit("tea").result() == 3


def test_10_stream(mainspring: Kit) -> None:
    handle = shop.export.submit(shop.ReportSpec("r"))
    mainspring.drain()
    events = list(mainspring.client.jobs.follow(handle.id))
    assert [event.kind for event in events if event.kind != "progress"] == ["log"] * 4 + ["state"]
    kept = handle.result()
    assert kept.name == "report.csv"
    assert mainspring.client.files.read(kept).count(b"\n") == 2


def test_11_errors(mainspring: Kit, tmp_path: Path) -> None:
    note = tmp_path / "note"
    handle = shop.charge.submit(1, str(note))
    mainspring.drain()
    with pytest.raises(JobFailed) as caught:
        handle.result(timeout="30s")
    error = caught.value
    assert isinstance(error, JobDead)
    assert (error.error.type, error.error.message, error.attempts) == ("Fail", "card declined", 1)
    assert note.read_text() == "card declined"
    for order in (2, 3):
        handle = shop.charge.submit(order, "")
        mainspring.drain()
        mainspring.advance("10ms", drain=True)
        assert handle.result() == handle.id


def test_12_inline_drain_virtual_time(mainspring: Kit) -> None:
    shop.charge.options(delay="10m").submit(order_id=5, note="")
    mainspring.assert_submitted(shop.charge, order_id=5, delay="10m")
    mainspring.advance("10m")
    result = mainspring.drain()
    assert result.succeeded == 1
    assert result.dead == []


@pytest.mark.parametrize("job", [shop.place_order, shop.place_order_async, shop.place_order_alone])
def test_a_handler_submits_where_it_runs(mainspring: Kit, job: object) -> None:
    with mainspring.inline():
        (child,) = job.submit(5).result("1m")  # type: ignore[attr-defined]  # one of three
    assert mainspring.job(child).result == "msg-5"

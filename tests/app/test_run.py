"""A handler alone: run here and now, with a context that keeps what it says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from mainspring import testing
from mainspring.app.context import Context
from mainspring.app.declare import App
from mainspring.app.signals import Cancelled
from mainspring.domain.errors import Conflict, InvalidInput, InvalidPayload, NaiveDatetime

entered: list[str] = []


@contextlib.contextmanager
def noted(ctx: Context[Any]) -> Iterator[None]:
    entered.append(ctx.kind)
    yield


@contextlib.asynccontextmanager
async def awaited(ctx: Context[Any]) -> AsyncIterator[None]:
    entered.append(f"awaited {ctx.kind}")
    yield


class Spec(msgspec.Struct, frozen=True):
    pages: int


app = App("shop", middleware=[noted])
asynchronous = App("async", middleware=[noted, awaited])


@app.job()
def export(ctx: Context[str], spec: Spec) -> tuple[str, int]:
    for page in range(spec.pages):
        ctx.raise_if_cancelled()
        ctx.progress(page + 1, spec.pages, "writing")
        ctx.log.info("page written", page=page)
        ctx.heartbeat()
    return ctx.deps, ctx.attempt


@asynchronous.job()
async def double(ctx: Context, number: int) -> int:
    await asyncio.sleep(0)
    return number * 2 + ctx.attempt


@asynchronous.job()
def not_async() -> None: ...


@app.job()
def wrong() -> int:
    return "text"  # type: ignore[return-value]  # wrong on purpose


def test_a_context_keeps_what_the_handler_says() -> None:
    ctx = testing.context(attempt=2, deps="printer")
    entered.clear()
    assert export.run(Spec(2), ctx=ctx) == ("printer", 2)
    assert [line.fields for line in ctx.lines] == [{"page": 0}, {"page": 1}]
    assert ctx.moves[-1] == testing.Moved(2, 2, "writing")
    assert ctx.heartbeats == 2
    assert ctx.idempotency_key == ctx.job_id
    # The context is the caller's own: its kind is not the job's.
    assert entered == ["test"]


def test_facts_of_a_context_can_be_chosen() -> None:
    job_id = "job_01JD3M0V5T7QK4C8R2N6W9XYZA"
    ctx = testing.context(job_id=job_id, effect_key="e", tries=3, kind="export")
    assert (ctx.job_id, ctx.idempotency_key, ctx.tries) == (job_id, "e", 3)
    with pytest.raises(Cancelled):
        export.run(Spec(1), ctx=testing.context(is_cancelled=True, deps=""))


@app.job()
def bill(ctx: Context[str]) -> str:
    assert ctx.fire is not None
    return f"{ctx.fire.schedule} {ctx.fire.local} {ctx.fire.sequence}"


def test_a_context_has_the_fire_that_it_is_given() -> None:
    nominal = datetime(2027, 1, 31, 8, tzinfo=UTC)
    fire = testing.fire(nominal, schedule="bills", zone="Europe/Berlin")
    assert bill.run(ctx=testing.context(fire=fire)) == "bills 2027-01-31T09:00:00 0"
    assert (fire.due_at, fire.started_at, fire.missed) == (nominal, nominal, None)
    assert testing.fire(nominal, zone="+05:30").local == "2027-01-31T13:30:00"
    assert testing.context().fire is None
    with pytest.raises(NaiveDatetime):
        testing.fire(nominal.replace(tzinfo=None))


def test_an_async_handler_is_run_with_and_without_a_loop() -> None:
    entered.clear()
    assert double.run(4) == 9
    assert entered == ["double", "awaited double"]

    async def main() -> None:
        assert await double.arun(4, ctx=testing.context(attempt=3)) == 11
        with pytest.raises(Conflict, match="stop the loop") as caught:
            double.run(4)
        assert caught.value.hint == "await arun()"

    asyncio.run(main())
    with pytest.raises(InvalidInput, match="awaited must be awaited, but not_async is no async"):
        not_async.run()


def test_what_a_worker_would_refuse_is_refused_here() -> None:
    with pytest.raises(InvalidPayload, match="missing a required argument: 'spec'"):
        export.run()
    with pytest.raises(InvalidPayload, match="pages"):
        export.run({"pages": "many"})
    with pytest.raises(InvalidPayload, match="not what it declares"):
        wrong.run()
    with pytest.raises(RuntimeError, match="no dependencies"):
        export.run(Spec(1))

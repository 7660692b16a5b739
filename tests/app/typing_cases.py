"""Checked in ``test_typing`` by mypy and pyright, never run.

``# E:`` names mypy's error that is expected on its line; pyright has one there too.
"""

# mypy: ignore-errors

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, assert_type

from mainspring import (
    App,
    AsyncClient,
    Call,
    Client,
    Context,
    Event,
    Fail,
    Failure,
    Handle,
    Retry,
    backoff,
    testing,
)


class Deps:
    name: str


@asynccontextmanager
async def resources() -> AsyncIterator[Deps]:
    yield Deps()


@contextmanager
def traced(ctx: Context[Any]) -> Iterator[None]:
    yield


app = App("cases", lifespan=resources, middleware=[traced])


@app.job()
def gave_up(failure: Failure) -> None:
    assert_type(failure.error_message, str)


@app.job(
    retry=Retry(wait=backoff.exponential("2s", cap="5m", jitter="full"), on=(OSError,)),
    heartbeat="30s",
    unique=("order_id",),
    on_exhausted=gave_up,
)
def charge(ctx: Context, order_id: int) -> str:
    raise Fail(ctx.idempotency_key)


@app.job()
def sync_plain(a: int, *, b: str = "") -> str:
    return b * a


@app.job(queue="mail", retry=Retry(max_attempts=2))
async def async_plain(a: int, b: str = "") -> float:
    return a + len(b)


@app.job()
def sync_context(ctx: Context, a: int) -> list[int]:
    ctx.progress(a)
    return [a]


@app.job()
async def async_context(ctx: Context[Deps], a: int) -> bytes | None:
    assert_type(ctx.deps, Deps)
    return ctx.deps.name.encode() * a


@app.job()
def only_context(ctx: Context) -> None: ...


@app.job()
async def nothing() -> None: ...


assert_type(sync_plain.call(1, b="x"), Call[str])
assert_type(async_plain.call(1, "x"), Call[float])
assert_type(sync_context.call(1), Call[list[int]])
assert_type(async_context.call(a=1), Call[bytes | None])
assert_type(only_context.call(), Call[None])
assert_type(nothing.call(), Call[None])
assert_type(sync_plain.call(1).options(delay="5m"), Call[str])
assert_type(sync_plain(1), Any)
assert_type(sync_plain.submit(1, b="x"), Handle[str])
assert_type(sync_plain.submit(1).result(), str)
assert_type(async_context.submit(a=1).result("1m"), bytes | None)


async def clients(client: AsyncClient, blocking: Client) -> None:
    assert_type(await client.submit(sync_plain.call(1)), Handle[str])
    assert_type(await client.submit("kind", {"a": 1}, delay="5m"), Handle[Any])
    handles = await client.submit_many(async_plain.call(n) for n in range(3))
    assert_type(handles, list[Handle[float]])
    async for handle in client.as_completed(handles, timeout="5m"):
        assert_type(await handle.aresult(), float)
    async for event in client.jobs.follow(handles[0].id):
        assert_type(event, Event)
    assert_type(client.handle("id", sync_plain), Handle[str])
    assert_type(blocking.submit(sync_plain.call(1), priority="low").result(), str)
    for done in blocking.as_completed(blocking.submit_many([nothing.call()])):
        assert_type(done, Handle[None])
    await client.submit(sync_plain.call(1), delya="5m")  # E: call-overload
    blocking.submit_many([sync_plain])  # E: arg-type
    blocking.jobs.get(7)  # E: arg-type
    await handles[0].aresult(timeout=5)  # E: arg-type
    async with app.connect("sqlite:///x.db") as opened:
        assert_type(opened, AsyncClient)
    with app.connect_sync() as opened_too:
        assert_type(opened_too, Client)
    async with AsyncClient.from_env() as found:
        assert_type(found, AsyncClient)


async def awaited() -> None:
    assert_type(await async_plain.asubmit(1, "x"), Handle[float])
    assert_type(await (await async_plain.asubmit(1, "x")).aresult(), float)
    assert_type(await sync_context.options(delay="5m").asubmit(1), Handle[list[int]])
    await async_plain.asubmit("1")  # E: arg-type


assert_type(sync_plain.options(priority="high").submit(1), Handle[str])
assert_type(sync_plain.using(object()).submit(1), Handle[str])

sync_plain.call("1")  # E: arg-type
sync_plain.call()  # E: call-arg
sync_plain.call(1, "x")  # E: call-arg
sync_plain.call(1, c=2)  # E: call-arg
async_plain.call(a=1, b=2)  # E: arg-type
sync_context.call("1")  # E: arg-type
sync_context.call(None, 1)  # E: call-arg, arg-type
async_context.call(ctx=None, a=1)  # E: call-arg
only_context.call(1)  # E: call-arg
nothing.call(1)  # E: call-arg
sync_plain.call(1).options(delay=5)  # E: arg-type
sync_plain.call(1).options(retries=5)  # E: call-arg
assert_type(sync_context.run(1, ctx=testing.context(attempt=2)), list[int])
backoff.exponential("2s", jitter="half")  # E: arg-type
Retry(wait="10s")  # E: arg-type
Retry(initial="1s")  # E: call-arg
app.job(heartbeat=30)  # E: arg-type
app.job(on_exhausted=3)  # E: arg-type
sync_plain.submit("1")  # E: arg-type
sync_plain.submit(1, c=2)  # E: call-arg
sync_plain.submit()  # E: call-arg
sync_plain.options(delay="5m").submit("1")  # E: arg-type
sync_plain.options(delay="5m").submit(1, b=2)  # E: arg-type
sync_plain.options(delya="5m")  # E: call-arg
sync_plain.options(unique_while="ever")  # E: arg-type
sync_plain.options(on_duplicate="drop")  # E: arg-type
app.job(queue=7)  # E: arg-type
app.job(nothing)  # E: arg-type
app.job(retry={"max_attempts": 3})  # E: arg-type

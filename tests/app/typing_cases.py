"""Checked by mypy in ``test_typing``, never run: ``# E:`` names the error expected on its line."""

# mypy: ignore-errors

from typing import Any, assert_type

from mainspring.app.context import Context
from mainspring.app.declare import App, Call
from mainspring.app.handles import Handle
from mainspring.app.retries import Retry

app = App("cases")


class Deps:
    name: str


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
sync_plain.submit("1")  # E: arg-type
sync_plain.submit(1, c=2)  # E: call-arg
sync_plain.submit()  # E: call-arg
sync_plain.options(delay="5m").submit("1")  # E: arg-type
sync_plain.options(delay="5m").submit(1, b=2)  # E: arg-type
sync_plain.options(delya="5m")  # E: call-arg
sync_plain.options(unique_while="ever")  # E: arg-type
sync_plain.options(on_duplicate="drop")  # E: arg-type
app.job(queue=7)  # E: arg-type
app.job(nothing)  # E: call-arg, arg-type
app.job(retry={"max_attempts": 3})  # E: arg-type

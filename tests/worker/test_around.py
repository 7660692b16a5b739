"""What is around a handler while it runs: its middleware, and its signs of life."""

import json

import pytest

from mainspring.domain.outcome import Failed, Succeeded, TimedOut
from mainspring.policies.verdict import judge
from tests.worker.rig import Rig

_SURROUNDED = ("surrounded", "surrounded_in_thread", "surrounded_alone", "surrounded_alone_async")
_LIVE = ("live", "live_in_thread", "live_alone")


@pytest.mark.parametrize("kind", _SURROUNDED)
async def test_middleware_is_entered_where_the_handler_runs(rig: Rig, kind: str) -> None:
    await rig.start()
    store = rig.store
    outcome = await store.finished(store.submit(kind, payload={"fails": False}))
    assert isinstance(outcome, Succeeded)
    outer, inner, handler = json.loads(outcome.result or b"")
    place = handler.removeprefix("handler ")
    assert (outer, inner) == (f"outer {place}", f"inner {place}")
    assert store.heard("left") == ["inner well", "outer well"]
    failed = await store.finished(store.submit(kind, payload={"fails": True}))
    assert isinstance(failed, Failed)
    assert failed.permanent
    assert store.heard("left")[2:] == ["inner failed", "outer failed"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", _LIVE)
async def test_who_shows_no_sign_of_life_is_stopped(rig: Rig, kind: str) -> None:
    await rig.start(queues={"default": 8})
    store = rig.store
    silent = store.submit(kind, payload={"how": "nothing"})
    others = [store.submit(kind, payload={"how": how}) for how in ("progress", "log", "heartbeat")]
    assert await store.finished(silent) == TimedOut(1_000, is_silence=True)
    for other in others:
        assert await store.finished(other) == Succeeded(b'"lived"')
    verdict = judge(silent.claimed, silent.outcomes[-1], 0.0)
    assert b"no sign of life for 1000 ms" in (verdict.error or b"")
    assert store.deaths == []

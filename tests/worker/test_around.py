"""What is around a handler while it runs: its middleware, and its signs of life."""

import json
from pathlib import Path

import msgspec
import pytest

from mainspring.app.files import FileRef
from mainspring.domain.outcome import Failed, Succeeded, TimedOut
from mainspring.policies.verdict import judge
from tests.worker.rig import Rig

_SURROUNDED = ("surrounded", "surrounded_in_thread", "surrounded_alone", "surrounded_alone_async")
_SAVING = ("save", "save_in_thread", "save_alone", "save_alone_async")
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
    # What handlers say does not come by the way of their outcomes: either may be first.
    await store.until(lambda: len(store.heard("left")) == 2)
    assert store.heard("left") == ["inner well", "outer well"]
    failed = await store.finished(store.submit(kind, payload={"fails": True}))
    assert isinstance(failed, Failed)
    assert failed.permanent
    await store.until(lambda: len(store.heard("left")) == 4)
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


@pytest.mark.parametrize("kind", _SAVING)
async def test_files_are_saved_from_wherever_a_handler_runs(
    rig: Rig, kind: str, tmp_path: Path
) -> None:
    await rig.start()
    store = rig.store
    path = str(tmp_path / "report.csv")
    kept = await store.finished(store.submit(kind, payload={"path": path, "name": "r.csv"}))
    assert isinstance(kept, Succeeded)
    assert msgspec.json.decode(kept.result or b"", type=FileRef) == FileRef(
        "r.csv", 400_000, "kept-r.csv"
    )
    assert store.files["r.csv"] == b"a,b\n" * 100_000
    refused = await store.finished(store.submit(kind, payload={"path": path, "name": "refused"}))
    assert isinstance(refused, Failed)
    assert (refused.error.type, refused.error.message) == ("ConfigError", "no object store")
    assert store.heard("blocked") == []

import threading
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from mainspring.app.context import Context
from mainspring.app.signals import Cancelled
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import show_job

_AT = datetime(2027, 1, 1, tzinfo=UTC)
_ID = b"\x01\x90" + b"\x00" * 14


def context(**changes: Any) -> tuple[Context[Any], list[Any]]:
    told: list[Any] = []
    options: dict[str, Any] = {
        "job_id": _ID,
        "attempt": 3,
        "kind": "k",
        "due_at": _AT,
        "started_at": _AT,
        "created_at": _AT,
        "log": lambda level, message, fields: told.append((level, message, fields)),
        "progress": lambda done, total, note: told.append((done, total, note)),
        "cancelled": threading.Event(),
    }
    return Context(**options | changes), told


def test_lines_and_progress_reach_their_sinks() -> None:
    ctx, told = context()
    ctx.log.debug("a", n=1)
    ctx.log.info("b")
    ctx.log.warning("c")
    ctx.log.error("d", level="kept apart")
    ctx.progress(1, 2, "half")
    ctx.progress(2)
    assert told == [
        ("debug", "a", {"n": 1}),
        ("info", "b", {}),
        ("warning", "c", {}),
        ("error", "d", {"level": "kept apart"}),
        (1, 2, "half"),
        (2, None, ""),
    ]


def test_progress_takes_every_kind_of_number() -> None:
    ctx, told = context()
    ctx.progress(Decimal("1.5"), Fraction(4, 2), "rows")
    ctx.progress(2**60, True)
    assert told == [(1.5, 2.0, "rows"), (float(2**60), 1.0, "")]
    assert [type(value) for value in told[0][:2]] == [float, float]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("half",), "done: this str is no number that can be kept"),
        ((None,), "done: this NoneType is no number"),
        ((10**400,), "done: this int is no number"),
        ((1j,), "done: this complex is no number"),
        ((1, "5"), "total: this str is no number"),
        ((1, 2, None), "note: None is no text"),
    ],
)
def test_progress_that_nobody_could_keep_is_the_handlers_own_mistake(
    arguments: tuple[Any, ...], words: str
) -> None:
    """Whoever carries it on would stumble over it, with all the other attempts of the process."""
    ctx, told = context()
    with pytest.raises(InvalidInput, match=words) as caught:
        ctx.progress(*arguments)
    assert caught.value.hint == 'write ctx.progress(7, 10, "rows")'
    assert told == []


def test_the_effect_key_is_stable_over_attempts() -> None:
    assert context()[0].idempotency_key == show_job(_ID)
    assert context(attempt=4)[0].idempotency_key == show_job(_ID)
    assert context(effect_key="order-7")[0].idempotency_key == "order-7"


def test_cancellation_is_seen_through_either_flag() -> None:
    event = threading.Event()
    ctx, _ = context(cancelled=event)
    seen = [ctx.cancelled]
    ctx.raise_if_cancelled()
    event.set()
    seen.append(ctx.cancelled)
    assert seen == [False, True]
    with pytest.raises(Cancelled):
        ctx.raise_if_cancelled()
    assert context(cancelled=lambda: True)[0].cancelled


def test_dependencies_come_from_a_lifespan() -> None:
    assert context(deps={})[0].deps == {}
    with pytest.raises(RuntimeError, match="the app has no lifespan"):
        _ = context()[0].deps
    assert repr(context()[0]) == f"<Context k {show_job(_ID)}:3>"

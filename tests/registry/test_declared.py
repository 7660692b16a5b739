"""What a handler declares also holds for those who submit by the kind's name."""

import msgspec
import pytest

from mainspring import App
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import HandlerInfo
from mainspring.domain.states import JobState
from mainspring.ports.gateway import Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk

KIND = "mail.send"
SHOP = """{"type": "object", "properties":
    {"shop": {"type": "integer"}, "full": {"type": "boolean"}, "mode": {"default": "fast"}}}"""


async def test_what_a_handler_declares_of_uniqueness_holds_for_submissions_by_name(
    desk: FrontDesk, store: Store
) -> None:
    unique = ("shop", "mode")
    declared = HandlerInfo(
        kind=KIND, schema=SHOP, unique=unique, on_duplicate="replace", delay_ms=60_000
    )
    await store.declare_handlers([declared])
    bodies = (b'{"shop":3}', b'{"shop":3,"full":true,"mode":"fast"}', b'{"shop":3,"mode":"slow"}')
    first, again, other = [
        (await desk.submit([Submission(kind=KIND, payload=body)]))[0] for body in bodies
    ]
    assert (again.job_id, again.created, other.created) == (first.job_id, False, True)
    job = await desk.get_job(first.job_id)
    assert (job.payload, job.state) == (bodies[1], JobState.SCHEDULED)
    # What is said for one submission wins.
    kept = await desk.submit([Submission(kind=KIND, payload=bodies[0], unique_key="own")])
    assert kept[0].created


async def test_a_submission_key_promises_what_was_asked_not_what_is_declared(
    desk: FrontDesk, store: Store
) -> None:
    asked = Submission(kind=KIND, payload=b'{"shop":3}', key="k")
    await store.declare_handlers([HandlerInfo(kind=KIND, schema=SHOP)])
    first = (await desk.submit([asked]))[0]
    changed = HandlerInfo(kind=KIND, schema=SHOP, unique=True, delay_ms=5)
    await store.declare_handlers([changed])
    assert (await desk.submit([asked]))[0].job_id == first.job_id


async def test_a_real_handlers_defaults_count_for_submissions_by_name(
    desk: FrontDesk, store: Store
) -> None:
    app = App("test")

    @app.job(kind=KIND, unique=("shop", "mode"))
    def sync(shop: int, mode: str = "fast", full: bool = False) -> None: ...

    await store.declare_handlers([handler.info for handler in app.handlers.values()])
    bodies = (b'{"shop":3}', b'{"shop":3,"mode":"fast"}', b'{"shop":3,"mode":"slow"}')
    first, again, other = [
        (await desk.submit([Submission(kind=KIND, payload=body)]))[0] for body in bodies
    ]
    assert (again.job_id, again.created, other.created) == (first.job_id, False, True)
    typed = sync.call(3).submission
    assert (await desk.submit([typed]))[0].job_id == first.job_id


async def test_what_to_do_with_a_duplicate_needs_something_that_is_one(
    desk: FrontDesk, store: Store
) -> None:
    await store.declare_handlers([HandlerInfo(kind=KIND, schema=SHOP)])
    asked = Submission(kind=KIND, payload=b'{"shop":3}', on_duplicate="replace")
    with pytest.raises(InvalidInput, match="nothing says what a duplicate is"):
        await desk.submit([asked])
    # With a key, that is what counts, as in the typed SDK.
    keyed = msgspec.structs.replace(asked, key="k", payload=b'{"shop":4}')
    first = (await desk.submit([msgspec.structs.replace(keyed, delay_ms=60_000)]))[0]
    again = (await desk.submit([msgspec.structs.replace(keyed, delay_ms=90_000)]))[0]
    assert (again.job_id, again.replaced) == (first.job_id, True)

"""What a handler declares also holds for those who submit by the kind's name."""

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

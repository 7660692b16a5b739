"""Operations through the SDK, on either face, beside a worker that carries them on."""

from typing import Any

import pytest

from mainspring import AsyncClient
from mainspring.domain.errors import Conflict, InvalidId, InvalidInput, NotFound, ResultTimeout
from mainspring.domain.operation import OperationState, Outcome
from mainspring.domain.states import JobState
from tests.client.shop import app, refresh


def test_a_blocking_client_begins_follows_and_reads(shop_url: str) -> None:
    with app.connect_sync(shop_url) as client:
        handles = client.submit_many(
            [refresh.call(str(order)).options(delay="1h", queue="b") for order in range(4)]
        )
        told = client.operations.preview("cancel", "queue:b", canary=1, reason="enough")
        assert (told.states, told.refused) == ({JobState.SCHEDULED: 4}, {})
        assert (told.operation.state, told.operation.progress.matched) == ("previewed", 4)
        begun = client.operations.confirm(told)
        assert (begun.id, begun.goal) == (told.id, 4)
        seen = list(client.operations.follow(begun, timeout="1m"))
        assert (seen[-1].state, seen[-1].progress.changed) == (OperationState.PAUSED, 1)
        client.operations.resume(begun)
        done = client.operations.wait(begun.id, timeout="1m")
        assert (done.state, done.has_ended, done.progress.changed) == ("done", True, 4)
        found = client.operations.members(done, outcomes=["changed"], limit=3)
        found += client.operations.members(done, after=found[-1])
        assert [one.job_id for one in found] == [handle.id for handle in handles]
        assert {one.outcome for one in found} == {Outcome.CHANGED}
        assert client.operations.list(states=["done"], limit=1)[0].id == done.id
        assert done.id not in [each.id for each in client.operations.list(before=done)]


async def test_an_awaiting_client_begins_pauses_and_aborts(shop_url: str) -> None:
    async with app.connect(shop_url) as client:
        await client.submit_many(
            [refresh.call(str(order)).options(delay="1h") for order in range(3)]
        )
        search = client.jobs.find("kind:refresh state:scheduled queue:default")
        op = await client.operations.start("cancel", search, rate="1/h", force=True)
        assert (op.action, op.query, op.goal) == ("cancel", search.query, 3)
        with pytest.raises(ResultTimeout, match="is still running after 1ms"):
            await client.operations.wait(op, timeout="1ms")
        paused = await client.operations.pause(op, reason="lunch")
        assert (paused.state, paused.reason) == ("paused", "lunch")
        assert [each.state async for each in client.operations.follow(op)] == ["paused"]
        aborted = await client.operations.abort(op, reason="wrong")
        assert (aborted.state, (await client.operations.get(op)).reason) == ("aborted", "wrong")
        with pytest.raises(Conflict, match="is aborted"):
            await client.operations.resume(op)
        left = [job async for job in search]
        assert len(left) >= 2


async def test_slips_are_told_before_anything_is_sent(shop_url: str) -> None:
    wrong: Any = "20"
    async with app.connect(shop_url) as client:
        await _refused(client, wrong)


async def _refused(client: AsyncClient, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="is no rate"):
        await client.operations.start("cancel", "kind:a", rate=wrong)
    with pytest.raises(InvalidInput, match="is no search"):
        await client.operations.start("cancel", " ")
    with pytest.raises(InvalidInput, match="no option 'rates'"):
        await client.operations.preview("cancel", "kind:a", rates=wrong)  # type: ignore[call-arg]  # that is the point
    with pytest.raises(InvalidInput, match="until: '20' is not"):
        await client.operations.preview("cancel", "kind:a", until=wrong)
    for nonsense in ("job_01JD3M0V5T7QK4C8R2N6W9XYZA", 5, None):
        wrong = nonsense
        with pytest.raises(InvalidId):
            await client.operations.get(wrong)
    with pytest.raises(NotFound):
        await client.operations.get("op_01JD3M0V5T7QK4C8R2N6W9XYZA")

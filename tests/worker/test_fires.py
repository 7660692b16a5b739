"""What handlers are told of the fire that their job is."""

from datetime import UTC, datetime

import pytest

from mainspring.domain.outcome import Released, Succeeded
from mainspring.domain.schedule import Cause, FireOf, Missed
from tests.worker.rig import Rig

NOMINAL = datetime(2027, 7, 31, 7, tzinfo=UTC)
NINE = int(NOMINAL.timestamp())
FIRE = FireOf(
    schedule_id=b"s" * 16,
    schedule="report",
    nominal_at=NOMINAL,
    due_at=NOMINAL,
    zone="Europe/Berlin",
    cause=Cause.CATCH_UP,
    missed=Missed(2, NINE - 7200, NINE - 3600),
)


@pytest.mark.parametrize("kind", ["tell_fire", "tell_fire_alone"])
async def test_a_handler_sees_its_fire(rig: Rig, kind: str) -> None:
    await rig.start()
    fired = rig.store.submit(kind, fire=FIRE)
    plain = rig.store.submit(kind)
    assert await rig.store.finished(fired) == Succeeded(
        b'["report","2027-07-31T09:00:00","Europe/Berlin","catch_up",'
        b'"2027-07-31T07:00:00+00:00","2 since 05:00"]'
    )
    assert await rig.store.finished(plain) == Succeeded(None)


async def test_a_fire_that_could_not_be_read_is_handed_back_and_not_guessed(rig: Rig) -> None:
    await rig.start()
    fired = rig.store.submit("tell_fire", fire=FIRE, fire_is_unread=True)
    await rig.store.until(lambda: len(fired.outcomes) == 2)
    assert fired.outcomes[0] == Released()
    assert isinstance(fired.outcomes[1], Succeeded)
    assert (fired.claimed.tries, fired.claimed.crashes) == (1, 0)

"""New zone data: what was prepared is decided anew, once, whoever tries as well."""

import itertools
from datetime import datetime

import msgspec

from mainspring.agenda import changes
from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.agenda.standing import Cursor, Standing
from mainspring.domain.schedule import Outcome, ScheduleState, Withdrawn
from mainspring.timetable.definition import Definition

NOW = int(datetime.fromisoformat("2026-03-02T07:55Z").timestamp())
NINE = NOW + 300
DAY = 86_400
SPEC = spec_text(
    Spec(times=Definition(when=("0 9 * * *",), zone="Europe/Berlin"), work=Work(kind="k"))
)


def prepared_under(zones: int) -> Standing:
    return Standing(
        id=bytes(16),
        tenant="default",
        name="s",
        state=ScheduleState.ACTIVE,
        version=3,
        spec=SPEC,
        cursor=Cursor(NINE, fired=5),
        zones=zones,
        now_ms=NOW * 1000,
        withdrawn=(Withdrawn(NINE, 0, Outcome.JOB, had_job=True),),
    )


def test_newer_zone_data_makes_a_version_and_prepares_again() -> None:
    numbers = itertools.count(1)
    ruling = changes.rezone(prepared_under(202_601), lambda: next(numbers).to_bytes(16), 202_606)
    assert ruling.change is not None
    assert (ruling.change.what, ruling.change.zones) == ("zones", 202_606)
    assert [fire.row.nominal_at for fire in ruling.fires] == [NINE]
    assert ruling.cursor.fired == 5


def test_what_somebody_else_re_zoned_keeps_its_version_and_gets_its_fires_back() -> None:
    numbers = itertools.count(1)
    ruling = changes.rezone(prepared_under(202_606), lambda: next(numbers).to_bytes(16), 202_606)
    assert (ruling.change, ruling.action) == (None, "")
    assert [fire.row.nominal_at for fire in ruling.fires] == [NINE]
    assert ruling.cursor == Cursor(NINE, fired=5, next_at=NINE + DAY)


def moved_by(standing: Standing) -> changes.Moved:
    numbers = itertools.count(1)
    ruling = changes.rezone(standing, lambda: next(numbers).to_bytes(16), 202_606)
    return msgspec.json.decode(ruling.detail, type=changes.Moved)


def test_the_audit_says_which_of_the_known_fires_moved() -> None:
    # As it was prepared when the old data had Berlin an hour further west.
    late = Withdrawn(NINE + 3600, 0, Outcome.JOB, had_job=True)
    known = msgspec.structs.replace(
        prepared_under(202_601),
        withdrawn=(late,),
        cursor=Cursor(NINE + 3600, fired=5, next_at=NINE + 3600 + DAY),
    )
    found = moved_by(known)
    assert found.zones == (202_601, 202_606)
    assert found.moved == ((NINE + 3600, NINE), (NINE + 3600 + DAY, NINE + DAY))


def test_what_did_not_move_is_not_told() -> None:
    standing = msgspec.structs.replace(
        prepared_under(202_601), cursor=Cursor(NINE, fired=5, next_at=NINE + DAY)
    )
    assert moved_by(standing).moved == ()


def test_a_next_fire_beyond_what_was_prepared_is_known_too() -> None:
    far = msgspec.structs.replace(
        prepared_under(202_601),
        withdrawn=(),
        cursor=Cursor(NOW, fired=5, next_at=NINE + 3600),
        now_ms=(NOW - 7200) * 1000,
    )
    assert moved_by(far).moved == ((NINE + 3600, NINE),)

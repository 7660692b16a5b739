"""Effect keys are rendered from the nominal instant, whenever the job happens to be made."""

from __future__ import annotations

import pytest

from mainspring.agenda.effect_keys import PLACES, Bearer, check_template, effect_key
from mainspring.agenda.judge import advance
from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.ids import SCHEDULE as PREFIX
from mainspring.domain.ids import show
from mainspring.domain.limits import KEY_CHARACTERS_MAX
from mainspring.policies.firing import Policies
from mainspring.timetable.definition import Definition
from tests.agenda.standings import DAY, SCHEDULE, at, ids, standing_of

BERLIN = Bearer(SCHEDULE, "billing", "default", "Europe/Berlin")
#: A Friday of the last week of 2026, which is the 53rd, in the small hours of the next year.
INSTANT = at("2026-12-31T23:30:07Z")


@pytest.mark.parametrize(
    ("template", "key"),
    [
        ("report-{{week}}", "report-2026-W53"),
        ("{{ date }}", "2027-01-01"),
        ("{{year}}/{{quarter}}/{{month}}/{{day}}", "2027/2027-Q1/2027-01/01"),
        ("{{hour}}:{{minute}}:{{second}}", "00:30:07"),
        ("{{local}}", "2027-01-01T00:30:07"),
        ("{{nominal}}", "2026-12-31T23:30:07Z"),
        ("{{unix}}.{{sequence}}", f"{INSTANT}.2"),
        ("{{schedule}}@{{tenant}}", "billing@default"),
        ("{{schedule_id}}", show(PREFIX, SCHEDULE)),
        ("always the same", "always the same"),
    ],
)
def test_places(template: str, key: str) -> None:
    assert effect_key(check_template(template), BERLIN, INSTANT, 2) == key


@pytest.mark.parametrize("place", PLACES)
def test_every_place_is_rendered(place: str) -> None:
    template = check_template(f"a{{{{{place}}}}}z")
    key = effect_key(template, BERLIN, INSTANT)
    assert "{" not in key
    assert len(key) > 2


def test_without_a_template_it_is_the_fire() -> None:
    assert effect_key(None, BERLIN, INSTANT) == f"{show(PREFIX, SCHEDULE)}:{INSTANT}"
    assert effect_key(None, BERLIN, INSTANT, 3).endswith(f":{INSTANT}#3")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("report-{{weak}}", "position 7"),
        ("{{week", "do not close"),
        ("week}}", "do not close"),
        ("", "0 characters"),
        ("x" * (KEY_CHARACTERS_MAX + 1), "257 characters"),
        ("{{local}}" * 20, "380 characters"),
        ("{{schedule}}-{{schedule}}-{{unix}}", "269 characters"),
    ],
)
def test_what_cannot_be_rendered_is_refused(template: str, said: str) -> None:
    with pytest.raises(InvalidSchedule, match=said):
        check_template(template)


def test_a_late_fire_has_the_key_of_its_own_occurrence() -> None:
    spec = Spec(
        times=Definition(when=("0 0 * * *",), zone="Europe/Berlin"),
        work=Work(kind="k", effect_key="report-{{date}}"),
        policies=Policies(misfire="fire_all", overlap="allow"),
    )
    midnight = at("2027-01-14T23:00Z")
    standing = standing_of(spec_text(spec), midnight + 2 * DAY + 60, through=midnight - 1)
    ruling = advance(standing, ids(), horizon_ms=0)
    keys = [fire.job.effect_key for fire in ruling.fires if fire.job is not None]
    assert keys == ["report-2027-01-15", "report-2027-01-16", "report-2027-01-17"]

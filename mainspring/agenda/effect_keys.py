"""Effect keys of fires: ``report-{{week}}`` is ``report-2027-W03`` in every attempt.

Rendered from the nominal instant on the clock of the schedule's zone, never from the time of day at
which the job happens to run, so that a late or repeated fire has the key of its own occurrence.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.limits import (
    KEY_CHARACTERS_MAX,
    SCHEDULE_CHARACTERS_MAX,
    TENANT_CHARACTERS_MAX,
)
from mainspring.domain.names import suggestion
from mainspring.timetable.zones import zone

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PLACE: Final = re.compile(r"\{\{\s*([A-Za-z_]*)\s*\}\}")
#: Each with an example, for the documentation and for messages.
PLACES: Final = {
    "date": "2027-01-31",
    "year": "2027",
    "quarter": "2027-Q1",
    "month": "2027-01",
    "week": "2027-W04",
    "day": "31",
    "hour": "09",
    "minute": "00",
    "second": "00",
    "local": "2027-01-31T09:00:00",
    "nominal": "2027-01-31T08:00:00Z",
    "unix": "1801382400",
    "sequence": "0",
    "schedule": "billing",
    "schedule_id": "sch_01JD3M0V5T7QK4C8R2N6W9XYZA",
    "tenant": "default",
}
#: Of the places whose example is not as long as they get.
_LONGEST: Final = {
    "unix": 11,
    "sequence": 5,
    "schedule": SCHEDULE_CHARACTERS_MAX,
    "tenant": TENANT_CHARACTERS_MAX,
}


def check_template(template: str) -> str:
    """Return a template that can be rendered, or raise naming the place that cannot."""
    for found in _PLACE.finditer(template):
        if found[1] not in PLACES:
            raise InvalidSchedule(
                f"effect_key: there is no {{{{{found[1]}}}}} at position {found.start()}",
                hint=suggestion(found[1], PLACES),
                details={"field": "effect_key", "position": found.start(), "token": found[1]},
            )
    rest = _PLACE.sub("", template)
    if "{{" in rest or "}}" in rest:
        position = template.find("{{") if "{{" in rest else template.find("}}")
        raise InvalidSchedule(
            f"effect_key: braces that do not close, at position {position}",
            hint="write a place as {{week}}",
            details={"field": "effect_key", "position": position},
        )
    places = [found[1] for found in _PLACE.finditer(template)]
    longest = len(rest) + sum(_LONGEST.get(name, len(PLACES[name])) for name in places)
    if not template or longest > KEY_CHARACTERS_MAX:
        raise InvalidSchedule(
            f"effect_key: this renders to as many as {longest} characters",
            hint=f"1 to {KEY_CHARACTERS_MAX}: a key that is cut is not the fire's own any more",
            details={"field": "effect_key"},
        )
    return template


class Bearer(NamedTuple):
    """The schedule whose fires a key is for."""

    schedule_id: bytes
    name: str
    tenant: str
    zone: str


def effect_key(template: str | None, of: Bearer, nominal_at: int, sequence: int = 0) -> str:
    """Return the key of a fire: by its template, else the schedule's id and the instant."""
    if template is None:
        mark = f"#{sequence}" if sequence else ""
        return f"{show(SCHEDULE, of.schedule_id)}:{nominal_at}{mark}"
    wall = _EPOCH + timedelta(seconds=nominal_at + zone(of.zone).offset_at(nominal_at))
    year, week, _ = wall.isocalendar()
    values = {
        "date": f"{wall:%Y-%m-%d}",
        "year": f"{wall:%Y}",
        "quarter": f"{wall:%Y}-Q{(wall.month + 2) // 3}",
        "month": f"{wall:%Y-%m}",
        "week": f"{year:04}-W{week:02}",
        "day": f"{wall:%d}",
        "hour": f"{wall:%H}",
        "minute": f"{wall:%M}",
        "second": f"{wall:%S}",
        "local": f"{wall:%Y-%m-%dT%H:%M:%S}",
        "nominal": f"{_EPOCH + timedelta(seconds=nominal_at):%Y-%m-%dT%H:%M:%SZ}",
        "unix": str(nominal_at),
        "sequence": str(sequence),
        "schedule": of.name,
        "schedule_id": show(SCHEDULE, of.schedule_id),
        "tenant": of.tenant,
    }
    return _PLACE.sub(lambda found: values[found[1]], template)[:KEY_CHARACTERS_MAX]

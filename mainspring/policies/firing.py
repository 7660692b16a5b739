"""How a schedule deals with missed fires and with overlap: the words, and their many other names.

The names of the seeds, of Temporal, Kubernetes, Quartz and APScheduler are understood alike.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.limits import (
    CATCHUP_JOBS_MAX,
    CATCHUP_WINDOW_SECONDS_MAX,
    MISFIRE_THRESHOLD_SECONDS_MAX,
    MISSED_FIRES_MAX,
    PAUSE_AFTER_FAILURES_MAX,
)
from mainspring.domain.names import check_range, suggestion

Misfire = Literal["skip", "fire_once", "fire_all"]
Overlap = Literal["allow", "defer", "skip", "cancel_running", "replace"]


class Policies(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of fires that come late, or while the schedule's last job is still live."""

    #: Of missed fires: none, one job for all of them, or one job each.
    misfire: Misfire = "fire_once"
    #: A fire that is turned into a job later than this was missed.
    misfire_threshold_seconds: int = 60
    #: Fires missed by more than this are never caught up; ``None``: they always are.
    catchup_window_seconds: int | None = None
    #: ``fire_all`` catches up the newest so many.
    max_missed: int = 100
    #: Caught-up and backfilled jobs that one schedule releases a minute.
    catchup_rate: int = 60
    #: A fire that meets a live job of its schedule waits for its end and was missed then
    #: (``defer``), is left out, cancels it and waits, replaces it, or does not care.
    overlap: Overlap = "defer"
    #: So many failures one after the other pause the schedule.
    pause_after_failures: int | None = None

    @property
    def is_exclusive(self) -> bool:
        """Say whether at most one job of the schedule may be live."""
        return self.overlap != "allow"


_MISFIRE: Final[dict[str, Misfire]] = {
    "skip": "skip",
    "discard": "skip",
    "ignore": "skip",
    "do_nothing": "skip",
    "donothing": "skip",
    "none": "skip",
    "fire_once": "fire_once",
    "fire_once_now": "fire_once",
    "fire_now": "fire_once",
    "fire_immediately": "fire_once",
    "run_once": "fire_once",
    "once": "fire_once",
    "smart": "fire_once",
    "coalesce": "fire_once",
    "fire_all": "fire_all",
    "run_all": "fire_all",
    "backfill": "fire_all",
    "backfill_all": "fire_all",
    "catch_up": "fire_all",
    "catchup": "fire_all",
    "all": "fire_all",
    "ignore_misfire": "fire_all",
}
_OVERLAP: Final[dict[str, Overlap]] = {
    "allow": "allow",
    "allow_all": "allow",
    "allowall": "allow",
    "true": "allow",
    "defer": "defer",
    "queue": "defer",
    "buffer_one": "defer",
    "bufferone": "defer",
    "buffer_all": "defer",
    "bufferall": "defer",
    "false": "defer",
    "skip": "skip",
    "forbid": "skip",
    "cancel_running": "cancel_running",
    "cancel_other": "cancel_running",
    "cancelother": "cancel_running",
    "replace": "replace",
    "terminate_other": "replace",
    "terminateother": "replace",
}
#: Words for overlap that also say what becomes of those that waited, unless that is said, too.
_OVERLAP_MISFIRE: Final[dict[str, Misfire]] = {
    "buffer_one": "fire_once",
    "bufferone": "fire_once",
    "buffer_all": "fire_all",
    "bufferall": "fire_all",
}


def misfire_of(given: object) -> Misfire:
    """Return the misfire policy of any of its names."""
    return _MISFIRE[_known("misfire", given, _MISFIRE, ("skip", "fire_once", "fire_all"))]


def overlap_of(given: object) -> Overlap:
    """Return the overlap policy of any of its names; ``True`` allows overlap."""
    words = ("allow", "defer", "skip", "cancel_running", "replace")
    return _OVERLAP[_known("overlap", given, _OVERLAP, words)]


def policies_of(given: Mapping[str, object]) -> Policies:
    """Return checked policies from options as people write them; what is left out has a default."""
    chosen = {name: value for name, value in given.items() if value is not None}
    overlap = chosen.get("overlap")
    if overlap is not None:
        implied = _OVERLAP_MISFIRE.get(_folded(overlap))
        chosen["overlap"] = overlap_of(overlap)
        if implied is not None:
            chosen.setdefault("misfire", implied)
    if "misfire" in chosen:
        chosen["misfire"] = misfire_of(chosen["misfire"])
    for name, most in _RANGES.items():
        if name in chosen:
            check_range(name, chosen[name], 0 if name.endswith("seconds") else 1, most)
    try:
        return msgspec.convert(chosen, Policies)
    except msgspec.ValidationError as error:
        unknown = next((name for name in chosen if name not in Policies.__struct_fields__), "")
        raise InvalidSchedule(
            f"policies: {error}",
            hint=suggestion(unknown, Policies.__struct_fields__) if unknown else None,
        ) from None


_RANGES: Final = {
    "misfire_threshold_seconds": MISFIRE_THRESHOLD_SECONDS_MAX,
    "catchup_window_seconds": CATCHUP_WINDOW_SECONDS_MAX,
    "max_missed": MISSED_FIRES_MAX,
    "catchup_rate": CATCHUP_JOBS_MAX,
    "pause_after_failures": PAUSE_AFTER_FAILURES_MAX,
}


def _folded(given: object) -> str:
    return str(given).strip().lower().replace("-", "_").replace(" ", "_")


def _known(option: str, given: object, names: Mapping[str, str], words: tuple[str, ...]) -> str:
    folded = _folded(given)
    if folded in names:
        return folded
    raise InvalidSchedule(
        f"{option}: there is no {str(given)[:64]!r}",
        hint=suggestion(folded[:64], words),
        details={"field": option, "token": str(given)[:64]},
    )

"""Schedules as people read them: local time beside UTC, notes that find room, plans."""

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.cli import schedule_tables
from mainspring.cli.options import Options
from mainspring.cli.schedule_tables import (
    local_time,
    out_preview,
    short_instant,
    show_plan,
    summary,
)
from mainspring.ports.scheduling import Difference, Planned, Preview, Upcoming

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
PLAIN = Options(color="never")
GAP = "02:30 does not exist on 2027-03-28: due at 03:00 as a missed fire"


def upcoming(
    at: datetime, zone: str = "Europe/Berlin", note: str = "", jitter: int = 0
) -> Upcoming:
    return Upcoming(
        nominal_at=at,
        due_at=at + timedelta(seconds=jitter),
        local=f"{at:%Y-%m-%dT%H:%M:%S}",
        zone=zone,
        note=note,
    )


@pytest.mark.parametrize(
    ("instant", "zone", "shown"),
    [
        (datetime(2026, 11, 23, 14, tzinfo=UTC), "America/New_York", "Mon 2026-11-23 09:00 -05:00"),
        (datetime(2027, 7, 1, tzinfo=UTC), "Asia/Kolkata", "Thu 2027-07-01 05:30 +05:30"),
        (datetime(2027, 7, 1, 0, 0, 7, tzinfo=UTC), "UTC", "Thu 2027-07-01 00:00:07 +00:00"),
    ],
)
def test_local_time_says_how_far_from_utc_it_is(instant: datetime, zone: str, shown: str) -> None:
    assert local_time(instant, zone) == shown


def test_seconds_are_shown_where_there_are_any() -> None:
    assert short_instant(NOW) == "2026-11-20 09:00"
    assert short_instant(NOW + timedelta(seconds=5)) == "2026-11-20 09:00:05"


def test_a_preview_has_the_sentence_the_fires_and_the_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    preview = Preview(
        sentence="at 10:30 every day, Berlin time",
        upcoming=(upcoming(NOW + timedelta(minutes=30)), upcoming(NOW + timedelta(days=1))),
        warnings=("either day field matches",),
    )
    out_preview(PLAIN, preview, NOW)
    assert capsys.readouterr().out.splitlines() == [
        "at 10:30 every day, Berlin time",
        "",
        "LOCAL (Europe/Berlin)        UTC               IN",
        "Fri 2026-11-20 10:30 +01:00  2026-11-20 09:30  30m",
        "Sat 2026-11-21 10:00 +01:00  2026-11-21 09:00  1d",
        "  note: either day field matches",
    ]


def test_utc_is_not_shown_twice_and_jitter_has_its_column(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fires = (upcoming(NOW + timedelta(hours=1), zone="UTC", jitter=37),)
    out_preview(PLAIN, Preview(sentence="every hour, UTC", upcoming=fires), NOW)
    header, row = capsys.readouterr().out.splitlines()[2:]
    assert (header.split(), row.split()[-1]) == (["UTC", "IN", "JITTER"], "+37s")


def test_a_note_stands_beside_its_fire_or_below_where_there_is_no_room(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2027, 3, 28, 1, tzinfo=UTC)
    fires = (upcoming(at, note=GAP),)
    preview = Preview(sentence="s", upcoming=fires, warnings=(f"2027-03-28: {GAP}",))
    monkeypatch.setattr(schedule_tables, "terminal_width", lambda: 200)
    out_preview(PLAIN, preview, NOW)
    wide = capsys.readouterr().out
    assert wide.splitlines()[-1].endswith(GAP)
    assert wide.count(GAP) == 1
    monkeypatch.setattr(schedule_tables, "terminal_width", lambda: 80)
    out_preview(PLAIN, preview, NOW)
    narrow = capsys.readouterr().out
    assert narrow.splitlines()[-1] == f"  note: {GAP}"
    assert narrow.count(GAP) == 1


def test_a_plan_says_what_becomes_of_each_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    difference = Difference("when", "0 2 * * *", "30 2 * * *")
    plan = [
        Planned(what="calendar", name="holidays", tenant="default", action="create"),
        Planned(
            what="schedule",
            name="nightly",
            tenant="default",
            action="edit",
            differences=(difference,),
            is_paused=True,
            sentence="at 02:30 every day, UTC",
        ),
        Planned(
            what="schedule", name="hourly", tenant="default", action="conflict", owner="app:shop"
        ),
        Planned(what="schedule", name="same", tenant="default", action="none"),
    ]
    show_plan(PLAIN, plan, is_done=False)
    assert capsys.readouterr().out.splitlines() == [
        "  NAME               CHANGE                 WHEN",
        "+ calendar holidays  to be created",
        "~ nightly            to be changed, paused  at 02:30 every day, UTC",
        "    when: 0 2 * * * -> 30 2 * * *",
        "! hourly             kept by app:shop",
        "= same               unchanged",
    ]
    show_plan(PLAIN, plan[:1], is_done=True)
    assert capsys.readouterr().out.splitlines()[1:] == ["+ calendar holidays  created"]
    assert summary(plan) == "1 created, 1 changed, 1 unchanged, 1 kept by somebody else"
    assert summary(plan[:2], is_done=False) == "1 to be created, 1 to be changed"
    assert summary([]) == "nothing to do"

"""Shows schedules: what they mean, when they fire next, what was changed, what became of fires."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from textwrap import wrap
from typing import Final

from mainspring.cli.options import Options
from mainspring.cli.output import out, show_list, show_one, show_table
from mainspring.cli.records import Record, record_of
from mainspring.cli.tables import Cell, Column, render, terminal_width
from mainspring.cli.text import printable, relative, styled, width_of
from mainspring.ports.scheduling import Planned, Preview, Upcoming

#: What a plan does to each thing: its sign, its colour, and the word for it in the past.
_ACTIONS: Final = {
    "create": ("+", "green", "created"),
    "edit": ("~", "yellow", "changed"),
    "adopt": ("~", "yellow", "taken over"),
    "remove": ("-", "red", "removed"),
    "none": ("=", "dim", "unchanged"),
    "leave": ("=", "dim", "declared no more"),
    "conflict": ("!", "red", "kept by somebody else"),
}
#: What ``--columns`` may name of a step of a plan.
PLAN_COLUMNS: Final = (
    "what",
    "name",
    "tenant",
    "action",
    "sentence",
    "differences",
    "owner",
    "paused",
)
#: What ``--columns`` may name of what a schedule means.
PREVIEW_COLUMNS: Final = ("sentence", "upcoming", "warnings")
_INDENT: Final = "  "


# --- instants -----------------------------------------------------------------------------------


def local_time(instant: datetime, zone: str) -> str:
    """Return an instant on the wall clock of a zone: ``Mon 2026-11-23 09:00 -05:00``."""
    from mainspring.timetable.zones import zone as zone_of

    ahead = timedelta(seconds=zone_of(zone).offset_at(int(instant.timestamp())))
    wall = instant.astimezone(UTC) + ahead
    sign, minutes = ("-" if ahead < timedelta(0) else "+"), abs(ahead) // timedelta(minutes=1)
    return f"{wall:%a} {_minute(wall)} {sign}{minutes // 60:02d}:{minutes % 60:02d}"


def short_instant(instant: datetime) -> str:
    """Return an instant in UTC, seconds only where there are any: ``2026-11-23 14:00``."""
    return _minute(instant.astimezone(UTC))


def _minute(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S}" if instant.second else f"{instant:%Y-%m-%d %H:%M}"


# --- what comes next ----------------------------------------------------------------------------


def upcoming_columns(zone: str, rows: Sequence[Upcoming], now: datetime) -> list[Column[Upcoming]]:
    """Return how the next fires of a schedule are shown, in its zone and in UTC."""
    columns: list[Column[Upcoming]] = [
        Column("UTC", lambda row: short_instant(row.nominal_at)),
        Column("IN", lambda row: relative(row.nominal_at, now).removeprefix("in ")),
    ]
    if zone != "UTC":
        title = f"LOCAL ({zone})"
        columns.insert(0, Column(title, lambda row: local_time(row.nominal_at, row.zone)))
    if any(row.due_at != row.nominal_at for row in rows):
        columns.append(Column("JITTER", _jitter, right=True))
    if any(row.note for row in rows):
        columns.append(Column("NOTE", lambda row: Cell(row.note, "yellow")))
    return columns


def _jitter(row: Upcoming) -> str:
    late = (row.due_at - row.nominal_at) / timedelta(seconds=1)
    return f"+{late:.0f}s"


def preview_record(preview: Preview) -> Record:
    """Return what a schedule means."""
    from mainspring.wire.documents.schedules import preview_document

    return record_of(preview_document(preview))


def out_preview(options: Options, preview: Preview, now: datetime) -> None:
    """Print what a schedule means: the sentence, the next fires, and what may not be meant."""
    out(styled(printable(preview.sentence), "bold", color=options.colors_data))
    if preview.upcoming:
        out("")
    out_fires(options, preview, now)


def out_fires(options: Options, preview: Preview, now: datetime) -> None:
    """Print the next fires, and below them what may not be meant."""
    out_notes(options, [*out_upcoming(options, preview.upcoming, now), *_not_said(preview)])


def out_upcoming(options: Options, rows: Sequence[Upcoming], now: datetime) -> list[str]:
    """Print the next fires; return the notes that found no room beside them."""
    if not rows:
        return []
    columns = upcoming_columns(rows[0].zone, rows, now)
    noted = [row for row in rows if row.note]
    room = terminal_width() - sum(
        2 + max(width_of(column.title), *(_width(column, row) for row in rows))
        for column in columns
        if column.title != "NOTE"
    )
    if not noted or all(width_of(row.note) <= room for row in noted):
        show_table(options, rows, columns)
        return []
    show_table(options, rows, [column for column in columns if column.title != "NOTE"])
    return [_dated(row) for row in noted]


def _width(column: Column[Upcoming], row: Upcoming) -> int:
    shown = column.show(row)
    return width_of(shown.text if isinstance(shown, Cell) else shown)


def _dated(row: Upcoming) -> str:
    return f"{row.local[:10]}: {row.note}"


def _not_said(preview: Preview) -> list[str]:
    """Return the warnings that no note of a fire says already."""
    said = {_dated(row) for row in preview.upcoming if row.note}
    return [warning for warning in preview.warnings if warning not in said]


def out_notes(options: Options, notes: Sequence[str]) -> None:
    """Print notes below a table; a date that a note has anyway is not put in front of it."""
    for note in notes:
        date, _, rest = note.partition(": ")
        shown = printable(rest if date in rest else note)
        out(styled(f"{_INDENT}note: {shown}", "yellow", color=options.colors_data))


def show_preview(options: Options, preview: Preview, now: datetime) -> None:
    """Show what a definition means, to people or machines."""
    show_one(
        options,
        preview_record(preview),
        name=preview.sentence,
        people=lambda: out_preview(options, preview, now),
    )


# --- what is changed ----------------------------------------------------------------------------


def planned_record(planned: Planned) -> Record:
    """Return one step of a plan."""
    from mainspring.wire.documents.schedules import planned_document

    return record_of(planned_document(planned))


def show_plan(options: Options, plan: Sequence[Planned], *, is_done: bool) -> None:
    """Show what becomes, or became, of each schedule and calendar, and in what they differ."""
    if not options.is_for_people or options.columns:
        show_list(
            options,
            plan,
            columns=[
                Column("NAME", lambda step: step.name),
                Column("ACTION", lambda step: step.action),
            ],
            record=planned_record,
            name=lambda step: step.name,
            empty="",
        )
        return
    lines = render(
        plan,
        [
            Column("  NAME", _step_name, shrinks=True),
            Column("CHANGE", lambda step: _step_change(step, is_done=is_done)),
            Column("WHEN", lambda step: Cell(step.sentence, "dim"), shrinks=True),
        ],
        width=terminal_width(),
        color=options.colors_data,
    )
    for place, text in enumerate(lines if plan else ()):
        out(text)
        if place:
            out_differences(options, plan[place - 1])


def _step_name(step: Planned) -> Cell:
    sign, style, _ = _ACTIONS[step.action]
    what = "" if step.what == "schedule" else f"{step.what} "
    return Cell(f"{sign} {what}{step.name}", style)


def _step_change(step: Planned, *, is_done: bool) -> str:
    word = _ACTIONS[step.action][2]
    if step.action == "conflict":
        word = f"kept by {step.owner or 'nobody'}"
    elif step.is_change and not is_done:
        word = f"to be {word}"
    return f"{word}, paused" if step.is_paused else word


def out_differences(options: Options, step: Planned) -> None:
    """Print each member that is another one now."""
    for each in step.differences:
        text = f"{each.field}: {printable(each.old)} -> {printable(each.new)}"
        for line in wrap(text, terminal_width() - 4, subsequent_indent="  "):
            out(styled(f"    {line}", "dim", color=options.colors_data))


def summary(plan: Sequence[Planned], *, is_done: bool = True) -> str:
    """Return how many things a plan changes: ``2 created, 1 changed, 4 unchanged``."""
    parts = []
    for action, (_, _, past) in _ACTIONS.items():
        found = [step for step in plan if step.action == action]
        if found:
            is_ahead = not is_done and found[0].is_change and action != "conflict"
            parts.append(f"{len(found):,} {'to be ' * is_ahead}{past}")
    return ", ".join(parts) or "nothing to do"

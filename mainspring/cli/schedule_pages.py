"""Shows stored schedules: the list, one schedule with all that it is, and its record."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mainspring.app.durations import words
from mainspring.cli.ledger_tables import fire_columns, fire_record, note_of
from mainspring.cli.options import Options
from mainspring.cli.output import out, show_one, show_table
from mainspring.cli.records import Record, record_of
from mainspring.cli.schedule_tables import out_fires, preview_record, short_instant
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import count_of, printable, relative, state_style, styled
from mainspring.domain.job import Priority
from mainspring.domain.schedule import FireView, Outcome, ScheduleState, ScheduleView
from mainspring.ports.scheduling import SKIPPED, Preview, Upcoming

if TYPE_CHECKING:
    from mainspring.agenda.spec import Spec
    from mainspring.policies.firing import Policies

_SECOND_MS: Final = 1_000
#: What ``--columns`` may name of a schedule.
SCHEDULE_COLUMNS: Final = (
    "name", "id", "tenant", "state", "kind", "payload", "when", "zone", "anchor", "starts_at",
    "ends_at", "max_fires", "dst_gap", "dst_fold", "calendars", "only_on", "on_excluded",
    "jitter_seconds", "jitter_mode", "misfire", "misfire_threshold_seconds",
    "catchup_window_seconds", "max_missed", "catchup_rate", "overlap", "pause_after_failures",
    "effect_key", "queue", "priority", "max_attempts", "max_crashes", "backoff", "timeout_ms",
    "on_exhausted", "note", "owner", "version", "waiting", "paused_at", "paused_by",
    "paused_reason", "paused_until", "created_at", "updated_at", "updated_by",
)  # fmt: skip


class Listed(NamedTuple):
    """A schedule, what comes next of it, and what became of its last fire."""

    view: ScheduleView
    preview: Preview
    last: FireView | None

    @property
    def coming(self) -> Upcoming | None:
        """Return the next fire that is not left out; none comes while it is paused."""
        if self.view.state is not ScheduleState.ACTIVE:
            return None
        return next((each for each in self.preview.upcoming if each.note != SKIPPED), None)


def spec_of(view: ScheduleView) -> "Spec":
    """Return what a schedule's user decided."""
    from mainspring.agenda.spec import read_spec

    return read_spec(view.spec)


# --- the list -----------------------------------------------------------------------------------


def schedule_columns(now: datetime) -> list[Column[Listed]]:
    """Return how schedules are shown."""
    return [
        Column("NAME", lambda row: row.view.name, shrinks=True, least=12),
        Column("STATE", lambda row: _state(row.view)),
        Column("NEXT", lambda row: _next(row, now)),
        Column("LAST", lambda row: _last(row.last, now)),
        Column("KIND", lambda row: spec_of(row.view).work.kind, from_width=110, shrinks=True),
        Column("OWNER", lambda row: row.view.owner or "", wide=True),
        Column("TENANT", lambda row: row.view.tenant, wide=True),
        Column("ID", lambda row: row.view.schedule_id, wide=True),
        Column("WHEN", lambda row: row.preview.sentence, shrinks=True, least=28),
    ]


def _state(view: ScheduleView) -> Cell:
    return Cell(view.state.value, state_style(view.state.value))


def _next(row: Listed, now: datetime) -> str:
    if row.view.waiting and row.view.state is ScheduleState.ACTIVE:
        return "waits"
    return "-" if row.coming is None else relative(row.coming.due_at, now)


def _last(row: FireView | None, now: datetime) -> Cell:
    if row is None:
        return Cell("-")
    word = row.outcome.value
    if row.outcome is Outcome.JOB:
        word = "live" if row.job_state is None else row.job_state.value
    age = relative(row.through or row.nominal_at, now).removesuffix(" ago")
    return Cell(f"{word} {age}", state_style(word))


def schedule_record(view: ScheduleView) -> Record:
    """Return a schedule: what its user decided, by the names of files, and where it stands."""
    from mainspring.wire.documents.schedules import schedule_document

    record = record_of(schedule_document(view))
    return {name: record[name] for name in SCHEDULE_COLUMNS}


def listed_record(row: Listed) -> Record:
    """Return a schedule as the list has it."""
    last, coming = row.last, row.coming
    return {
        **schedule_record(row.view),
        "sentence": row.preview.sentence,
        "next_at": None if coming is None else coming.due_at,
        "last_at": None if last is None else last.nominal_at,
        "last_outcome": None if last is None else last.outcome.value,
        "last_job_state": None if last is None or not last.job_state else last.job_state.value,
    }


# --- one schedule -------------------------------------------------------------------------------


def show_schedule(
    options: Options,
    view: ScheduleView,
    preview: Preview,
    fires: Sequence[FireView],
    now: datetime,
) -> None:
    """Show one schedule with everything that is known about it."""
    record = {
        **schedule_record(view),
        **preview_record(preview),
        "history": [fire_record(row) for row in fires],
    }
    show_one(
        options,
        record,
        name=view.name,
        people=lambda: _people(options, view, preview, fires, now),
    )


def _people(
    options: Options,
    view: ScheduleView,
    preview: Preview,
    fires: Sequence[FireView],
    now: datetime,
) -> None:
    color = options.colors_data
    state = styled(view.state.value, state_style(view.state.value), color=color)
    out(f"{styled(printable(view.name), 'bold', color=color)}  {state}  {view.schedule_id}")
    out(f"{printable(preview.sentence)}\n")
    for label, value in facts(view, now):
        out(f"  {styled(f'{label:<10}', 'dim', color=color)}{printable(value)}")
    if preview.upcoming:
        out(styled("\nnext" + _resting(view), "dim", color=color))
    out_fires(options, preview, now)
    if fires:
        out(styled("\nlast", "dim", color=color))
        rows = [row for row in fires if note_of(row)]
        columns = fire_columns(spec_of(view).times.zone)
        show_table(options, fires, columns if rows else columns[:-1])


def _resting(view: ScheduleView) -> str:
    return ", when it is resumed" if view.state is ScheduleState.PAUSED else ""


def facts(view: ScheduleView, now: datetime) -> list[tuple[str, str]]:
    """Return what there is to say of a schedule, each with its name."""
    spec = spec_of(view)
    times, work = spec.times, spec.work
    jitter = f"up to {words(times.jitter_seconds * _SECOND_MS)}, " + (
        "always the same" if times.jitter_mode == "fixed" else "another for each fire"
    )
    gaps = f"gap {times.dst_gap}, fold {times.dst_fold}"
    optional: list[tuple[str, Any]] = [
        ("paused", paused_text(view, now)),
        ("waiting", "a fire is due and waits for the end of the live job" * view.waiting),
        ("rule", "; ".join(times.when)),
        ("anchor", times.anchor),
        ("clock", gaps if (times.dst_gap, times.dst_fold) != ("policy", "first") else ""),
        ("jitter", jitter if times.jitter_seconds else ""),
        ("job", _job(spec)),
        ("payload", work.payload if work.payload != "{}" else ""),
        ("late", _late(spec.policies)),
        ("overlap", _overlap(spec.policies)),
        ("effect", work.effect_key),
        ("exhausted", f"submits {work.on_exhausted}" if work.on_exhausted else ""),
        ("note", spec.note),
        ("owner", view.owner),
        ("created", relative(view.created_at, now)),
        ("changed", _changed(view, now)),
    ]
    return [(label, str(value)) for label, value in optional if value]


def paused_text(view: ScheduleView, now: datetime) -> str:
    """Return since when a schedule is paused, by whom, why and until when."""
    if view.state is not ScheduleState.PAUSED or view.paused_at is None:
        return ""
    text = f"{relative(view.paused_at, now)} by {view.paused_by or 'somebody'}"
    if view.paused_reason:
        text += f": {view.paused_reason}"
    if view.paused_until is not None:
        text += f"; until {short_instant(view.paused_until)} UTC"
    return text


def _job(spec: "Spec") -> str:
    work = spec.work
    priority = Priority(work.priority).name.lower()
    return (
        f"{work.kind} in {work.queue}, priority {priority}, "
        f"{count_of(work.max_attempts, 'attempt')} of {words(work.timeout_ms)} at most"
    )


def _late(policies: "Policies") -> str:
    threshold = words(policies.misfire_threshold_seconds * _SECOND_MS)
    text = {
        "skip": f"what is more than {threshold} late is left out",
        "fire_once": f"one job for all that are more than {threshold} late",
        "fire_all": f"a job for each that is more than {threshold} late, "
        f"the newest {policies.max_missed:,}, {policies.catchup_rate:,} a minute",
    }[policies.misfire]
    if policies.catchup_window_seconds is not None:
        text += f"; none after {words(policies.catchup_window_seconds * _SECOND_MS)}"
    return f"{policies.misfire}: {text}"


def _overlap(policies: "Policies") -> str:
    text = {
        "allow": "fires do not care about live jobs",
        "defer": "a fire waits for the end of the live job",
        "skip": "a fire beside a live job is left out",
        "cancel_running": "a fire cancels the live job, and waits for its end",
        "replace": "a fire takes the place of the live job",
    }[policies.overlap]
    if policies.pause_after_failures is not None:
        text += f"; {count_of(policies.pause_after_failures, 'failure')} in a row pause it"
    return f"{policies.overlap}: {text}"


def _changed(view: ScheduleView, now: datetime) -> str:
    if view.updated_at == view.created_at:
        return ""
    return f"{relative(view.updated_at, now)} by {view.updated_by}, version {view.version}"

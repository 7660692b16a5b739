"""Shows a schedule's ledger: what became of its fires, its backfills, and what an audit found."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from mainspring.cli.options import Options
from mainspring.cli.output import out, show_table
from mainspring.cli.records import Record, record_of
from mainspring.cli.schedule_tables import local_time, short_instant
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import count_of, printable, relative, state_style, styled
from mainspring.domain.audit import Finding
from mainspring.domain.ids import BACKFILL, show, show_job
from mainspring.domain.schedule import BackfillView, Cause, FireView, Missed, Outcome
from mainspring.ports.scheduling import ScheduleAudit

_OUTCOME_STYLES: Final = {
    Outcome.JOB: "green",
    Outcome.BACKFILLED: "blue",
    Outcome.COALESCED: "cyan",
    Outcome.EXPIRED: "red",
    Outcome.DROPPED: "red",
}
_CAUSES: Final = {
    Cause.SCHEDULE: "",
    Cause.DST_GAP: "its local time does not exist that day",
    Cause.CATCH_UP: "caught up",
    Cause.BACKFILL: "by a backfill",
    Cause.MANUAL: "by hand",
}
_FINDING_STYLES: Final = {"gap": "red", "double": "red", "unexpected": "yellow"}


# --- history ------------------------------------------------------------------------------------


def fire_columns(zone: str) -> list[Column[FireView]]:
    """Return how rows of the ledger are shown; a span of fires is one row."""
    columns: list[Column[FireView]] = [
        Column("FIRE (UTC)", _when),
        Column("FIRES", _count, right=True),
        Column("OUTCOME", _outcome),
        Column("JOB", _job),
        Column("ID", lambda row: show_job(row.job_id) if row.job_id else "", from_width=110),
        Column("NOTE", note_of, shrinks=True),
    ]
    if zone != "UTC":
        local = Column[FireView](
            f"LOCAL ({zone})", lambda row: local_time(row.nominal_at, zone), from_width=140
        )
        columns.insert(1, local)
    return columns


def _when(row: FireView) -> str:
    begin = short_instant(row.nominal_at)
    if row.through is None or row.through == row.nominal_at:
        return begin
    end = short_instant(row.through)
    return f"{begin} to {end[11:] if end[:10] == begin[:10] else end[5:]}"


def _count(row: FireView) -> str:
    if not row.is_span:
        return "1"
    return "many" if row.count is None else f"{row.count:,}"


def _outcome(row: FireView) -> Cell:
    return Cell(row.outcome.value, _OUTCOME_STYLES.get(row.outcome, "yellow"))


def _job(row: FireView) -> Cell:
    if row.job_id is None or row.outcome is Outcome.COALESCED:
        return Cell("")
    state = "live" if row.job_state is None else row.job_state.value
    return Cell(state, state_style(state))


def note_of(row: FireView) -> str:
    """Return what else there is to say of a fire."""
    parts = [_CAUSES[row.cause], row.note or ""]
    if row.local is not None:
        parts.append(f"by the clock {row.local.replace('T', ' ')}")
    if row.missed is not None:
        parts.append(_missed(row.missed))
    return "; ".join(part for part in parts if part)


def _missed(missed: Missed) -> str:
    least = "at least " if missed.is_least else ""
    return f"stands for {least}{count_of(missed.count, 'missed fire')}, too"


def fire_record(row: FireView) -> Record:
    """Return a row of the ledger."""
    from mainspring.wire.documents.ledger import fire_document

    return record_of(fire_document(row))


# --- backfills ----------------------------------------------------------------------------------


def backfill_columns(now: datetime) -> list[Column[BackfillView]]:
    """Return how backfills are shown."""
    return [
        Column("ID", lambda row: show(BACKFILL, row.id)),
        Column("STATE", lambda row: Cell(row.state, "green" if row.state == "done" else "cyan")),
        Column("FIRES", lambda row: f"{row.fires:,}", right=True),
        Column("WAITING", lambda row: f"{row.waiting:,}", right=True),
        Column("LIVE", lambda row: f"{row.live:,}", right=True),
        Column("SUCCEEDED", lambda row: f"{row.succeeded:,}", right=True),
        Column("FAILED", _failed, right=True),
        Column("FROM (UTC)", lambda row: short_instant(row.from_at), from_width=110),
        Column("TO (UTC)", lambda row: short_instant(row.until_at), from_width=130),
        Column("AGE", lambda row: relative(row.created_at, now).removesuffix(" ago"), right=True),
        Column("ORDER", lambda row: f"{row.order} first, {row.concurrency} at once", wide=True),
        Column("BY", lambda row: row.created_by, wide=True),
    ]


def _failed(row: BackfillView) -> Cell:
    failed = backfill_record(row)["failed"]
    return Cell(f"{failed:,}", "red" if failed else "")


def backfill_record(row: BackfillView) -> Record:
    """Return a backfill."""
    from mainspring.wire.documents.ledger import backfill_document

    return record_of(backfill_document(row))


# --- the audit ----------------------------------------------------------------------------------


def audit_columns() -> list[Column[ScheduleAudit]]:
    """Return how audits of several schedules are shown."""
    return [
        Column("SCHEDULE", lambda row: row.schedule.name, shrinks=True),
        Column("EXPECTED", lambda row: f"{row.audited.expected:,}", right=True),
        Column("ACCOUNTED", lambda row: f"{row.audited.accounted:,}", right=True),
        Column("GAPS", lambda row: _bad(row.audited.gaps), right=True),
        Column("DOUBLES", lambda row: _bad(row.audited.doubles), right=True),
        Column("UNEXPECTED", lambda row: _bad(row.audited.unexpected), right=True),
        Column("UNDECIDED", lambda row: f"{row.undecided:,}", right=True),
        Column("SINCE (UTC)", lambda row: short_instant(row.audited.after), from_width=110),
    ]


def _bad(count: int) -> Cell:
    return Cell(f"{count:,}", "red" if count else "")


def audit_record(row: ScheduleAudit) -> Record:
    """Return an audit."""
    from mainspring.wire.documents.ledger import audit_document

    record = record_of(audit_document(row))
    del record["schedule"]
    return record


def out_audit(options: Options, row: ScheduleAudit) -> None:
    """Print an audit of one schedule: the counts by outcome, and every finding."""
    audited, color = row.audited, options.colors_data
    verdict = styled("clean", "green", color=color)
    if not audited.is_clean:
        verdict = styled("findings", "red", color=color)
    out(f"{styled(printable(row.schedule.name), 'bold', color=color)}  {verdict}\n")
    facts = [
        ("range", f"{short_instant(audited.after)} to {short_instant(audited.through)} UTC"),
        ("expected", f"{count_of(audited.expected, 'fire')} by the rules, clock and calendars"),
        ("accounted", f"{audited.accounted:,} of them exactly once"),
        *((f"  {name}", f"{count:,}") for name, count in sorted(audited.outcomes.items())),
        ("gaps", f"{audited.gaps:,}"),
        ("doubles", f"{audited.doubles:,}"),
        ("unexpected", f"{audited.unexpected:,}"),
    ]
    if row.undecided and row.undecided_since is not None:
        since = short_instant(row.undecided_since)
        facts.append(("undecided", f"{count_of(row.undecided, 'fire')} due since {since} UTC"))
    width = max(len(label) for label, _ in facts) + 2
    for label, value in facts:
        out(f"  {styled(f'{label:<{width}}', 'dim', color=color)}{value}")
    if audited.findings:
        out("")
        out_findings(options, audited.findings)


def out_findings(options: Options, findings: Sequence[Finding]) -> None:
    """Print where ledger and timetable disagree."""
    show_table(
        options,
        findings,
        [
            Column("FINDING", lambda row: Cell(row.kind, _FINDING_STYLES[row.kind])),
            Column("FIRE (UTC)", lambda row: short_instant(row.nominal_at)),
            Column("DETAIL", lambda row: row.detail, shrinks=True),
        ],
    )

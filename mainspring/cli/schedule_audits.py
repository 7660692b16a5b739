"""``mainspring schedules audit``: what should have fired, computed anew, against the ledger."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from mainspring.cli.asking import instant_of, open_gateway
from mainspring.cli.ledger_tables import audit_columns, audit_record, out_audit, out_findings
from mainspring.cli.options import FLAG, VALUE, Given, Options
from mainspring.cli.output import out, show_list, show_one, tell
from mainspring.cli.text import count_of, printable
from mainspring.cli.watching import ProgressLine
from mainspring.domain.errors import InvalidInput
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.schedule import ScheduleView
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import ScheduleAudit

_FINDINGS: Final = 8
_SECOND: Final = timedelta(seconds=1)


async def audit(
    *schedule: str,
    all: Annotated[bool, FLAG] = False,  # noqa: A002 - the option's name
    from_: Annotated[str | None, Parameter(name=["--from", "--since"])] = None,
    to: Annotated[str | None, Parameter(name=["--to", "--until"])] = None,
    tenant: Annotated[str | None, VALUE] = None,
    options: Given,
) -> int:
    """Compute anew what should have fired, and compare it with the ledger; exit 8 on findings.

    A gap is a fire that the ledger does not account for; a double one that it accounts for twice;
    unexpected is what the ledger has and no rule names.

    Parameters
    ----------
    schedule
        Names or ids.
    all
        Every schedule there is, removed ones too.
    from_
        From this instant on, or from so long ago (30d); as far back as the ledger goes if not
        given.
    to
        Up to this instant.
    tenant
        Whose they are; with --all of every tenant if not given.
    """
    if bool(schedule) == all:
        what = "both schedules and --all were given" if all else "which schedules?"
        raise InvalidInput(what, hint="name some, or give --all")
    asked = (
        None if from_ is None else instant_of(from_, name="from"),
        None if to is None else instant_of(to, name="to"),
    )
    async with open_gateway(options) as gateway:
        views = [view async for view in _meant(gateway, schedule, tenant)]
        bar = ProgressLine(options, len(views), "audited")
        rows: list[ScheduleAudit] = []
        try:
            for view in views:
                rows.append(await _audited(gateway, view, asked))
                bar.move(len(rows))
        finally:
            bar.end()
    _show_audits(options, rows, is_one=len(schedule) == 1)
    return 0 if all_clean(rows) else _FINDINGS


async def _meant(
    gateway: ClientGateway, names: Sequence[str], tenant: str | None
) -> AsyncIterator[ScheduleView]:
    for name in dict.fromkeys(names):
        yield await gateway.schedules.get(name, tenant=tenant)
    after: bytes | None = None
    while not names:
        wanted = ScheduleFilter(tenant=tenant, with_deleted=True)
        page = await gateway.schedules.list(wanted, limit=PAGE_ITEMS_MAX, after=after)
        for view in page:
            yield view
        if len(page) < PAGE_ITEMS_MAX:
            return
        after = page[-1].id


async def _audited(
    gateway: ClientGateway, view: ScheduleView, asked: tuple[datetime | None, datetime | None]
) -> ScheduleAudit:
    """Audit a schedule to the end, in as many parts as it takes."""
    from_at, until_at = asked
    whole = await gateway.schedules.audit(view.schedule_id, from_at=from_at, until_at=until_at)
    found = whole
    while not found.audited.is_complete:
        begin = found.audited.through + _SECOND
        found = await gateway.schedules.audit(view.schedule_id, from_at=begin, until_at=until_at)
        whole = _joined(whole, found)
        if found.audited.through < begin:
            break
    return whole


def _joined(one: ScheduleAudit, other: ScheduleAudit) -> ScheduleAudit:
    before, after = one.audited, other.audited
    outcomes = dict(before.outcomes)
    for name, count in after.outcomes.items():
        outcomes[name] = outcomes.get(name, 0) + count
    audited = msgspec.structs.replace(
        after,
        after=before.after,
        expected=before.expected + after.expected,
        accounted=before.accounted + after.accounted,
        outcomes=outcomes,
        gaps=before.gaps + after.gaps,
        doubles=before.doubles + after.doubles,
        unexpected=before.unexpected + after.unexpected,
        findings=(*before.findings, *after.findings),
    )
    return msgspec.structs.replace(other, audited=audited)


def all_clean(rows: Sequence[ScheduleAudit]) -> bool:
    """Say whether no audit found anything."""
    return all(row.audited.is_clean for row in rows)


def _show_audits(options: Options, rows: Sequence[ScheduleAudit], *, is_one: bool) -> None:
    if is_one:
        (row,) = rows
        show_one(
            options,
            audit_record(row),
            name=row.schedule.name,
            people=lambda: out_audit(options, row),
        )
        return
    show_list(
        options,
        rows,
        columns=audit_columns(),
        record=audit_record,
        name=lambda row: row.schedule.name,
        empty="there are no schedules",
    )
    if not options.is_for_people or options.columns or not rows:
        return
    bad = [row for row in rows if not row.audited.is_clean]
    for row in bad:
        out(f"\n{printable(row.schedule.name)}")
        out_findings(options, row.audited.findings)
    expected = sum(row.audited.expected for row in rows)
    said = f"{count_of(len(bad), 'schedule')} with findings" if bad else "nothing found"
    tell(f"{count_of(len(rows), 'schedule')}, {count_of(expected, 'fire')}: {said}")

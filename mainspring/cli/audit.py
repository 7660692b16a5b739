"""``mainspring audit``: who did what, from where, and what it was before and after."""

from typing import Annotated, Final

import msgspec
from cyclopts import App

from mainspring.cli.asking import instant_of, open_gateway
from mainspring.cli.options import COMMANDS, VALUE, Given
from mainspring.cli.output import show_list, tell
from mainspring.cli.records import Record, record_of
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import absolute
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.trail import AuditEntry, AuditFilter

app: Final = App(name="audit", help="Look at who did what, and when.", group_commands=COMMANDS)
_ENTRIES_MAX: Final = 1_000_000


@app.command
async def ls(  # noqa: PLR0913 - a command's options are its arguments
    *,
    subject: Annotated[str | None, VALUE] = None,
    by: Annotated[str | None, VALUE] = None,
    action: Annotated[str | None, VALUE] = None,
    tenant: Annotated[str | None, VALUE] = None,
    since: Annotated[str | None, VALUE] = None,
    until: Annotated[str | None, VALUE] = None,
    limit: Annotated[int, VALUE] = 50,
    options: Given,
) -> None:
    """List changes, newest first. -o json shows before and after in full.

    Parameters
    ----------
    subject
        What was changed: an id (job_…, sch_…, wrk_…, ms_live_…), or the name of a queue, a
        calendar or a tenant.
    by
        Who did it, as the list says it: cli:ada.
    action
        One action (job.cancel), or all of a noun: job, queue, schedule, key, tenant.
    tenant
        Only what concerns this tenant.
    since
        From then on: 2h, or 2027-01-31T09:00:00Z.
    until
        Before then: 2h, or 2027-01-31T09:00:00Z.
    limit
        How many at most.
    """
    check_range("limit", limit, 1, _ENTRIES_MAX)
    wanted = AuditFilter(
        subject=subject,
        actor=by,
        action=action,
        tenant=tenant,
        from_at=None if since is None else instant_of(since, name="since"),
        until_at=None if until is None else instant_of(until, name="until"),
    )
    found: list[AuditEntry] = []
    async with open_gateway(options) as gateway:
        while page := await gateway.access.list_audit(
            wanted,
            limit=min(PAGE_ITEMS_MAX, limit + 1 - len(found)),
            before=found[-1].place if found else None,
        ):
            found += page
            if len(found) > limit:
                break
    show_list(
        options,
        found[:limit],
        columns=[
            Column("AT", lambda entry: absolute(entry.at)),
            Column("BY", lambda entry: entry.actor, shrinks=True),
            Column("FROM", lambda entry: entry.source or Cell("-", "dim"), shrinks=True),
            Column("ACTION", lambda entry: entry.action),
            Column("SUBJECT", lambda entry: entry.subject, shrinks=True),
            Column("TENANT", lambda entry: entry.tenant or Cell("-", "dim"), from_width=100),
            Column("WHAT", _what, shrinks=True),
        ],
        record=_record,
        name=lambda entry: entry.subject,
        empty="nothing that matches" if wanted != AuditFilter() else "nothing has been changed",
    )
    if len(found) > limit and options.is_for_people:
        tell(f"there is more: --limit {limit * 2}, or --until {found[limit - 1].at.isoformat()}")


def _record(entry: AuditEntry) -> Record:
    from mainspring.wire.documents.access import audit_document

    return record_of(audit_document(entry))


def _what(entry: AuditEntry) -> str:
    """Return what became of it, in a line: the members that differ, then the circumstances."""
    before, after = _members(entry.before), _members(entry.after)
    changes = [
        f"{name} {_short(before.get(name))} → {_short(value)}"
        if name in before
        else f"{name} {_short(value)}"
        for name, value in after.items()
        if before.get(name) != value
    ]
    told = [f"{name} {_short(value)}" for name, value in _members(entry.detail).items() if value]
    return ", ".join(changes + told)


def _members(text: bytes | None) -> dict[str, object]:
    found: object = None if text is None else msgspec.json.decode(text)
    return found if isinstance(found, dict) else {}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:39]}…"

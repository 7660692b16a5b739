"""``mainspring tenants``: who shares this installation."""

from datetime import datetime
from typing import Annotated, Final

from cyclopts import App

from mainspring.cli.asking import actor, open_gateway
from mainspring.cli.options import COMMANDS, FLAG, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_one,
    tell_dry_run,
)
from mainspring.cli.records import Record, record_of
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import absolute, printable, relative, styled
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.tenants import TenantView

app: Final = App(
    name="tenants",
    help="Look at tenants; register, suspend and resume them.",
    group_commands=COMMANDS,
)


@app.command
async def ls(*, options: Given) -> None:
    """List tenants by name."""
    async with open_gateway(options) as gateway:
        found: list[TenantView] = []
        while page := await gateway.access.list_tenants(
            limit=PAGE_ITEMS_MAX, after=found[-1].name if found else None
        ):
            found += page
        now = await gateway.now()
    show_list(
        options,
        found,
        columns=[
            Column("TENANT", lambda view: view.name, shrinks=True),
            Column("STATE", _state),
            Column("CREATED", lambda view: relative(view.created_at, now), right=True),
            Column("NOTE", lambda view: view.suspended_reason or view.note, shrinks=True),
        ],
        record=_record,
        name=lambda view: view.name,
        empty="no tenants",
    )


def _state(view: TenantView) -> Cell:
    return Cell("suspended", "yellow") if view.is_suspended else Cell("active", "green")


def _record(view: TenantView) -> Record:
    from mainspring.wire.documents.access import tenant_document

    return record_of(tenant_document(view))


@app.command
async def get(tenant: str, /, *, options: Given) -> None:
    """Show a tenant.

    Parameters
    ----------
    tenant
        The tenant.
    """
    async with open_gateway(options) as gateway:
        view = await gateway.access.get_tenant(tenant)
        now = await gateway.now()
    _show(options, view, now)


def _show(options: Options, view: TenantView, now: datetime) -> None:
    show_one(options, _record(view), name=view.name, people=lambda: _people(options, view, now))


def _people(options: Options, view: TenantView, now: datetime) -> None:
    color = options.colors_data
    state = _state(view)
    shown = styled(state.text, state.style, color=color)
    out(f"{styled(printable(view.name), 'bold', color=color)}  {shown}\n")
    created = f"{absolute(view.created_at)}  ({relative(view.created_at, now)})"
    facts = [
        ("note", view.note or "-"),
        ("created", f"{created} by {view.created_by}" if view.created_by else created),
    ]
    if view.suspended_at is not None:
        when = f"{absolute(view.suspended_at)}  ({relative(view.suspended_at, now)})"
        facts += [
            ("suspended", f"{when} by {view.suspended_by}"),
            ("reason", view.suspended_reason or "-"),
        ]
    for label, value in facts:
        out(f"  {styled(f'{label:<11}', 'dim', color=color)}{printable(value)}")


@app.command
async def create(
    tenant: str, /, *, note: Annotated[str | None, VALUE] = None, options: Given
) -> None:
    """Register a tenant, or change the note of one that is there.

    Parameters
    ----------
    tenant
        Its name: letters, digits and . _ : / -
    note
        Who that is.
    """
    async with open_gateway(options) as gateway:
        view = await gateway.access.put_tenant(tenant, note=note, actor=actor())
        now = await gateway.now()
    _show(options, view, now)


@app.command
async def suspend(
    tenant: str,
    /,
    *,
    reason: Annotated[str, VALUE] = "",
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Refuse all keys of a tenant. Its jobs and schedules go on.

    Parameters
    ----------
    tenant
        The tenant.
    reason
        Why: it is told to whoever uses one of its keys.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        view = await gateway.access.get_tenant(tenant)
        changed = not view.is_suspended
        if not dry_run:
            changed = await gateway.access.suspend_tenant(tenant, reason=reason, actor=actor())
    _show_change(options, Change(tenant, "suspended", changed), dry_run=dry_run)


@app.command
async def resume(tenant: str, /, *, dry_run: Annotated[bool, FLAG] = False, options: Given) -> None:
    """Accept the keys of a tenant again.

    Parameters
    ----------
    tenant
        The tenant.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        view = await gateway.access.get_tenant(tenant)
        changed = view.is_suspended
        if not dry_run:
            changed = await gateway.access.resume_tenant(tenant, actor=actor())
    _show_change(options, Change(tenant, "active", changed), dry_run=dry_run)


def _show_change(options: Options, change: Change, *, dry_run: bool) -> None:
    show_changes(options, [change], unchanged="it was so already")
    if dry_run:
        tell_dry_run()

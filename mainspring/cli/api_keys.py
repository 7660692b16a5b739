"""``mainspring keys``: API keys are made, looked at, rotated and ended."""

from datetime import datetime
from typing import Annotated, Final

from cyclopts import App

from mainspring.app.durations import milliseconds
from mainspring.cli.asking import actor, open_gateway
from mainspring.cli.options import COMMANDS, FLAG, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_one,
    tell,
    tell_dry_run,
)
from mainspring.cli.records import Record, record_of
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import absolute, printable, relative, styled
from mainspring.domain.errors import InvalidInput
from mainspring.domain.keys import KeyState, KeyView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.ports.access import IssuedKey, KeyDraft

app: Final = App(
    name="keys", help="Make API keys; look at them, rotate and end them.", group_commands=COMMANDS
)
_FOREVER: Final = "never"


@app.command
async def ls(
    *,
    tenant: Annotated[str | None, VALUE] = None,
    ended: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """List keys by name: whose they are, what they may do, when they were last used.

    Parameters
    ----------
    tenant
        Only keys of this tenant.
    ended
        Also keys that were ended or have expired.
    """
    async with open_gateway(options) as gateway:
        found: list[KeyView] = []
        while page := await gateway.access.list_keys(
            tenant=tenant,
            with_ended=ended,
            limit=PAGE_ITEMS_MAX,
            after=found[-1].id if found else None,
        ):
            found += page
        now = await gateway.now()
    show_list(
        options,
        found,
        columns=_columns(now),
        record=_record,
        name=lambda view: view.prefix,
        empty="no keys: mainspring keys create NAME --scopes submit,read",
    )


def _columns(now: datetime) -> list[Column[KeyView]]:
    return [
        Column("NAME", lambda view: view.name, shrinks=True),
        Column("KEY", lambda view: view.prefix),
        Column("TENANT", lambda view: view.tenant or Cell("all", "dim"), shrinks=True),
        Column("SCOPES", lambda view: ",".join(view.scopes), shrinks=True),
        Column("STATE", _state),
        Column("EXPIRES", lambda view: _expires(view, now), right=True),
        Column("USED", lambda view: _when(view.used_at, now, "never"), right=True),
        Column("CREATED", lambda view: relative(view.created_at, now), right=True, from_width=110),
        Column("BY", lambda view: view.created_by, from_width=120, shrinks=True),
    ]


def _state(view: KeyView) -> Cell:
    if view.state is KeyState.ACTIVE and view.replaced_by is not None:
        return Cell("replaced", "yellow")
    return Cell(view.state.value, "green" if view.state is KeyState.ACTIVE else "dim")


def _expires(view: KeyView, now: datetime) -> str:
    return _when(view.expires_at, now, _FOREVER)


def _when(instant: datetime | None, now: datetime, otherwise: str) -> str:
    return otherwise if instant is None else relative(instant, now)


def _record(view: KeyView) -> Record:
    from mainspring.wire.documents.access import key_document

    return record_of(key_document(view))


@app.command
async def get(key: str, /, *, options: Given) -> None:
    """Show a key: what it may do, and what became of it. Its secret is kept nowhere.

    Parameters
    ----------
    key
        Its name, its id, or what is shown of it (ms_live_…).
    """
    async with open_gateway(options) as gateway:
        view = await gateway.access.get_key(key)
        now = await gateway.now()
    show_one(options, _record(view), name=view.prefix, people=lambda: _people(options, view, now))


def _people(options: Options, view: KeyView, now: datetime) -> None:
    color = options.colors_data
    state = _state(view)
    shown = styled(state.text, state.style, color=color)
    out(f"{styled(printable(view.name), 'bold', color=color)}  {view.prefix}  {shown}\n")
    facts = [
        ("tenant", view.tenant or "all: of the whole installation"),
        ("scopes", ", ".join(view.scopes)),
        ("created", f"{_at(view.created_at, now)} by {view.created_by}"),
        ("expires", _at(view.expires_at, now) or _FOREVER),
        ("last used", _at(view.used_at, now) or "never"),
    ]
    if view.replaced_by is not None:
        facts.append(("replaced by", f"ms_live_{view.replaced_by}"))
    if view.ended_at is not None:
        facts.append(("ended", f"{_at(view.ended_at, now)} by {view.ended_by}"))
    for label, value in facts:
        out(f"  {styled(f'{label:<13}', 'dim', color=color)}{printable(value)}")


def _at(instant: datetime | None, now: datetime) -> str:
    return "" if instant is None else f"{absolute(instant)}  ({relative(instant, now)})"


@app.command
async def create(
    name: str,
    /,
    *,
    scopes: Annotated[str, VALUE],
    tenant: Annotated[str | None, VALUE] = None,
    expires: Annotated[str | None, VALUE] = None,
    options: Given,
) -> None:
    """Make a key, and print it: this once. With -o name it stands alone on stdout.

    Parameters
    ----------
    name
        What it is for: billing-bot.
    scopes
        What it may do: submit, read, operate, work, admin; or single rights; joined by commas.
    tenant
        The tenant that it belongs to; without one it is of the whole installation.
    expires
        How long it is good: 90d. Without it, until it is ended.
    """
    given = tuple(word.strip() for word in scopes.split(",") if word.strip())
    draft = KeyDraft(name=name, scopes=given, tenant=tenant, lives_seconds=_seconds(expires))
    async with open_gateway(options) as gateway:
        issued = await gateway.access.create_key(draft, actor=actor())
        now = await gateway.now()
    _show_issued(options, issued, now)


@app.command
async def rotate(
    key: str,
    /,
    *,
    overlap: Annotated[str, VALUE] = "24h",
    expires: Annotated[str | None, VALUE] = None,
    options: Given,
) -> None:
    """Make a new key in place of one, which stays good for the overlap; print it this once.

    Parameters
    ----------
    key
        Its name, its id, or what is shown of it (ms_live_…).
    overlap
        How long the old key stays good: 24h; 0s ends it at once.
    expires
        How long the new one is good; without it, as long as the old one was to be.
    """
    seconds = _seconds(overlap, name="overlap")
    async with open_gateway(options) as gateway:
        issued = await gateway.access.rotate_key(
            key,
            overlap_seconds=0 if seconds is None else seconds,
            lives_seconds=_seconds(expires),
            actor=actor(),
        )
        now = await gateway.now()
    _show_issued(options, issued, now)
    tell(f"the old key stays good for {overlap}")


def _seconds(text: str | None, *, name: str = "expires") -> int | None:
    if text is None:
        return None
    whole, rest = divmod(milliseconds(text, name=name), 1_000)
    if rest:
        raise InvalidInput(f"{name}: {text!r} is not in whole seconds", hint="write 90d, or 12h")
    return whole


def _show_issued(options: Options, issued: IssuedKey, now: datetime) -> None:
    from mainspring.wire.documents.access import issued_key_document

    def people() -> None:
        out(issued.text)
        tell(
            f"\n{issued.view.name}: {', '.join(issued.view.scopes)}; "
            f"tenant {issued.view.tenant or 'all'}; expires {_expires(issued.view, now)}"
        )
        tell("This is the only time that the key is shown: keep it now.")

    show_one(options, record_of(issued_key_document(issued)), name=issued.text, people=people)


@app.command
async def end(key: str, /, *, dry_run: Annotated[bool, FLAG] = False, options: Given) -> None:
    """Make a key useless at once.

    Parameters
    ----------
    key
        Its name, its id, or what is shown of it (ms_live_…).
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        view = await gateway.access.get_key(key)
        if dry_run:
            changed = view.ended_at is None
        else:
            changed = await gateway.access.end_key(view.id, actor=actor())
    show_changes(
        options,
        [Change(view.prefix, KeyState.ENDED.value, changed)],
        unchanged="it was ended before",
    )
    if dry_run:
        tell_dry_run()

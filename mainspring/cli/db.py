"""``mainspring db``: create, update and check the store's tables."""

from typing import Annotated, Final, Literal

import msgspec
from cyclopts import App, Parameter

from mainspring.cli.options import COMMANDS, FLAG, Given, Options
from mainspring.cli.output import out, show_list, show_one, tell, tell_dry_run
from mainspring.cli.picking import check_columns
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import count_of, printable
from mainspring.domain.errors import StoreNewer
from mainspring.ports.store import SchemaStatus

app: Final = App(
    name="db", help="Create, update and check the store's tables.", group_commands=COMMANDS
)
Phase = Literal["pre", "post", "all"]
_FINDINGS: Final = 8


class Step(msgspec.Struct, frozen=True):
    """One migration step and where it stands."""

    name: str
    phase: str
    status: str


@app.command
async def migrate(
    *,
    phase: Phase = "all",
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Apply pending steps; safe to repeat, and to run from several places at once.

    Parameters
    ----------
    phase
        pre: before the new version starts. post: after the old one has gone. all: both.
    dry_run
        Only say which steps would be applied.
    """
    from mainspring.runtime.assemble import open_store, open_store_to_look

    check_columns(options, Step.__struct_fields__)
    opening = open_store_to_look if dry_run else open_store
    store = await opening(options.settings())
    try:
        found = await store.schema_status()
        if found.too_new:
            raise StoreNewer(
                f"the store was migrated by a newer Mainspring (unknown: {found.unknown[-1]})"
            )
        if dry_run:
            names = [name for name in found.pending if phase in ("all", _phase(name))]
        else:
            names = await store.migrate(phase=phase)
    finally:
        await store.close()
    word = "pending" if dry_run else "applied"
    if options.is_for_people:
        for name in names:
            out(f"{word}  {name}")
        tell(f"{count_of(len(names), 'step')} {word}" if names else "nothing to do")
    else:
        _show(options, [Step(name, _phase(name), word) for name in names])
    if dry_run:
        tell_dry_run()


@app.command
async def status(*, check: Annotated[bool, Parameter(negative="")] = False, options: Given) -> int:
    """Show which steps are applied, and which are pending.

    Parameters
    ----------
    check
        Exit 8 when something is pending or unknown.
    """
    from mainspring.runtime.assemble import open_store_to_look

    store = await open_store_to_look(options.settings())
    try:
        found = await store.schema_status()
    finally:
        await store.close()
    _show(options, _steps(found))
    if options.is_for_people:
        tell(_summary(found))
    return _FINDINGS if check and (found.pending or found.unknown) else 0


@app.command
async def check(*, options: Given) -> int:
    """Check that the store can be reached, is migrated, and is whole; exit 8 when it is not.

    On SQLite every page of the file is read, which takes a while on a large one.
    """
    from mainspring.runtime.assemble import open_store, refuse_missing_file

    settings = options.settings()
    refuse_missing_file(settings)
    store = await open_store(settings)
    try:
        found = await store.schema_status()
        damage = await store.find_damage()
        product = (await store.diagnose()).product
    finally:
        await store.close()
    findings = [*damage]
    if found.pending or found.unknown:
        findings.append(_summary(found))
    record = {"store": options.shown_store, "product": product, "findings": findings}
    show_one(options, record, name=product, people=lambda: _say(product, findings))
    return _FINDINGS if findings else 0


def _say(product: str, findings: list[str]) -> None:
    for text in findings:
        out(printable(text))
    if not findings:
        out(f"{product}: reached, migrated and whole")


_STYLES: Final = {"applied": "green", "pending": "yellow", "unknown": "red"}


@app.command
async def sql(*, phase: Phase = "all", pending: bool = True, options: Given) -> None:
    """Print the SQL that migrate would run, for those who run it by hand.

    Parameters
    ----------
    phase
        pre, post or all.
    pending
        Only what the store lacks; --no-pending prints everything and asks no store.
    """
    from mainspring.runtime.assemble import open_store_to_look

    store = await open_store_to_look(options.settings())
    try:
        if not pending and phase == "all":
            out(store.migration_sql(pending=None))
            return
        found = await store.schema_status()
    finally:
        await store.close()
    names = found.pending if pending else (*found.applied, *found.pending)
    wanted = tuple(name for name in sorted(names) if phase in ("all", _phase(name)))
    if not wanted:
        tell("nothing to do")
        return
    out(store.migration_sql(pending=wanted))


def _steps(found: SchemaStatus) -> list[Step]:
    groups = (("applied", found.applied), ("pending", found.pending), ("unknown", found.unknown))
    return sorted(
        (Step(name, _phase(name), state) for state, names in groups for name in names),
        key=lambda step: step.name,
    )


def _phase(name: str) -> str:
    return "post" if "_post_" in name else "pre"


def _summary(found: SchemaStatus) -> str:
    if found.too_new:
        return "the store is newer than this version   next: install the newer version here"
    if found.pending:
        return f"{count_of(len(found.pending), 'step')} pending   next: mainspring db migrate"
    return "up to date"


def _show(options: Options, steps: list[Step]) -> None:
    show_list(
        options,
        steps,
        columns=[
            Column("STEP", lambda step: step.name, shrinks=True),
            Column("PHASE", lambda step: step.phase),
            Column("STATUS", lambda step: Cell(step.status, _STYLES[step.status])),
        ],
        record=msgspec.structs.asdict,
        name=lambda step: step.name,
        empty="this version has no steps",
    )

"""``mainspring deploy``: what an app declares is brought into the store, and only that."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Final

from mainspring.cli.apps import needed_app
from mainspring.cli.asking import actor, open_gateway
from mainspring.cli.options import FLAG, Given
from mainspring.cli.output import tell, tell_dry_run
from mainspring.cli.picking import check_columns
from mainspring.cli.pointing import ENTRY, point
from mainspring.cli.schedule_tables import PLAN_COLUMNS, show_plan, summary
from mainspring.cli.text import printable
from mainspring.domain.errors import Conflict, InvalidSchedule
from mainspring.ports.scheduling import Application, Planned
from mainspring.runtime.declared import Declared, declarations

_FINDINGS: Final = 8


async def deploy(
    app: str | None = None,
    /,
    *,
    dry_run: Annotated[bool, FLAG] = False,
    check: Annotated[bool, FLAG] = False,
    prune: Annotated[bool, FLAG] = False,
    adopt: Annotated[bool, FLAG] = False,
    options: Given,
) -> int:
    """Make the store's schedules and calendars what the app declares; say what was changed.

    A schedule's owner is the app that declares it. A pause stays, whatever is changed.

    Parameters
    ----------
    app
        MODULE:APP; without it the project's.
    dry_run
        Only say what would be changed.
    check
        Change nothing; exit 8 when something would be changed.
    prune
        Remove schedules that this app declared before, and does no more.
    adopt
        Take over schedules that somebody else keeps.
    """
    check_columns(options, PLAN_COLUMNS)
    found = declarations(needed_app(app, options, "deploy"))
    wanted = found.application(prune=prune, adopt=adopt)
    async with open_gateway(options) as gateway:
        with _pointing(wanted):
            plan = await gateway.schedules.apply(wanted, dry_run=True, actor=actor())
        conflicts = [step for step in plan if step.action == "conflict"]
        is_done = not (dry_run or check or conflicts)
        if is_done:
            plan = await gateway.schedules.apply(wanted, actor=actor())
    show_plan(options, plan, is_done=is_done)
    _tell(found, plan, is_done=is_done)
    if check:
        return _FINDINGS if any(step.is_change for step in plan) else 0
    if conflicts:
        raise _somebody_elses(conflicts)
    if dry_run:
        tell_dry_run()
    return 0


@contextmanager
def _pointing(wanted: Application) -> Iterator[None]:
    """Show the rule or entry that is wrong, with a caret under the place."""
    rules = {draft.name: draft.when for draft in wanted.schedules}
    entries = {draft.name: draft.entries for draft in wanted.calendars}
    try:
        yield
    except InvalidSchedule as error:
        field = str(error.details.get("field", ""))
        place = ENTRY.fullmatch(field)
        if place is not None:
            point(error, entries[str(error.details.get("calendar"))][int(place[1])])
        elif len(texts := rules.get(str(error.details.get("schedule")), ())) == 1:
            point(error, texts[0])
        raise


def _tell(found: Declared, plan: Sequence[Planned], *, is_done: bool) -> None:
    if not plan:
        tell(f"the app {printable(found.name)} declares no schedules and no calendars")
        return
    tell(summary(plan, is_done=is_done))
    if any(step.action == "leave" for step in plan):
        tell("what is declared no more stays, unless --prune removes it")


def _somebody_elses(steps: Sequence[Planned]) -> Conflict:
    first = steps[0]
    more = f" and {len(steps) - 1:,} more" if len(steps) > 1 else ""
    return Conflict(
        f"{first.owner or 'nobody'} keeps {first.name}{more}; nothing was changed",
        hint="rename yours, or take them over with --adopt",
        details={"schedules": [step.name for step in steps]},
    )

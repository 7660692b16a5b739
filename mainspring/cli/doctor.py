"""``mainspring doctor``: looks at everything that goes wrong in practice, and says what to do."""

import os
from typing import Final

import msgspec

from mainspring.cli.checkup import Facts, Finding, gather, judge
from mainspring.cli.options import Given, Options
from mainspring.cli.output import out, show_list, tell
from mainspring.cli.server_checkup import examine_server
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import count_of, printable, styled
from mainspring.domain.errors import MainspringError
from mainspring.runtime.assemble import is_rest
from mainspring.runtime.settings import unknown_variables

_FINDINGS: Final = 8
_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red", "skip": "dim"}
_WHAT_COLUMN: Final = 20


async def doctor(*, options: Given) -> int:
    """Check settings, store, workers, schedules and this machine; exit 8 on findings."""
    findings = [_environment(), *await _examine(options)]
    if options.is_for_people and not options.columns:
        _people(options, findings)
    else:
        show_list(
            options,
            findings,
            columns=[
                Column("CHECK", lambda found: found.check),
                Column("STATUS", lambda found: Cell(found.status, _STYLES[found.status])),
                Column("WHAT", lambda found: found.what, shrinks=True),
                Column("NEXT", lambda found: found.next, shrinks=True),
            ],
            record=msgspec.structs.asdict,
            name=lambda found: found.check,
            empty="",
        )
    return _FINDINGS if any(found.status in ("warn", "fail") for found in findings) else 0


def _environment() -> Finding:
    unknown = unknown_variables(os.environ)
    if not unknown:
        return Finding("environment", "ok", "every MAINSPRING_* variable is a setting")
    name, near = next(iter(unknown.items()))
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    hint = f"did you mean {near}?" if near else "mainspring config ls shows the settings"
    return Finding("environment", "warn", f"{name}{more} is read by nobody", hint)


async def _examine(options: Options) -> list[Finding]:
    try:
        layers = options.layers()
        settings = layers.settings()
    except MainspringError as error:
        return [Finding("config", "fail", error.message, error.hint)]
    files = [file.place for file in (layers.project, layers.user) if file is not None]
    places = ", ".join(files) if files else "no file; defaults and environment"
    found = Finding("config", "ok", places)
    if is_rest(settings.store_url):
        return [found, *await examine_server(settings)]
    facts: Facts = await gather(settings)
    return [found, *judge(facts)]


def _people(options: Options, findings: list[Finding]) -> None:
    color = options.colors_data
    for found in findings:
        status = styled(f"{found.status:<4}", _STYLES[found.status], color=color)
        out(f" {status}  {found.check:<13}{printable(found.what)}")
        if found.next and found.status in ("warn", "fail"):
            out(" " * _WHAT_COLUMN + f" next: {printable(found.next)}")
    warned = sum(found.status == "warn" for found in findings)
    failed = sum(found.status == "fail" for found in findings)
    skipped = sum(found.status == "skip" for found in findings)
    done = f"{count_of(len(findings) - skipped, 'check')}"
    out("")
    if warned or failed:
        tell(f"{done}: {count_of(warned, 'warning')}, {count_of(failed, 'failure')}")
    else:
        tell(f"{done}, nothing found")

"""``mainspring version`` and ``mainspring help``: what this is, and what its answers mean."""

import platform
from typing import Final

import msgspec
from cyclopts import App

from mainspring import __version__
from mainspring.cli.options import COMMANDS, Given
from mainspring.cli.output import out, show_list, show_one
from mainspring.cli.tables import Column
from mainspring.cli.trouble import EXIT_CODES
from mainspring.domain.errors import MainspringError, all_errors

help_app: Final = App(name="help", help="Explain exit codes and errors.", group_commands=COMMANDS)


def version(*, options: Given) -> None:
    """Print the version, and what it runs on."""
    record = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }
    show_one(
        options,
        record,
        name=__version__,
        people=lambda: out(
            f"mainspring {__version__}  (Python {record['python']}, {record['platform']})"
        ),
    )


class ExitCode(msgspec.Struct, frozen=True):
    """One exit status and what it means."""

    status: int
    meaning: str


@help_app.command(name="exit-codes")
def exit_codes(*, options: Given) -> None:
    """Print every exit status and what it means."""
    show_list(
        options,
        [ExitCode(status, meaning) for status, meaning in EXIT_CODES.items()],
        columns=[
            Column("STATUS", lambda row: str(row.status), right=True),
            Column("MEANING", lambda row: row.meaning),
        ],
        record=msgspec.structs.asdict,
        name=lambda row: str(row.status),
        empty="",
    )


@help_app.command
def errors(*, options: Given) -> None:
    """Print every error code, its exit status, and what to do."""
    show_list(
        options,
        sorted(all_errors(), key=lambda known: (known.exit_code, known.code)),
        columns=[
            Column("CODE", lambda known: known.code),
            Column("EXIT", lambda known: str(known.exit_code), right=True),
            Column("HTTP", lambda known: str(known.http_status), wide=True),
            Column("GRPC", lambda known: known.grpc_status, wide=True),
            Column("MEANING", meaning, shrinks=True),
            Column("NEXT", lambda known: known.default_hint, from_width=120, shrinks=True),
        ],
        record=lambda known: {
            "code": known.code,
            "exit_code": known.exit_code,
            "http_status": known.http_status,
            "grpc_status": known.grpc_status,
            "meaning": meaning(known),
            "hint": known.default_hint,
        },
        name=lambda known: known.code,
        empty="",
    )


def meaning(known: type[MainspringError]) -> str:
    """Return what an error means: the first line of its words."""
    return (known.__doc__ or "").strip().partition("\n")[0]

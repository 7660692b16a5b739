"""Write the generated pages of docs/reference from the code, or check that they are up to date.

Run in the environment: `.venv/bin/python tools/reference.py [--check]`.
"""

import inspect
import json
import re
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mainspring.cli.root import app as cli  # noqa: E402 - the path comes first
from mainspring.cli.trouble import EXIT_CODES  # noqa: E402
from mainspring.domain.errors import all_errors  # noqa: E402
from mainspring.domain.limits import LIMITS  # noqa: E402
from mainspring.domain.search.fields import FIELDS  # noqa: E402
from mainspring.runtime.setting_table import TABLE  # noqa: E402
from mainspring.server.http.openapi import document  # noqa: E402
from mainspring.server.http.routes import TABLE as ROUTES  # noqa: E402

FOLDER = ROOT / "docs/reference"
NOTE = "<!-- Written by tools/reference.py from the code; edit the code instead. -->"
LINE_CHARACTERS = 120
CLI_INTRODUCTION = """\
`mainspring COMMAND [OPTIONS]`. `--help` after any command prints what is below. Data goes to
stdout, everything else to stderr; [](exit-codes.md) lists what a command may end with."""
ERRORS_INTRODUCTION = """\
Every error has a stable code, says what is wrong, and what to do next. The table is the one way
from a code to an exit status, an HTTP status and a gRPC status. `mainspring help errors` prints
it."""
SETTINGS_INTRODUCTION = """\
Where a setting may be said, the strongest first:

1. a flag of the command line (`--store`, `--blobs`);
2. a profile named by `--profile`;
3. the environment (`MAINSPRING_*`);
4. a profile named by `MAINSPRING_PROFILE`;
5. the project: the nearest `mainspring.toml`, or `pyproject.toml` with `[tool.mainspring]`, from
   the current folder upwards; paths in it are relative to it;
6. the user: `~/.config/mainspring/config.toml` (`$XDG_CONFIG_HOME` moves it), which may also
   hold profiles as tables `[profiles.NAME]`;
7. the default.

A name that is none is refused with a suggestion. `mainspring config ls` shows every value with its
place, `mainspring config explain NAME` every place that says something about one. Passwords are
never shown."""
REST_INTRODUCTION = """\
Made from the route table, as is the OpenAPI document: `GET /api/v1/openapi.json`, the same as
`docs/reference/openapi.json`. A route asks for the right that stands beside it; keys have rights
by their scopes."""
SEARCH_INTRODUCTION = """\
One language finds jobs everywhere: `ClientGateway.find`, and actions on all that it finds.

    state:failed kind:email.* created:<1h -queue:bulk error:"timed out"

A space means *and*, a comma means *or*, `-` means *not*, and parentheses group, two levels deep:
`(state:dead queue:mail),(state:ready wait:>5m)`. A comma inside a field lists its values:
`state:dead,cancelled`. Text without a field is an id, the beginning of one, or the beginning of a
kind. What has spaces, commas or brackets stands in quotes. The [limits](limits.md) bound a search;
an error says at which character it is and what was meant."""
SEARCH_VALUES = """\
## Values

- **Text**: `kind:email.send`, or its beginning: `kind:email.*`. In quotes a star is a star.
- **Numbers**: `attempt:3`, `attempt:>=3`, `attempt:2..5`. So are members of a payload that are
  numbers: `args.amount:>100`. Payloads that lie in the object store are not looked into.
- **Spans of time**: `wait:>5m`, `ran:1s..1h30m`, with `ms s m h d w`.
- **Instants**: `created:<1h` (less than an hour ago), `finished:2026-11-01` (that day, in UTC),
  `finished:2026-11-01..2026-11-02` (both days whole), `created:>=2026-11-01T09:00+01:00`.

`run`, `tag` and `meta` are promised words: there is nothing yet that they could find.

## Pages and operations

A page of a search is never slow: it ends when it is full, or when `find_jobs_max` jobs were looked
at, and its cursor goes on from there. States, exact kinds, queues and groups, one tenant, ids, and
windows of `created` and `finished` are looked for by the store itself; the more of them a search
has, the fewer jobs have to be looked at.

An operation (`replay`, `purge`, `retry`, `cancel`) on a search is previewed first: how many jobs,
in which states, and the newest five. The preview's instant freezes the set: jobs that were
submitted, or ended, after it are left out when it is carried out, oldest first, in batches, no
faster than the rate that was asked for. One call changes at most `bulk_jobs_max` jobs; `capped`
says that there may be more."""
PARAMETERS = re.compile(r"^Parameters\n-+\n", re.MULTILINE)


def compact_json(value: Any, depth: int = 0) -> str:
    """Return JSON text in which whatever fits a line is on one, so that large files stay small."""
    line = json.dumps(value, ensure_ascii=False)
    if depth + len(line) <= LINE_CHARACTERS or not value or not isinstance(value, dict | list):
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {compact_json(value[name], depth + 1)}" for name in value]
        opening, closing = "{}"
    else:
        parts = [compact_json(each, depth + 1) for each in value]
        opening, closing = "[]"
    space = " " * (depth + 1)
    body = ",\n".join(space + part for part in parts)
    return f"{opening}\n{body}\n{' ' * depth}{closing}"


def main() -> int:
    """Write the pages; with --check only compare, and fail when one differs."""
    pages = {
        "cli.md": cli_page(),
        "exit-codes.md": exit_codes_page(),
        "errors.md": errors_page(),
        "settings.md": settings_page(),
        "limits.md": limits_page(),
        "search.md": search_page(),
        "rest.md": rest_page(),
        "openapi.json": compact_json(document(ROUTES)) + "\n",
    }
    stale = [name for name, text in pages.items() if read(FOLDER / name) != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/reference/{name} is out of date: run tools/reference.py")
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(pages[name], encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    return 0


def read(path: Path) -> str:
    """The text of a page, or nothing."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def page(title: str, *parts: str) -> str:
    """A page of these parts."""
    return "\n\n".join([f"# {title}", NOTE, *parts]) + "\n"


def table(*rows: tuple[str, ...]) -> str:
    """A Markdown table, its header first."""
    header, *rest = rows
    lines = [header, tuple("---" for _ in header), *rest]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- the search language -------------------------------------------------------


def search_page() -> str:
    """Every field of the search language."""
    rows = [(f"`{name}:`", field.doc) for name, field in FIELDS.items()]
    return page("Search", SEARCH_INTRODUCTION, table(("field", "meaning"), *rows), SEARCH_VALUES)


# --- the command line ---------------------------------------------------------


def cli_page() -> str:
    """Every command with its arguments and options."""
    parts = [
        CLI_INTRODUCTION,
        "## Everywhere\n\nThese options may stand before or after the command.",
        parameters_of(cli.meta),
    ]
    for words, command in commands(cli, ()):
        parts += [f"## {' '.join(words)}", *command_parts(words, command)]
    return page("Command line", *parts)


def commands(app: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, by its words."""
    for name in sorted(app):
        if name.startswith("-"):
            continue
        command = app[name]
        if command.default_command is not None:
            yield (*words, name), command
        yield from commands(command, (*words, name))


def command_parts(words: tuple[str, ...], command: Any) -> list[str]:
    """What it does, how it is written, and what it takes."""
    text = inspect.getdoc(command.default_command) or ""
    about = PARAMETERS.split(text)[0].strip()
    arguments = [argument for argument in collected(command) if is_positional(argument)]
    usage = ["mainspring", *words, *(shown_positional(argument) for argument in arguments)]
    if len(arguments) < len(collected(command)):
        usage.append("[OPTIONS]")
    parts = [about, f"```text\n{' '.join(usage)}\n```"]
    if collected(command):
        parts.append(parameters_of(command))
    return parts


def collected(command: Any) -> list[Any]:
    """The arguments and options that a user may give."""
    return [
        item for item in command.assemble_argument_collection(parse_docstring=True) if item.show
    ]


def is_positional(argument: Any) -> bool:
    """Whether it is given by its place."""
    return not argument.names[0].startswith("-")


def shown_positional(argument: Any) -> str:
    """`KIND`, `[PAYLOAD...]`."""
    name = argument.names[0].upper()
    if argument.field_info.kind is inspect.Parameter.VAR_POSITIONAL:
        name += "..."
    return name if argument.required else f"[{name}]"


def parameters_of(command: Any) -> str:
    """A table of what a command takes."""
    meanings = described(command.default_command)
    rows = [("what", "meaning", "default")]
    for argument in collected(command):
        names = ", ".join(f"`{name}`" for name in argument.names if not name.startswith("--no-"))
        # Options that commands share have their words where they are declared.
        words = meanings.get(argument.field_info.name) or argument.parameter.help
        assert words, f"{argument.names} of {command.name} has no words"
        meaning = words + choices_of(argument)
        rows.append((names, meaning, default_of(argument)))
    return table(*rows)


def described(function: Any) -> dict[str, str]:
    """The words for each parameter in a function's docstring."""
    _, _, text = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            name = line.strip()
        elif line.strip():
            found.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines) for name, lines in found.items()}


def choices_of(argument: Any) -> str:
    """What it may be, where that is a list."""
    if typing.get_origin(argument.hint) is not typing.Literal:
        return ""
    return " One of " + ", ".join(f"`{choice}`" for choice in typing.get_args(argument.hint)) + "."


def default_of(argument: Any) -> str:
    """The default as a user would write it; nothing where there is none."""
    value = argument.field_info.default
    if argument.required or value in (None, (), "", False, inspect.Parameter.empty):
        return ""
    if value is True:
        return f"on; `--no-{argument.names[0].removeprefix('--')}` turns it off"
    return f"`{value}`"


# --- the tables ---------------------------------------------------------------


def exit_codes_page() -> str:
    """Every exit status."""
    rows = [(str(status), meaning) for status, meaning in EXIT_CODES.items()]
    return page(
        "Exit codes",
        "Stable: a script may rely on them. `mainspring help exit-codes` prints the same.",
        table(("status", "meaning"), *rows),
    )


def errors_page() -> str:
    """Every error code."""
    rows = []
    for known in sorted(all_errors(), key=lambda found: found.code):
        # Errors of the product; a script or plugin may have brought more.
        if known.__module__.startswith("mainspring.domain.errors."):
            meaning = (known.__doc__ or "").strip().partition("\n")[0]
            numbers = (str(known.exit_code), str(known.http_status), known.grpc_status)
            rows.append((f"`{known.code}`", *numbers, meaning, known.default_hint))
    return page(
        "Errors",
        ERRORS_INTRODUCTION,
        table(("code", "exit", "HTTP", "gRPC", "meaning", "next, unless it says better"), *rows),
    )


def settings_page() -> str:
    """Every setting."""
    rows = [
        (
            f"`{row.key}`",
            f"`{row.environment}`",
            row.default,
            row.meaning.replace("|", "\\|"),
            f"`{row.name}`",
        )
        for row in TABLE
    ]
    return page(
        "Settings",
        SETTINGS_INTRODUCTION,
        table(("setting", "environment", "default", "meaning", "in the code"), *rows),
    )


def rest_page() -> str:
    """Every route."""
    sections = []
    for tag in sorted({route.tag for route in ROUTES.routes}):
        routes = [route for route in ROUTES.routes if route.tag == tag]
        rows = [
            (
                f"`{route.method} {route.path}`",
                f"`{route.right}`" if route.right else "public",
                route.summary,
            )
            for route in sorted(routes, key=lambda each: (each.path, each.method))
        ]
        sections += [f"## {tag}", table(("route", "right", "what for"), *rows)]
    return page("REST", REST_INTRODUCTION, *sections)


def limits_page() -> str:
    """Every limit."""
    rows = [(f"`{limit.name}`", f"{limit.default:,}", limit.why) for limit in LIMITS.values()]
    return page(
        "Limits",
        "Everything has a limit. The unit is the last word of the name before `max`.",
        table(("limit", "default", "what it bounds"), *rows),
    )


if __name__ == "__main__":
    sys.exit(main())

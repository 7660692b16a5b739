"""The root of the command tree: global options, lazy groups, and the end of every error."""

import asyncio
import contextlib
import difflib
import inspect
import io
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Final

from cyclopts import (
    App,
    CycloptsError,
    Group,
    Parameter,
    UnknownCommandError,
    UnknownOptionError,
)

from mainspring import __version__
from mainspring.cli.options import Color, Format, Options, without_password
from mainspring.cli.picking import check_choice
from mainspring.cli.trouble import (
    INTERRUPTED,
    READER_GONE,
    from_usage,
    show_error,
    unexpected,
)
from mainspring.domain.errors import MainspringError, StoreNotMigrated, UnknownOption

_WORK: Final = Group("Work", sort_key=1)
_LOOK: Final = Group("Look and act", sort_key=2)
_OPERATE: Final = Group("Operate", sort_key=3)
_GLOBAL: Final = Group("Everywhere", sort_key=99)


_NOTHING: Final = (None, False, (), "")


def _worth_showing(value: object) -> str | None:
    """Return a default for --help; what is off or empty needs no word."""
    return None if value in _NOTHING else str(value)


app: Final = App(
    name="mainspring",
    help=(
        "Distributed job scheduler: work is submitted, and run by workers that may crash.\n\n"
        "First time here?  mainspring init hello && cd hello && mainspring dev"
    ),
    version=__version__,
    # Plain: the others bring a Markdown reader, which costs more than the whole of --version.
    help_format="plaintext",
    default_parameter=Parameter(show_default=_worth_showing),
    group_commands=Group("About", sort_key=90),
)
_SUBMIT_EXAMPLES: Final = """Examples:

mainspring submit greet name=Ada --wait

mainspring submit resize width:=640 tags:='["a","b"]' --delay 15m

cat order.json | mainspring submit charge --json - --key order-17"""
_RUN_EXAMPLES: Final = """Examples:

mainspring run greet name=Ada

mainspring run shop:app charge order:=13 --pdb"""
_INIT_EXAMPLES: Final = """Example:

mainspring init hello && cd hello && mainspring dev"""
_DEPLOY_EXAMPLES: Final = """Examples:

mainspring deploy shop:app --dry-run

mainspring deploy shop:app --prune

mainspring deploy --check || echo 'the store differs from the code'"""
_COMPLETION_EXAMPLES: Final = """Examples:

mainspring completion bash > ~/.local/share/bash-completion/completions/mainspring

mainspring completion zsh > ~/.zfunc/_mainspring

mainspring completion fish > ~/.config/fish/completions/mainspring.fish"""
_DEV_EXAMPLES: Final = """Examples:

mainspring dev --tour

mainspring dev shop:app --store sqlite:///shop.db"""

# Each line is one command: its module is imported when it is called, and not before.
for _target, _name, _help, _group in (
    ("worker:app", "worker", "Run workers.", _WORK),
    ("server:app", "server", "Serve REST and gRPC.", _WORK),
    ("scheduler:app", "scheduler", "Fire schedules without running jobs.", _WORK),
    ("jobs:app", "jobs", "Look at jobs; watch, retry and cancel them.", _LOOK),
    ("dlq:app", "dlq", "Look at dead letters; replay, discard or export them.", _LOOK),
    (
        "schedules:app",
        "schedules",
        "Create schedules, look at them and their ledger, and change them.",
        _LOOK,
    ),
    (
        "operations:app",
        "operations",
        "Look at bulk actions; pause, resume and abort them.",
        _LOOK,
    ),
    ("queues:app", "queues", "Look at queues; pause and resume them.", _LOOK),
    ("calendars:app", "calendars", "Look at calendars; create, change and delete them.", _LOOK),
    (
        "webhooks:app",
        "webhooks",
        "Tell other systems what becomes of jobs and schedules.",
        _OPERATE,
    ),
    ("cron:app", "cron", "Explain rules of schedules, offline.", _LOOK),
    ("workers:app", "workers", "Look at workers; drain them.", _LOOK),
    ("handlers:app", "handlers", "Look at the kinds that workers have declared.", _LOOK),
    ("api_keys:app", "keys", "Make API keys; look at them, rotate and end them.", _OPERATE),
    (
        "tenants:app",
        "tenants",
        "Look at tenants; register, suspend and resume them.",
        _OPERATE,
    ),
    ("audit:app", "audit", "Look at who did what, and when.", _OPERATE),
    ("db:app", "db", "Create, update and check the store's tables.", _OPERATE),
    ("config:app", "config", "Look at settings and where they come from.", _OPERATE),
    ("about:version", "version", "Print the version, and what it runs on.", None),
    ("about:help_app", "help", "Explain exit codes and errors.", None),
):
    app.command(f"mainspring.cli.{_target}", name=_name, help=_help, group=_group)
for _name, _help, _group, _examples in (
    ("init", "Write a starter project.", _WORK, _INIT_EXAMPLES),
    ("dev", "Run everything here, on SQLite, and show what happens.", _WORK, _DEV_EXAMPLES),
    (
        "submit",
        "Submit a job and print its id; wait for its end if asked to.",
        _WORK,
        _SUBMIT_EXAMPLES,
    ),
    ("run", "Run a handler here, in this process, without a store.", _WORK, _RUN_EXAMPLES),
    (
        "deploy",
        "Bring an app's schedules and calendars into the store.",
        _OPERATE,
        _DEPLOY_EXAMPLES,
    ),
    ("doctor", "Check settings, store, workers, schedules and this machine.", _OPERATE, ""),
    (
        "completion",
        "Print what makes a shell complete commands and options.",
        None,
        _COMPLETION_EXAMPLES,
    ),
):
    app.command(
        f"mainspring.cli.{_name}:{_name}",
        name=_name,
        help=_help,
        group=_group,
        help_epilogue=_examples,
    )

_EVERYWHERE: Final = (
    "--store",
    "--blobs",
    "--profile",
    "--output",
    "--columns",
    "--jq",
    "--color",
    "--debug",
    "--help",
    "--version",
)
Words = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]


@app.meta.default
def launch(  # noqa: PLR0913 - a command's options are its arguments
    *words: Words,
    store: Annotated[str | None, Parameter(group=_GLOBAL)] = None,
    blobs: Annotated[str | None, Parameter(group=_GLOBAL)] = None,
    profile: Annotated[str | None, Parameter(group=_GLOBAL)] = None,
    output: Annotated[Format, Parameter(name=["--output", "-o"], group=_GLOBAL)] = "table",
    columns: Annotated[tuple[str, ...], Parameter(group=_GLOBAL, negative="")] = (),
    jq: Annotated[str | None, Parameter(group=_GLOBAL)] = None,
    color: Annotated[Color, Parameter(group=_GLOBAL)] = "auto",
    debug: Annotated[bool, Parameter(group=_GLOBAL, negative="")] = False,
) -> int:
    """Read the options that every command takes, then run the command.

    Parameters
    ----------
    store
        sqlite:///FILE or postgresql://USER@HOST/DB; else $MAINSPRING_STORE, else .mainspring/dev.db
    blobs
        file:///FOLDER, s3://BUCKET/PREFIX or none; else $MAINSPRING_BLOBS, else beside the file.
    profile
        A named set of settings in ~/.config/mainspring/config.toml; else $MAINSPRING_PROFILE.
    output
        Tables are for people; the others are stable and for machines.
    columns
        Show only these, in this order: id,state. Also members of -o json.
    jq
        Send the data through this jq program; needs the package jq.
    color
        Colours; auto heeds NO_COLOR and whether somebody looks.
    debug
        Show tracebacks and details of errors.
    """
    options = Options(
        store=store,
        blobs=blobs,
        profile=profile,
        output=output,
        columns=tuple(name for given in columns for name in given.lower().split(",") if name),
        jq=jq,
        color=color,
        debug=debug,
    )
    check_choice(options)
    command, bound, to_give = app.parse_args(words, exit_on_error=False, print_error=False)
    for name in to_give:
        bound.arguments[name] = options
    answer: Any = command(*bound.args, **bound.kwargs)
    if inspect.iscoroutine(answer):
        answer = asyncio.run(answer)
    return answer if isinstance(answer, int) else 0


def run(words: Sequence[str]) -> int:
    """Run one command line; return its exit status, whatever happens."""
    debug = "--debug" in words or bool(os.environ.get("MAINSPRING_DEBUG"))
    given = _named(words, "--color")
    color: Color = "always" if given == "always" else "never" if given == "never" else "auto"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Whatever the locale, an odd character is no reason to fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more; say nothing, not even at the interpreter's end.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except MainspringError as error:
        if isinstance(error, StoreNotMigrated) and (store := _named(words, "--store")):
            error.hint = f"mainspring db migrate --store {without_password(store)}"
        show_error(error, color=color, debug=debug)
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - the border of the program
        # Whatever comes through here is told as an error of ours, never as a traceback.
        wrapped = unexpected(error)
        show_error(wrapped, color=color, debug=debug)
        return wrapped.exit_code
    return code


def _named(words: Sequence[str], option: str) -> str | None:
    """Return the value of an option, for those who cannot wait for the parser."""
    for word, following in pairwise([*words, ""]):
        if word == option and following:
            return following
        if word.startswith(f"{option}="):
            return word.removeprefix(f"{option}=")
    return None


def _run(words: Sequence[str]) -> int:
    try:
        answer = app.meta(
            words, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        raise _explain(error) from error
    return answer if isinstance(answer, int) else 0


def _explain(error: CycloptsError) -> MainspringError:
    """Translate; a typo of an option gets its suggestion, wherever the option belongs."""
    known: list[str] = []
    if isinstance(error, UnknownOptionError):
        typed = error.token.keyword or error.token.value
        known = [name for argument in error.argument_collection for name in argument.names]
    elif isinstance(error, UnknownCommandError) and (error.unused_tokens or [""])[0][:1] == "-":
        # The parser takes an unknown option in front of the command for a command.
        typed = (error.unused_tokens or [""])[0]
    else:
        return from_usage(error)
    typed = typed.partition("=")[0]
    near = difflib.get_close_matches(typed, [*known, *_EVERYWHERE], 1, 0.6)
    words = " ".join(("mainspring", *(error.command_chain or ()), "--help"))
    hint = f"did you mean {near[0]}?  ({words})" if near else words
    return UnknownOption(f"unknown option: {typed}", hint=hint)

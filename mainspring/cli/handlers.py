"""``mainspring handlers``: look at the kinds that workers have declared."""

from typing import Final

import msgspec
from cyclopts import App

from mainspring.app.durations import words
from mainspring.cli.asking import open_gateway
from mainspring.cli.options import COMMANDS, Given, Options
from mainspring.cli.output import out, show_list, show_one
from mainspring.cli.records import handler_record
from mainspring.cli.tables import Column
from mainspring.cli.text import printable, styled
from mainspring.domain.errors import NotFound
from mainspring.domain.job import HandlerInfo, Priority

app: Final = App(
    name="handlers", help="Look at the kinds that workers have declared.", group_commands=COMMANDS
)


@app.command
async def ls(*, options: Given) -> None:
    """List every kind, with its defaults."""
    async with open_gateway(options) as gateway:
        handlers = await gateway.list_handlers()
    show_list(
        options,
        handlers,
        columns=[
            Column("KIND", lambda handler: handler.kind, shrinks=True),
            Column("QUEUE", lambda handler: handler.queue),
            Column("MODE", lambda handler: handler.mode),
            Column("TRIES", lambda handler: str(handler.max_attempts), right=True),
            Column("TIMEOUT", lambda handler: words(handler.timeout_ms), right=True),
            Column("PRIORITY", lambda handler: Priority(handler.priority).name.lower(), wide=True),
            Column("ABOUT", lambda handler: handler.doc, shrinks=True),
        ],
        record=handler_record,
        name=lambda handler: handler.kind,
        empty="no worker has declared a kind yet; start one: mainspring worker start MODULE:APP",
    )


@app.command
async def get(kind: str, /, *, options: Given) -> None:
    """Show one kind with all its defaults.

    Parameters
    ----------
    kind
        The kind.
    """
    handler = await _find(kind, options)
    show_one(
        options,
        handler_record(handler),
        name=handler.kind,
        people=lambda: _people(options, handler),
    )


@app.command
async def schema(kind: str, /, *, options: Given) -> None:
    """Print the JSON Schema of what a kind takes.

    Parameters
    ----------
    kind
        The kind.
    """
    handler = await _find(kind, options)
    indent = -1 if options.output == "jsonl" else 2
    out(msgspec.json.format(handler.schema, indent=indent))


async def _find(kind: str, options: Options) -> HandlerInfo:
    async with open_gateway(options) as gateway:
        handlers = {handler.kind: handler for handler in await gateway.list_handlers()}
    if kind in handlers:
        return handlers[kind]
    import difflib

    near = difflib.get_close_matches(kind, handlers, 1, 0.6)
    hint = f"did you mean {near[0]}?" if near else "mainspring handlers ls shows what there is"
    raise NotFound(f"no worker has declared the kind {kind!r}", hint=hint)


def _people(options: Options, handler: HandlerInfo) -> None:
    color = options.colors_data
    backoff = handler.backoff
    out(styled(printable(handler.kind), "bold", color=color) + f"  {printable(handler.doc)}\n")
    retry = "as usual"
    if backoff is not None:
        retry = f"after {words(backoff.initial_ms)}, then x{backoff.factor:g} each"
        retry += f", at most {words(backoff.cap_ms)}, jitter "
        retry += "full" if backoff.full_jitter else f"{backoff.jitter:g}"
    for name, value in (
        ("queue", handler.queue),
        ("priority", Priority(handler.priority).name.lower()),
        ("mode", handler.mode),
        ("tries", f"{handler.max_attempts}, and {handler.max_crashes} crashes"),
        ("retries", retry),
        ("timeout", words(handler.timeout_ms)),
        ("exhausted", f"submits {handler.on_exhausted}" if handler.on_exhausted else "-"),
    ):
        out(f"  {styled(f'{name:<10}', 'dim', color=color)}{value}")
    out(f"\nschema: mainspring handlers schema {handler.kind}")

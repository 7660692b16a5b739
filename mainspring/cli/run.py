"""``mainspring run``: a handler here and now, in this process, without any store."""

import asyncio
import sys
import traceback
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Annotated, Any, Final

from cyclopts import Parameter

from mainspring.cli.apps import needed_app
from mainspring.cli.asking import nearest
from mainspring.cli.options import FLAG, Given, Options, wants_color
from mainspring.cli.output import out, tell
from mainspring.cli.payloads import payload_of
from mainspring.cli.text import printable, styled
from mainspring.cli.watching import bar_text, log_text
from mainspring.domain.errors import InvalidInput, JobFailed, UnknownKind
from mainspring.domain.names import check_range

_APP_ROOM: Final = "mainspring"


def run(
    *word: Annotated[str, Parameter(name="WORD", required=True)],
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    attempt: int = 1,
    pdb: Annotated[bool, FLAG] = False,
    options: Given,
) -> int:
    """Run a handler here, in this process, and print its result. No store is touched.

    breakpoint() works in the handler; what it prints appears as it is; nothing is retried.

    Parameters
    ----------
    word
        [MODULE:APP] KIND [name=text] [name:=JSON]; without an app the project's.
    json
        The whole payload as JSON: TEXT, @FILE, or - for stdin.
    attempt
        Which attempt it is to think it is.
    pdb
        Open the debugger where it fails.
    """
    from mainspring.app.loading import load_app

    check_range("attempt", attempt, 1, 10_000)
    reference, rest = _split(word)
    if not rest:
        raise InvalidInput(
            "which kind?",
            hint="mainspring run MODULE:APP KIND name=text; handlers ls has the kinds",
        )
    kind, *words = rest
    payload = payload_of(words, json, bytes_max=options.settings().payload_bytes)
    app = load_app(needed_app(reference, options, "run"))
    if kind not in app.handlers:
        near = nearest(kind, app.handlers)
        known = ", ".join(app.handlers) or "none"
        hint = f"did you mean {near}?" if near else f"known kinds: {known}"
        raise UnknownKind(f"the app {app.name} has no handler of the kind {kind!r}", hint=hint)
    handler = app.handlers[kind]
    arguments = handler.decode(payload)
    bench = _Bench(handler, arguments, attempt, options)
    try:
        value = bench.run(app.lifespan)
    except Exception as error:
        raise _told(kind, error, options, opens_debugger=pdb) from error
    result = handler.encode_result(value)
    if result is not None:
        out(result.decode())
    return 0


def _split(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """Tell the app from the kind: only the app has a colon, and no equals sign."""
    first = words[0] if words else ""
    if ":" in first and "=" not in first:
        return first, list(words[1:])
    return None, list(words)


class _Bench:
    """Runs one handler as a worker would, and shows what it tells."""

    def __init__(
        self, handler: Any, arguments: dict[str, Any], attempt: int, options: Options
    ) -> None:
        self._handler = handler
        self._arguments = arguments
        self._attempt = attempt
        self._color = wants_color(options.color, error=True)
        self._deps: object = None
        self._sequence = 0
        self._shown = ""

    def run(self, lifespan: Any) -> Any:
        """Run it: on a loop where it needs one, else plainly in this thread."""
        if self._handler.is_async or lifespan is not None:
            return asyncio.run(self._arun(lifespan))
        return self._handler.invoke(self._context, self._arguments)

    async def _arun(self, lifespan: Any) -> Any:
        if lifespan is None:
            return await self._handler.ainvoke(self._context, self._arguments)
        opened: AbstractAsyncContextManager[Any] = lifespan()
        async with opened as self._deps:
            if self._handler.is_async:
                return await self._handler.ainvoke(self._context, self._arguments)
            return await asyncio.to_thread(self._handler.invoke, self._context, self._arguments)

    def _context(self) -> Any:
        from mainspring.app.context import Context
        from mainspring.ports.clock import utc_now
        from mainspring.ports.entropy import new_job_id

        info = self._handler.info
        now = utc_now()
        self._job_id = new_job_id()
        return Context(
            job_id=self._job_id,
            attempt=self._attempt,
            kind=info.kind,
            queue=info.queue,
            tries=self._attempt,
            max_attempts=info.max_attempts,
            due_at=now,
            started_at=now,
            created_at=now,
            timeout_seconds=info.timeout_ms / 1_000,
            deps=self._deps,
            log=self._log,
            progress=self._progress,
            cancelled=lambda: False,
        )

    def _log(self, level: str, message: str, fields: dict[str, object]) -> None:
        import msgspec

        from mainspring.domain.outcome import LogLine
        from mainspring.ports.clock import utc_now

        self._sequence += 1
        text = msgspec.json.encode(fields, enc_hook=str).decode() if fields else ""
        line = LogLine(self._job_id, self._attempt, self._sequence, utc_now(), level, message, text)
        tell(log_text(line, color=self._color))

    def _progress(self, done: float, total: float | None, note: str) -> None:
        text = bar_text(done, total, note)
        if text != self._shown:
            self._shown = text
            tell(text)


def _told(kind: str, error: Exception, options: Options, *, opens_debugger: bool) -> JobFailed:
    """Show the handler's own traceback; return the error that ends the command."""
    from mainspring.app.signals import Fail, RetryAfter, Snooze

    trace = _users_part(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, trace))
    color = wants_color(options.color, error=True)
    tell(styled(printable(text.rstrip(), lines=True), "dim", color=color))
    if opens_debugger and sys.stdin is not None and sys.stdin.isatty():
        import pdb  # noqa: T100 - asked for by --pdb

        pdb.post_mortem(trace)
    after = {
        Fail: "a worker would not retry it",
        RetryAfter: "a worker would retry it after the delay it asks for",
        Snooze: "a worker would call it again later, and not count this attempt",
    }.get(type(error), "breakpoint() works here; --pdb opens the debugger where it failed")
    return JobFailed(f"{kind} failed: {type(error).__name__}: {error}", hint=after)


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames between the command and the handler."""
    own = trace
    while own is not None:
        name = own.tb_frame.f_globals.get("__name__", "")
        is_ours = name.partition(".")[0] in (_APP_ROOM, "asyncio", "concurrent", "threading")
        if not is_ours:
            return own
        own = own.tb_next
    return trace

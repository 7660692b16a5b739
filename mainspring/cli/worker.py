"""``mainspring worker``: run workers."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cyclopts import App, Parameter

from mainspring.app.durations import check_duration, milliseconds
from mainspring.cli.apps import needed_app, project_app
from mainspring.cli.asking import nearest
from mainspring.cli.options import COMMANDS, FLAG, VALUE, Given, Options
from mainspring.cli.text import count_of
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import HandlerInfo
from mainspring.domain.limits import QUEUE_CHARACTERS_MAX
from mainspring.domain.names import check_name, check_range

if TYPE_CHECKING:
    from mainspring.kinds import Kinds
    from mainspring.worker.config import WorkerConfig

_log: Final = logging.getLogger("mainspring.cli")
app: Final = App(name="worker", help="Run workers.", group_commands=COMMANDS)
DEFAULT_SLOTS: Final = 8
_SLOTS_MAX: Final = 10_000
_PROCESSES_MAX: Final = 1_024
_NAME_CHARACTERS_MAX: Final = 200
_LEASE_MS_MIN: Final = 2_000
_LEASE_MS_MAX: Final = 3_600_000


@app.command
async def start(  # noqa: PLR0913 - a command's options are its arguments
    app_reference: Annotated[str | None, Parameter(name="MODULE:APP")] = None,
    /,
    *,
    queues: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    concurrency: int = DEFAULT_SLOTS,
    processes: int = 1,
    name: str | None = None,
    drain_timeout: Annotated[str, VALUE] = "30s",
    grace: Annotated[str, VALUE] = "10s",
    lease: Annotated[str, VALUE] = "15s",
    max_jobs_per_child: int | None = None,
    log_level: str | None = None,
    maintenance: bool = True,
    scheduler: bool = True,
    http: Annotated[bool, FLAG] = False,
    http_reach: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    command: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    options: Given,
) -> int:
    """Run a worker until a signal ends it.

    SIGTERM or Ctrl-C drains: what runs may finish. A second one stops it, a third kills it.

    Parameters
    ----------
    app_reference
        The app, importable from here: shop:app is the attribute app of the module shop.
        By default the one that mainspring.toml names.
    queues
        Queues with their slots a process: mail:8,images:2; by default all that the app names.
    concurrency
        Slots a process of queues without a number.
    processes
        Child processes that run handlers.
    name
        Its name in lists; by default the app's.
    drain_timeout
        How long running handlers may finish when it is told to stop.
    grace
        How long a handler may take to stop after a timeout or a cancel.
    lease
        How long its jobs wait for it when it has vanished; it is renewed three times as often.
    max_jobs_per_child
        Replace a child process after so many jobs.
    log_level
        debug, info, warning or error.
    maintenance
        Also recover what other workers lost, and drop old history.
    scheduler
        Also fire schedules.
    http
        Also run jobs of the kind http, which call a URL; an app is not needed then.
    http_reach
        A network (10.1.0.0/16) or host that those may call although it is not public; repeatable.
    command
        Also run jobs of the kind command with this program; repeatable. An app is not needed then.
    """
    from mainspring.kinds import Kinds
    from mainspring.runtime.assemble import refuse_missing_file
    from mainspring.runtime.declared import handlers_with
    from mainspring.runtime.node import Duties, Moments, run_node
    from mainspring.telemetry.logs import set_up_logging
    from mainspring.worker.config import WorkerConfig

    settings = options.settings(log_level=log_level)
    kinds = Kinds(http=http, reachable=_reachable(http_reach, is_used=http), programs=command)
    reference = _app(app_reference, options, kinds)
    refuse_missing_file(settings)
    slots = check_range("concurrency", concurrency, 1, _SLOTS_MAX)
    wanted = queue_slots(queues, slots)
    lease_ms = _lease_ms(lease)
    if max_jobs_per_child is not None:
        check_range("max-jobs-per-child", max_jobs_per_child, 1, 1_000_000_000)
    config = WorkerConfig(
        app=reference,
        kinds=kinds,
        queues=wanted,
        processes=check_range("processes", processes, 1, _PROCESSES_MAX),
        name=_named(name, reference),
        drain_seconds=milliseconds(drain_timeout, name="drain-timeout") / 1_000,
        grace_seconds=milliseconds(grace, name="grace") / 1_000,
        lease_ms=lease_ms,
        beat_seconds=lease_ms / 3_000,
        max_jobs_per_child=max_jobs_per_child,
        log_level=settings.log_level,
    )
    handlers = await asyncio.to_thread(handlers_with, reference, kinds)
    if not wanted:
        config = msgspec.structs.replace(config, queues=queues_of(handlers, slots))
    set_up_logging(settings.log_level)
    _warn_of_queues(wanted, handlers)
    duties = Duties(maintains=maintenance, fires=scheduler)
    moments = Moments(lambda: _announce(config, len(handlers), options.shown_store), _stopping)
    code = await run_node(settings, config, duties=duties, moments=moments)
    _log.info("stopped")
    return code


def _lease_ms(text: str) -> int:
    asked = milliseconds(text, name="lease")
    return check_duration("lease", asked, _LEASE_MS_MIN, _LEASE_MS_MAX)


def _app(given: str | None, options: Options, kinds: "Kinds") -> str:
    """Return the app that was named, else the project's; a worker with kinds can do without."""
    if kinds and given is None:
        return project_app(options) or ""
    return needed_app(given, options, "worker start")


def _reachable(words: tuple[str, ...], *, is_used: bool) -> tuple[str, ...]:
    if words and not is_used:
        raise InvalidInput("http-reach: this worker makes no calls", hint="add --http")
    return words


def _named(name: str | None, reference: str) -> str:
    """Return the worker's name in lists: the one that was given, else its app's."""
    if name is None:
        return reference.partition(":")[0] or "mainspring"
    if not name.strip() or not name.isprintable() or len(name) > _NAME_CHARACTERS_MAX:
        raise InvalidInput(
            f"name: {name!r} is not a name",
            hint=f"use 1 to {_NAME_CHARACTERS_MAX} printable characters, or leave it out",
        )
    return name


def _warn_of_queues(wanted: Mapping[str, int], handlers: Sequence[HandlerInfo]) -> None:
    """Say so when a queue is served that no handler names: more often a slip than a plan."""
    known = sorted({handler.queue for handler in handlers})
    for name in wanted:
        if name not in known:
            near = nearest(name, known)
            more = f"did you mean {near}?" if near else f"it names {', '.join(known) or 'none'}"
            _log.warning("no handler of this app names the queue %r; %s", name, more)


def _stopping() -> None:
    _log.info("stopping; a second signal hurries, a third kills")


def _announce(config: "WorkerConfig", handler_count: int, store: str) -> None:
    _log.info(
        "worker %s: %s, %s, %s on %s",
        config.name,
        count_of(handler_count, "handler"),
        shown_queues(config.queues),
        count_of(config.processes, "process"),
        store,
    )


def queue_slots(words: Sequence[str], slots: int) -> dict[str, int]:
    """Read ``mail:8,images``; a queue without a number gets the usual slots."""
    found: dict[str, int] = {}
    for word in (part for given in words for part in given.split(",") if part):
        name, colon, number = word.rpartition(":")
        if not colon or not number.isdecimal():
            name, number = word, str(slots)
        check_name("queues", name, QUEUE_CHARACTERS_MAX)
        if name in found:
            raise InvalidInput(f"queues: {name!r} was given twice", hint="name each queue once")
        found[name] = check_range(f"queues: slots of {name}", int(number), 1, _SLOTS_MAX)
    return found


def queues_of(handlers: Sequence[HandlerInfo], slots: int) -> dict[str, int]:
    """Return every queue that these handlers name, each with the usual slots."""
    return dict.fromkeys(sorted({handler.queue for handler in handlers}) or ["default"], slots)


def shown_queues(queues: Mapping[str, int]) -> str:
    """Return ``queues default:8, mail:2``."""
    noun = "queue" if len(queues) == 1 else "queues"
    return f"{noun} " + ", ".join(f"{name}:{slots}" for name, slots in queues.items())

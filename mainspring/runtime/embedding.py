"""From an app and options to an embedded worker: what to run, and where, on a ready store."""

import asyncio
import difflib
import sys
from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from typing import Final, TypedDict

from mainspring.app.declare import App
from mainspring.app.durations import milliseconds
from mainspring.domain.errors import AppNotLoaded, InvalidInput, UnknownOption
from mainspring.domain.limits import QUEUE_CHARACTERS_MAX
from mainspring.domain.names import check_flag, check_name, check_range
from mainspring.runtime.embedded import EmbeddedWorker
from mainspring.runtime.prepare import prepare_store
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import read_settings, sqlite_path
from mainspring.worker.config import DEFAULT_SLOTS, WorkerConfig

_SLOTS_MAX: Final = 10_000
_PROCESSES_MAX: Final = 1_024
_DRAIN: Final = "10s"


class EmbedOptions(TypedDict, total=False):
    """How an embedded worker runs."""

    #: ``module:attribute`` of the app; found by itself unless the app lives in ``__main__``.
    reference: str
    #: Queues with their slots a process; by default all that the app names, each with ``slots``.
    queues: Mapping[str, int]
    slots: int
    #: Child processes that run handlers.
    processes: int
    #: How long running handlers may finish when the server ends.
    drain: str | timedelta
    #: One worker for all server processes of this machine; else one for each.
    shared: bool
    #: Create or update the store's tables first. By default only those of a SQLite file.
    migrate: bool
    blobs: str


def prepared_worker(
    app: App, url: str | None, options: EmbedOptions
) -> tuple[EmbeddedWorker, Settings]:
    """Return a worker that has not started, and the settings of its store, which is ready."""
    for name in options:
        if name not in EmbedOptions.__annotations__:
            near = difflib.get_close_matches(name, EmbedOptions.__annotations__, 1)
            raise UnknownOption(
                f"embedded: there is no option {name!r}",
                hint=f"did you mean {near[0]!r}?" if near else "see EmbedOptions",
            )
    config = _config(app, options)
    settings = read_settings(store=url, blobs=options.get("blobs"))
    shared = check_flag("shared", options.get("shared", True))
    is_file = sqlite_path(settings.store_url) is not None
    if check_flag("migrate", options.get("migrate", is_file)):
        asyncio.run(prepare_store(settings))
    return EmbeddedWorker(settings, config, shared=shared), settings


def _config(app: App, options: EmbedOptions) -> WorkerConfig:
    slots = check_range("slots", options.get("slots", DEFAULT_SLOTS), 1, _SLOTS_MAX)
    named = sorted({handler.info.queue for handler in app.handlers.values()})
    given: object = options.get("queues", dict.fromkeys(named or ["default"], slots))
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(
            f"queues: {given!r} is no mapping of queues to slots", hint='write {"mail": 8}'
        )
    queues = dict(given)
    for name, count in queues.items():
        check_name("queues", name, QUEUE_CHARACTERS_MAX)
        check_range(f"queues: slots of {name}", count, 1, _SLOTS_MAX)
    return WorkerConfig(
        app=_findable(options["reference"]) if "reference" in options else reference_of(app),
        queues=queues,
        processes=check_range("processes", options.get("processes", 1), 1, _PROCESSES_MAX),
        name=f"{app.name} (embedded)",
        drain_seconds=milliseconds(options.get("drain", _DRAIN), name="drain") / 1_000,
        log_level="info",
    )


def _findable(reference: object) -> str:
    """Return a reference whose module is there: the worker that imports it has nobody to tell."""
    if not isinstance(reference, str):
        raise InvalidInput(f"reference: {reference!r} is no text", hint='write "shop:app"')
    try:
        found = find_spec(reference.partition(":")[0])
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise AppNotLoaded(
            f"reference: there is no module for {reference!r}",
            hint="write MODULE:ATTRIBUTE, as this process imports it",
        )
    return reference


def reference_of(app: App) -> str:
    """Return ``module:attribute`` of an app, as another process can import it."""
    modules = dict.fromkeys(handler.function.__module__ for handler in app.handlers.values())
    for module in (*modules, *sys.modules):
        if module == "__main__":
            continue
        for name, value in list(vars(sys.modules.get(module, object)).items()):
            if value is app:
                return f"{module}:{name}"
    raise AppNotLoaded(
        f"no module that another process can import holds the app {app.name!r}",
        hint='move it out of __main__, or say where it is: embedded(reference="shop:app")',
    )

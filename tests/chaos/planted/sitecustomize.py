"""Plants bugs into every Python process that is started with this folder on its path.

The product has no switch for this: the text of a statement is changed as it is loaded. A run with a
planted bug must be caught by the checker, or the checker proves nothing.
"""

import importlib.abc
import importlib.machinery
import json
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

_BUGS: Final = frozenset(os.environ.get("MAINSPRING_PLANTED_BUGS", "").split(",")) - {""}


#: The statements that end attempts; those about members of operations have no fence to lose.
_SETTLING: Final = frozenset({"settle_again", "settle_final", "settle_succeeded"})
_FENCE: Final = re.compile(r"AND (job|given)\.attempt = (given|job|:)\.?attempt")
_HELD: Final = re.compile(r"AND job\.worker_id IS NOT null", re.IGNORECASE)
_DUE: Final = "AND held.deadline_at < coalesce(:at::timestamptz, statement_timestamp())"
_OLD: Final = "AND held.started_at < statement_timestamp() - interval '300 ms'"


def _without(pattern: re.Pattern[str], text: str) -> str:
    changed, count = pattern.subn("", text)
    assert count, "the statement has changed: plant the bug anew"
    return changed


def _without_fence(name: str, text: str) -> str:
    """Finish by id, whatever attempt it names, as long as somebody runs the job."""
    return _without(_FENCE, text) if name in _SETTLING else text


def _by_id_only(name: str, text: str) -> str:
    """Finish by id alone, even when nobody runs the job."""
    return _without(_HELD, _without_fence(name, text)) if name in _SETTLING else text


def _by_age(name: str, text: str) -> str:
    """Take a job for lost when it has run for a while, however alive its worker is."""
    if name != "expired":
        return text
    assert _DUE in text, "the statement has changed: plant the bug anew"
    return text.replace(_DUE, _OLD).replace("'deadline'", "'session'")


_IN_STATEMENTS: Final[dict[str, Callable[[str, str], str]]] = {
    "no_fence": _without_fence,
    "by_id_only": _by_id_only,
    "by_age": _by_age,
}


def _change_statements(module: ModuleType) -> None:
    """Change the text of statements as they are loaded."""
    plain = module.source

    def source(package: str, name: str) -> str:
        text: str = plain(package, name)
        for bug in _BUGS & _IN_STATEMENTS.keys():
            text = _IN_STATEMENTS[bug](name, text)
        return text

    module.source = source  # type: ignore[attr-defined]  # that is the planting


def _change_vitals(module: ModuleType) -> None:
    """Make children deaf to the end of their lease, as one is that hangs for a moment."""
    if "deaf" in _BUGS:
        module.Vitals.lease_until = property(lambda _self: math.inf, lambda _self, _value: None)


def _change_gateway(module: ModuleType) -> None:
    """Let deaf children not hear that their attempts were taken from them."""
    if "deaf" not in _BUGS:
        return
    plain = module.LocalGateway.pulse

    async def pulse(self: object, *args: object) -> object:
        answer = await plain(self, *args)
        return type(answer)(cancelling=(), lost=())

    module.LocalGateway.pulse = pulse
    _note_reports(module)


def _note_reports(module: ModuleType) -> None:
    """Write down which reports the store has answered: only then a zombie has done its worst."""
    from mainspring.domain.ids import show_job

    told = module.LocalGateway.report

    async def report(self: object, reports: Sequence[Any]) -> object:
        answers = await told(self, reports)
        with open(os.environ["CHAOS_EFFECTS"], "ab", buffering=0) as log:  # noqa: ASYNC230, PTH123
            for item in reports:
                line = {"event": "reported", "job": show_job(item.job_id), "attempt": item.attempt}
                log.write(json.dumps(line | {"pid": os.getpid()}).encode() + b"\n")
        return answers

    module.LocalGateway.report = report


_CHANGES: Final[dict[str, Callable[[ModuleType], None]]] = {
    "mainspring.store.statements": _change_statements,
    "mainspring.worker.vitals": _change_vitals,
    "mainspring.dispatcher.gateway": _change_gateway,
}


class _Planter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets a module load as it is, then changes it."""

    def __init__(self) -> None:
        self._found: dict[str, importlib.machinery.ModuleSpec] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _CHANGES:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert found is not None
        self._found[fullname] = found
        return importlib.machinery.ModuleSpec(fullname, self, origin=found.origin)

    def exec_module(self, module: ModuleType) -> None:
        loader = self._found[module.__name__].loader
        assert loader is not None
        loader.exec_module(module)
        _CHANGES[module.__name__](module)


if _BUGS:
    sys.meta_path.insert(0, _Planter())

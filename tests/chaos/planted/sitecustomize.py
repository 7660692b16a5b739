"""Plants one bug into every Python process that is started with this folder on its path.

The product has no switch for this: the text of a statement is changed as it is loaded. A run with a
planted bug must be caught by the checker, or the checker proves nothing.
"""

import importlib.abc
import importlib.machinery
import os
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Final

_BUG: Final = os.environ.get("MAINSPRING_PLANTED_BUG", "")
_STATEMENTS: Final = "mainspring.store.statements"


def _without_fence(name: str, text: str) -> str:
    """Finish by id, whatever attempt it names, as long as somebody runs the job."""
    if not name.startswith("settle_"):
        return text
    changed = re.sub(r"AND job\.attempt = (given\.attempt|:attempt)", "", text)
    return changed.replace("AND given.attempt = job.attempt", "")


def _by_id_only(name: str, text: str) -> str:
    """Finish by id alone, even when nobody runs the job."""
    changed = _without_fence(name, text)
    if not name.startswith("settle_"):
        return changed
    return re.sub(r"AND job\.worker_id IS NOT (null|NULL)", "", changed)


def _by_age(name: str, text: str) -> str:
    """Take a job for lost when it has run for a while, however alive its worker is."""
    if name != "expired":
        return text
    postgres = "(job.started_at < statement_timestamp() - interval '300 ms' OR sessions.ended)"
    changed = re.sub(
        r"\(\s*job\.deadline_at < coalesce\(:at::timestamptz, statement_timestamp\(\)\)\s*"
        r"OR sessions\.ended\s*\)",
        postgres,
        text,
    )
    # What is not yet over must not be told by its deadline, but as lost.
    return changed.replace(
        "CASE WHEN sessions.ended THEN 'session' ELSE 'deadline' END", "'session'"
    )


_BUGS: Final[dict[str, Callable[[str, str], str]]] = {
    "no_fence": _without_fence,
    "by_id_only": _by_id_only,
    "by_age": _by_age,
}


class _Planter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets the statements module load as it is, then wraps its ``source``."""

    def __init__(self, change: Callable[[str, str], str]) -> None:
        self._change = change
        self._found: importlib.machinery.ModuleSpec | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _STATEMENTS:
            return None
        sys.meta_path.remove(self)
        self._found = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert self._found is not None
        return importlib.machinery.ModuleSpec(fullname, self, origin=self._found.origin)

    def exec_module(self, module: ModuleType) -> None:
        assert self._found is not None
        assert self._found.loader is not None
        self._found.loader.exec_module(module)
        plain = module.source

        def source(package: str, name: str) -> str:
            return self._change(name, plain(package, name))

        module.source = source  # type: ignore[attr-defined]  # that is the planting


if _BUG:
    sys.meta_path.insert(0, _Planter(_BUGS[_BUG]))

"""Which servers a test session really used, so that nobody takes a skipped one for tested."""

import json
import threading
from enum import StrEnum
from pathlib import Path

_NOT_ASKED = "no test asked for it"


class Use(StrEnum):
    """What became of a component in this session."""

    EXERCISED = "exercised"
    LEFT_OUT = "left out"
    FAILED = "failed"


class Report:
    """Component -> used or not, and how or why. Threads may share it.

    For example:

        report = Report(COMPONENTS)
        report.note("s3", Use.EXERCISED, "SeaweedFS")
        report.write(root / ".cache" / "servers-report.json")
    """

    def __init__(self, components: tuple[str, ...]) -> None:
        self._guard = threading.Lock()
        self._notes: dict[str, dict[Use, list[str]]] = {name: {} for name in components}

    def note(self, component: str, use: Use, detail: str) -> None:
        """Remember; the same note twice counts once."""
        with self._guard:
            details = self._notes.setdefault(component, {}).setdefault(use, [])
            if detail not in details:
                details.append(detail)

    def entries(self) -> dict[str, dict[str, str]]:
        """Component -> {"use": ..., "detail": ...}; a failure counts more than a success."""
        with self._guard:
            return {name: _summary(notes) for name, notes in self._notes.items()}

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"{name:<12} {entry['use']:<10} {entry['detail']}"
            for name, entry in self.entries().items()
        ]

    def write(self, path: Path) -> None:
        """As JSON, at once and whole, so that a reader never sees half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.write_text(json.dumps(self.entries(), indent=2) + "\n", encoding="utf-8")
        unfinished.replace(path)


def _summary(notes: dict[Use, list[str]]) -> dict[str, str]:
    for use in (Use.FAILED, Use.EXERCISED, Use.LEFT_OUT):
        if use in notes:
            return {"use": use.value, "detail": "; ".join(notes[use])}
    return {"use": Use.LEFT_OUT.value, "detail": _NOT_ASKED}

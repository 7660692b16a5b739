"""The file itself: its version, its write-ahead log, and whether it is whole: ``HealthStore``."""

from pathlib import Path

from mainspring.ports.store import Diagnosis
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Unit


class Health(Part):
    """Look at the store itself."""

    async def diagnose(self) -> Diagnosis:
        version = await self._engine.read(lambda unit: unit.rows("find_version"))
        return Diagnosis(product=f"SQLite {version[0][0]}", wal_bytes=self._wal_bytes())

    async def find_damage(self) -> list[str]:
        def work(unit: Unit) -> list[str]:
            return [text for (text,) in unit.rows("find_damage") if text != "ok"]

        return await self._engine.read(work)

    def _wal_bytes(self) -> int | None:
        if self._engine.settings.in_memory:
            return None
        wal = Path(f"{self._engine.settings.path}-wal")
        return wal.stat().st_size if wal.exists() else 0

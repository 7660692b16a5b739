"""The server itself: its version, who holds it up, and what is broken: ``HealthStore``."""

from typing import Final

from mainspring.ports.store import Diagnosis
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import load

_DIAGNOSE: Final = load("diagnose")
_FIND_WALL: Final = load("find_wall")
_FIND_DAMAGE: Final = load("find_damage")


class Health(Part):
    """Look at the store itself."""

    async def diagnose(self) -> Diagnosis:
        found = (await self._pools.general.fetch(_DIAGNOSE, {}, changes=False))[0]
        wall = await self._pools.general.fetch(_FIND_WALL, {}, changes=False)
        return Diagnosis(
            product=f"PostgreSQL {found['version'].partition(' ')[0]}",
            connections=found["connections"],
            connections_max=found["connections_max"],
            oldest_snapshot_seconds=found["seconds"],
            oldest_snapshot_by=found["held_by"] or "",
            is_walled=wall[0]["stands"],
        )

    async def find_damage(self) -> list[str]:
        found = await self._pools.general.fetch(_FIND_DAMAGE, {}, changes=False)
        return [f"the index {row['name']} is not valid" for row in found]

"""Migrations: ``SchemaStore``. All steps that are wanted are one transaction."""

import re
from typing import Final

from mainspring import __version__
from mainspring.domain.errors import ConfigError, Conflict
from mainspring.ports.store import SchemaStatus
from mainspring.store import migrations
from mainspring.store.migrations import Migration
from mainspring.store.sqlite.connection import APPLICATION_ID
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import PACKAGE, Unit

_CREATED: Final = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
# Run by hand, the script has no clock but SQLite's.
_BY_HAND: Final = """\
-- {name}
BEGIN IMMEDIATE;
{sql}
INSERT INTO migrations (name, checksum, applied_at, by_version)
VALUES ('{name}', '{checksum}', cast(strftime('%s', 'now') AS integer) * 1000000, '{version}');
COMMIT;
"""


class Schema(Part):
    """Migrations."""

    async def schema_status(self) -> SchemaStatus:
        return await self._engine.read(
            lambda unit: migrations.status(migrations.load(PACKAGE), self._applied(unit))
        )

    async def migrate(self, *, phase: str) -> list[str]:
        return await self._engine.write(lambda unit: self._migrate(unit, phase))

    def migration_sql(self, *, pending: tuple[str, ...] | None) -> str:
        return "\n".join(
            _by_hand(step)
            for step in migrations.load(PACKAGE)
            if pending is None or step.name in pending
        )

    async def check_ready(self) -> None:
        migrations.refuse_unless_ready(await self.schema_status(), self._engine.settings.path)

    def _migrate(self, unit: Unit, phase: str) -> list[str]:
        known = migrations.load(PACKAGE)
        applied = self._applied(unit)
        if not applied:
            self._refuse_taken_names(unit, known)
        steps = migrations.wanted(known, applied, phase)
        for step in steps:
            unit.script(step.sql)
            entry = {
                "name": step.name,
                "checksum": step.checksum,
                "now": unit.now_us,
                "by_version": __version__,
            }
            unit.change("record_migration", entry)
        return [step.name for step in steps]

    def _applied(self, unit: Unit) -> list[str]:
        """Return the steps in the store's book; refuse a book that tells of other steps."""
        if unit.row("find_application") != (APPLICATION_ID,):
            return []
        rows = unit.rows("list_migrations")
        checksums = {step.name: step.checksum for step in migrations.load(PACKAGE)}
        for name, checksum in rows:
            if checksums.get(name, checksum) != checksum:
                raise Conflict(
                    f"step {name} of {self._engine.settings.path} was applied with another text",
                    hint="applied steps never change; install the version that applied it",
                    details={"step": name, "checksum": checksum},
                )
        return [name for name, _ in rows]

    def _refuse_taken_names(self, unit: Unit, known: tuple[Migration, ...]) -> None:
        """Raise if another application's tables have names that ours need."""
        ours = {name for step in known for name in _CREATED.findall(step.sql)}
        taken = sorted(ours & {name for (name,) in unit.rows("find_tables")})
        if taken:
            raise ConfigError(
                f"{self._engine.settings.path} holds tables of another application: "
                f"{', '.join(taken)}",
                hint="name another file; Mainspring creates it",
            )


def _by_hand(step: Migration) -> str:
    return _BY_HAND.format(
        name=step.name, sql=step.sql.strip(), checksum=step.checksum, version=__version__
    )

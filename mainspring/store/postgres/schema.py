"""The schema's steps: applied once, whoever else tries at the same time."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from mainspring.domain.errors import Conflict
from mainspring.ports.store import SchemaStatus
from mainspring.store import migrations
from mainspring.store.migrations import Migration
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import Connection, bind, load

_PACKAGE: Final = "mainspring.store.postgres"
_FIND: Final = load("find_migrations")
_LIST: Final = load("list_migrations")
_CREATE_SCHEMA: Final = load("create_schema")
_CREATE_MIGRATIONS: Final = load("create_migrations")
_ENTER: Final = load("enter_migration")
_RECORD: Final = load("record_migration")
_SHORTEN_WAITS: Final = load("shorten_waits")
_FIND_WALL: Final = load("find_wall")
_RAISE_WALL: Final = load("raise_wall")
#: The step that gives the wall its policies.
_WALLS: Final = "0007_pre_walls"

# Waiting for another migrator may take as long as its step. How long a step waits for a table in
# use, and how long it may take, is said by the step itself.
_STEP_TIMEOUT_SECONDS: Final = 3_600.0


class Schema(Part):
    """Implements ``SchemaStore``."""

    async def schema_status(self) -> SchemaStatus:
        return migrations.status(_known(), await self._applied())

    async def check_ready(self) -> None:
        migrations.refuse_unless_ready(await self.schema_status(), self._address)

    async def migrate(self, *, phase: str) -> list[str]:
        known = _known()
        pending = migrations.wanted(known, await self._applied(), phase)
        if pending:
            await self._pools.general.transaction(_prepare_book)
        applied = [step.name for step in pending if await self._apply(step)]
        await self._pools.general.transaction(lambda connection: _raise_wall(connection, applied))
        return applied

    def migration_sql(self, *, pending: tuple[str, ...] | None) -> str:
        steps = [step for step in _known() if pending is None or step.name in pending]
        scripts = [_script(step) for step in steps]
        if any(step.name == _WALLS for step in steps):
            scripts.append(f"{_RAISE_WALL.text};\n")
        head = f"{_CREATE_SCHEMA.text};\n\n{_CREATE_MIGRATIONS.text};\n"
        return "\n".join([head, *scripts]) if scripts else ""

    async def _applied(self) -> set[str]:
        """Return the steps in the store's book; refuse a book that tells of other steps."""
        found = await self._pools.general.fetch(_FIND, {}, changes=False)
        if not found[0]["found"]:
            return set()
        rows = await self._pools.general.fetch(_LIST, {}, changes=False)
        checksums = {step.name: step.checksum for step in _known()}
        for row in rows:
            if checksums.get(row["name"], row["checksum"]) != row["checksum"]:
                raise Conflict(
                    f"step {row['name']} of {self._address} was applied with another text",
                    hint="applied steps never change; install the version that applied it",
                    details={"step": row["name"], "checksum": row["checksum"]},
                )
        return {row["name"] for row in rows}

    async def _apply(self, step: Migration) -> bool:
        async def work(connection: Connection) -> bool:
            await _enter(connection)
            if any(row["name"] == step.name for row in await connection.fetch(_LIST.text)):
                return False
            await connection.execute(step.sql, timeout=_STEP_TIMEOUT_SECONDS)
            await connection.execute(_RECORD.text, *bind(_RECORD, _record(step)))
            return True

        return await self._pools.general.transaction(work)


async def _enter(connection: Connection) -> None:
    await connection.fetch(_SHORTEN_WAITS.text, "0")
    await connection.execute(_ENTER.text, timeout=_STEP_TIMEOUT_SECONDS)


async def _raise_wall(connection: Connection, applied: Sequence[str]) -> None:
    """Give the role of tenants what it needs, where this user may; again after each change."""
    if not applied and await connection.fetchval(_FIND_WALL.text):
        return
    await _enter(connection)
    if _WALLS in {row["name"] for row in await connection.fetch(_LIST.text)}:
        await connection.execute(_RAISE_WALL.text)


async def _prepare_book(connection: Connection) -> None:
    await _enter(connection)
    found = await connection.fetchval(_FIND.text)
    if not found:
        await connection.execute(_CREATE_SCHEMA.text)
        await connection.execute(_CREATE_MIGRATIONS.text)


def _known() -> tuple[Migration, ...]:
    return migrations.load(_PACKAGE)


def _record(step: Migration) -> dict[str, object]:
    return {"name": step.name, "checksum": step.checksum, "by_version": _version()}


def _script(step: Migration) -> str:
    """Return one step as it would be run by hand, with its line in the book."""
    record = _RECORD.text
    for position, param in reversed(list(enumerate(_RECORD.params, start=1))):
        record = record.replace(f"${position}", _quoted(str(_record(step)[param])))
    return (
        f"-- {step.name}\nBEGIN;\nSET LOCAL lock_timeout = 0;\n{_ENTER.text};\n"
        f"{step.sql.strip()}\n\n{record};\nCOMMIT;\n"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _version() -> str:
    try:
        return version("mainspring")
    except PackageNotFoundError:
        return "0"

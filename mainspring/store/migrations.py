"""Migration files and what they mean for code of another version.

A step is ``NNNN_pre_words.sql`` or ``NNNN_post_words.sql``. A *pre* step may be applied while the
previous code still runs; a *post* step only after it has gone. So code that meets an unknown *pre*
step goes on, and code that meets an unknown *post* step must stop.
"""

import hashlib
import re
from collections.abc import Collection
from importlib.resources import files
from typing import Final, NamedTuple

from mainspring.domain.errors import InvalidInput, StoreNewer, StoreNotMigrated
from mainspring.ports.store import SchemaStatus

_NAME: Final = re.compile(r"^(\d{4})_(pre|post)_[a-z0-9_]+$")
#: Instead of an address, where the connection is the caller's.
BEHIND_THIS_CONNECTION: Final = "behind this connection"
PHASES: Final = ("pre", "post", "all")


class Migration(NamedTuple):
    """One step of the schema."""

    name: str
    phase: str
    sql: str
    checksum: str


def load(package: str) -> tuple[Migration, ...]:
    """Return a store's migrations in order."""
    found: list[Migration] = []
    for entry in files(package).joinpath("migrations").iterdir():
        if not entry.name.endswith(".sql"):
            continue
        name = entry.name.removesuffix(".sql")
        matched = _NAME.match(name)
        if matched is None:
            raise ValueError(f"migration {entry.name} is not named NNNN_pre|post_words.sql")
        sql = entry.read_text(encoding="utf-8")
        found.append(Migration(name, matched[2], sql, hashlib.sha256(sql.encode()).hexdigest()))
    return tuple(sorted(found))


def status(known: Collection[Migration], applied: Collection[str]) -> SchemaStatus:
    """Compare what this code knows with what the store has seen."""
    names = {step.name for step in known}
    unknown = tuple(sorted(set(applied) - names))
    return SchemaStatus(
        applied=tuple(sorted(set(applied) & names)),
        pending=tuple(sorted(names - set(applied))),
        unknown=unknown,
        too_new=any(_phase(name) != "pre" for name in unknown),
    )


def wanted(known: Collection[Migration], applied: Collection[str], phase: str) -> list[Migration]:
    """Return the steps of a phase that are still to be applied, in order."""
    if phase not in PHASES:
        raise InvalidInput(f"there is no phase {phase!r}", hint="use pre, post or all")
    pending = sorted(step for step in known if step.name not in applied)
    return [step for step in pending if phase in ("all", step.phase)]


def refuse_unless_ready(found: SchemaStatus, address: str) -> None:
    """Raise the error that tells the operator what to do, unless the schema fits this code."""
    if found.too_new:
        raise StoreNewer(
            f"the store {address} was migrated by a newer Mainspring "
            f"(unknown step {found.unknown[-1]})",
            details={"unknown": found.unknown},
        )
    pending = [name for name in found.pending if _phase(name) == "pre"]
    if pending:
        what = "has no Mainspring tables" if not found.applied else f"lacks {len(pending)} step(s)"
        raise StoreNotMigrated(f"the store {address} {what}", details={"pending": pending})


def _phase(name: str) -> str:
    matched = _NAME.match(name)
    return matched[2] if matched else "post"

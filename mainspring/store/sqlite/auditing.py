"""Who did what: lines in the audit, in the transaction of what they tell."""

from collections.abc import Sequence

from mainspring.store.auditing import Line, kept, signed
from mainspring.store.sqlite.packing import as_json
from mainspring.store.sqlite.unit import Unit, ask
from mainspring.store.statements import Ask


def audit_ask(now_us: int, actor: str, action: str, lines: Sequence[Line]) -> Ask:
    """Return what writes these lines."""
    return ask("add_audit", _values(now_us, actor, action, lines))


def audit(unit: Unit, actor: str, action: str, lines: Sequence[Line]) -> None:
    """Write these lines."""
    if lines:
        unit.change("add_audit", _values(unit.now_us, actor, action, lines))


def _values(now_us: int, actor: str, action: str, lines: Sequence[Line]) -> dict[str, object]:
    entries = as_json([kept(line) for line in lines])
    return {"now": now_us, "entries": entries, **signed(actor, action)}

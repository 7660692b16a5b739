"""What a test may name a job by: its declaration, its kind, a handle, a snapshot, or an id."""

from typing import Any, TypeAlias

from mainspring.app.declare import Call, Job
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import parse_job

#: ``Job``, ``Call``, ``Handle``, ``Snapshot``, a kind, or an id such as ``job_…``.
Target: TypeAlias = Any

_PREFIX = "job_"


def is_one(target: Target) -> bool:
    """Tell whether one job is meant, not all of a kind."""
    name = getattr(target, "id", target)
    return isinstance(name, str) and name.startswith(_PREFIX)


def job_id_of(target: Target) -> bytes:
    """Return the id of the one job that is meant."""
    if not is_one(target):
        raise InvalidInput(
            f"{_shown(target)} names no single job",
            hint="give what submit() returned, what jobs() or submitted() found, or an id",
        )
    return bytes(parse_job(str(getattr(target, "id", target))))


def kind_of(target: Target) -> str:
    """Return the kind that is meant."""
    match target:
        case Job():
            return target.kind
        case Call():
            return target.job.kind
        case str() if not is_one(target):
            return target
        case _ if isinstance(getattr(target, "kind", None), str):
            return str(target.kind)
        case _:
            raise InvalidInput(
                f"{_shown(target)} is no job",
                hint="give what @app.job() made of the function, or the kind as text",
            )


def _shown(target: Target) -> str:
    return target if isinstance(target, str) else repr(target)[:100]

"""Submissions of one call that ask for the same are checked once; nobody can tell."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.errors import MainspringError
from mainspring.domain.job import HandlerInfo, NewJob
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.registry.validate import Forms, new_job

HANDLERS = {
    "mail": HandlerInfo(kind="mail", queue="letters", max_attempts=7),
    "sweep": HandlerInfo(kind="sweep", on_exhausted="mail"),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"queue": "high"},
    {"priority": 1},
    {"priority": True},
    {"priority": "low"},
    {"max_attempts": 5},
    {"max_attempts": 5.0},
    {"key": "once"},
    {"unique_key": "one"},
    {"delay_ms": 500},
    {"due_at": "2100-01-01T00:00:00Z"},
    {"due_at": "9000-01-01T00:00:00Z"},
    {"id": bytes.fromhex("019a9a00000070008000000000000000")},
    {"backoff": {"initial_ms": 5}},
    {"backoff": {"initial": 5}},
]
PAYLOADS = [b"{}", b'{"to":"ada"}', b"[]", b"{", b'{"a":1,"a":2}', b'{"a":"' + b"x" * 70 + b'"}']


def submission(kind: str, payload: bytes, options: dict[str, Any], *, known: bool) -> Submission:
    declared = HANDLERS.get(kind) if known else None
    return Submission(kind=kind, payload=payload, kind_is_known=known, declared=declared, **options)


@given(
    st.lists(
        st.builds(
            submission,
            st.sampled_from(["mail", "sweep", "unheard"]),
            st.sampled_from(PAYLOADS),
            st.sampled_from(OPTIONS),
            known=st.booleans(),
        ),
        max_size=12,
    )
)
def test_each_submission_becomes_what_it_would_become_alone(wanted: list[Submission]) -> None:
    forms = Forms(HANDLERS, new_job_id, payload_bytes=64)
    for item in wanted:
        assert outcome(lambda item=item: forms.job(item)) == outcome(
            lambda item=item: new_job(item, HANDLERS, new_job_id, 64)
        )


def test_ids_differ() -> None:
    forms = Forms(HANDLERS, new_job_id)
    wanted = submission("mail", b"{}", {}, known=True)
    assert len({forms.job(wanted).id for _ in range(3)}) == 3


def outcome(make: Any) -> object:
    """What comes of it, but for the id."""
    try:
        job: NewJob = make()
    except MainspringError as error:
        return type(error), error.message
    return msgspec.structs.replace(job, id=b"")

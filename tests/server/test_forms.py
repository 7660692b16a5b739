"""The words of several schedulers in one body: what each of them means, and what contradicts."""

from typing import Any, cast

import msgspec
import pytest

from mainspring.domain.access import EVERYBODY, Principal, Right
from mainspring.domain.errors import Forbidden, InvalidInput, UnknownOption, UnknownZone
from mainspring.ports.gateway import ClientGateway, Submission
from mainspring.server.http.calls import Call, House, Request
from mainspring.server.http.forms import cron_of, is_plain, schedule_draft, submission
from mainspring.wire.documents.submissions import SubmissionBody

NOWHERE = cast("ClientGateway", None)
NOBODYS = cast("House", None)
REQUEST = Request("POST", "/api/v1/jobs", b"", {}, b"", "127.0.0.1", "req_1")


def call(principal: Principal = EVERYBODY) -> Call:
    return Call(REQUEST, principal, NOWHERE, NOBODYS)


def body(**members: Any) -> SubmissionBody:
    return msgspec.convert(members, SubmissionBody)


def wanted(principal: Principal = EVERYBODY, key: str | None = None, **members: Any) -> Submission:
    return submission(body(kind="mail.send", **members), call(principal), key)


def test_a_body_in_our_own_words_is_plain() -> None:
    plain = body(kind="a", queue="q", priority=1, due_at="2030-01-01T00:00:00Z", key="k")
    assert is_plain(plain)
    assert not is_plain(body(type="a"))
    assert submission(plain, call(), None) == Submission(
        payload_is_checked=True,
        kind="a",
        tenant="default",
        queue="q",
        priority=1,
        due_at="2030-01-01T00:00:00Z",
        key="k",
    )


@pytest.mark.parametrize(
    ("members", "member", "means"),
    [
        ({"job_type": "billing"}, "kind", "billing"),
        ({"type": "billing"}, "kind", "billing"),
        ({"name": "send-report", "schedule": "2030-01-01T00:00:00Z"}, "kind", "send-report"),
        ({"kind": "a", "max_retries": 3}, "max_attempts", 4),
        ({"kind": "a", "max_retries": 3, "max_attempts": 4}, "max_attempts", 4),
        ({"kind": "a", "timeout_seconds": 120}, "timeout_ms", 120_000),
        ({"kind": "a", "timeout": "2m"}, "timeout_ms", 120_000),
        ({"kind": "a", "delay": "1h30m"}, "delay_ms", 5_400_000),
        ({"kind": "a", "tenant_id": "acme"}, "tenant", "acme"),
        ({"kind": "a", "idempotency_key": "k"}, "key", "k"),
        ({"kind": "a", "retry_backoff": "exponential"}, "backoff", None),
        ({"kind": "a", "retry_backoff": "FIXED"}, "backoff", {"factor": 1}),
        ({"kind": "a", "run_at": "2030-01-01T00:00:00Z"}, "due_at", "2030-01-01T00:00:00Z"),
        (
            {"kind": "a", "schedule": "2030-07-01T09:00:00", "timezone": "America/New_York"},
            "due_at",
            "2030-07-01T13:00:00+00:00",
        ),
        (
            # A wall time that a clock change leaves out is due at the end of the gap.
            {"kind": "a", "run_at": "2027-03-14T02:30:00", "timezone": "America/New_York"},
            "due_at",
            "2027-03-14T07:00:00+00:00",
        ),
    ],
)
def test_other_words_mean_the_same(members: dict[str, Any], member: str, means: object) -> None:
    assert getattr(submission(body(**members), call(), None), member) == means


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            {"max_retries": 3, "max_attempts": 3},
            "3 retries are 4 attempts, and max_attempts says 3",
        ),
        ({"max_retries": -1}, "max_retries: -1 is negative"),
        ({"job_type": "other"}, "kind: kind says 'mail.send' and job_type says 'other'"),
        ({"tenant": "a", "tenant_id": "b"}, "tenant: tenant says 'a' and tenant_id says 'b'"),
        ({"delay": "1s", "delay_ms": 2}, "delay_ms: delay_ms says 2 and delay says 1000"),
        ({"schedule_type": "ONCE"}, "run_at: it is missing"),
        ({"misfire_policy": "skip"}, "misfire_policy: this is an option of schedules"),
        ({"run_at": "tomorrow", "timezone": "Europe/Berlin"}, "'tomorrow' is no instant"),
    ],
)
def test_contradictions_are_told(members: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        wanted(**members)
    assert said in caught.value.message


def test_the_header_is_a_key_unless_the_body_has_another() -> None:
    assert wanted(key="h").key == "h"
    assert wanted(key="h", idempotency_key="h").key == "h"
    with pytest.raises(InvalidInput, match="'b' and header says 'h'"):
        wanted(key="h", idempotency_key="b")


def test_the_tenant_comes_from_the_key() -> None:
    bound = Principal(name="key bot", rights=frozenset(Right), tenant="acme")
    assert wanted(bound).tenant == "acme"
    assert wanted(bound, tenant_id="acme").tenant == "acme"
    with pytest.raises(Forbidden, match="may not name another"):
        wanted(bound, tenant="globex")


@pytest.mark.parametrize(
    ("members", "cron"),
    [
        ({"schedule": "0 9 * * 1"}, "0 9 * * 1"),
        ({"cron_expression": "0 9 * * 1"}, "0 9 * * 1"),
        ({"schedule_type": "cron", "cron_expression": "@daily"}, "@daily"),
        ({"schedule_type": "CRON", "schedule": "@daily"}, "@daily"),
        ({"schedule": "2030-01-01T00:00:00Z"}, None),
        ({"schedule_type": "ONCE", "run_at": "2030-01-01T00:00:00Z"}, None),
        ({}, None),
    ],
)
def test_a_cron_makes_it_a_schedule(members: dict[str, Any], cron: str | None) -> None:
    assert cron_of(body(kind="a", **members)) == cron


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"schedule_type": "CRON"}, InvalidInput),
        ({"schedule_type": "ONCE", "cron_expression": "@daily"}, InvalidInput),
        ({"schedule_type": "SOMETIMES"}, UnknownOption),
        ({"schedule": "0 9 * * 1", "cron_expression": "0 8 * * 1"}, InvalidInput),
    ],
)
def test_a_schedule_that_is_none_is_told(
    members: dict[str, Any], error: type[InvalidInput]
) -> None:
    with pytest.raises(error):
        cron_of(body(kind="a", **members))


def test_a_schedule_in_the_words_of_others() -> None:
    draft = schedule_draft(
        body(
            job_name="settle",
            job_type="billing",
            tenant_id="acme",
            timezone="America/New_York",
            allow_overlap=False,
            misfire_policy="FIRE_ONCE",
            max_attempts=3,
            idempotency_key_template="report-{{week}}",
        ),
        "0 9 * * *",
        call(),
    )
    assert (draft.name, draft.when, draft.zone, draft.tenant) == (
        "settle",
        ("0 9 * * *",),
        "America/New_York",
        "acme",
    )
    assert draft.policies == {"overlap": "false", "misfire": "FIRE_ONCE"}
    assert (draft.work.kind, draft.work.effect_key) == ("billing", "report-{{week}}")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("key", "k"),
        ("unique_key", "k"),
        ("delay", "1s"),
        ("due_at", "2030-01-01T00:00:00Z"),
        ("run_at", "2030-01-01T00:00:00Z"),
        ("scheduled_at", "2030-01-01T00:00:00Z"),
        ("defaults", {}),
    ],
)
def test_what_a_schedule_has_no_use_for_is_refused(member: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"{member}: this is no option of a schedule"):
        schedule_draft(body(name="a", **{member: value}), "@daily", call())


@pytest.mark.parametrize(
    "due",
    [{}, {"run_at": "2030-01-01T00:00:00Z"}, {"run_at": "2030-01-01T00:00:00"}],
    ids=["now", "with_its_offset", "of_the_zone"],
)
def test_a_zone_that_does_not_exist_is_told(due: dict[str, Any]) -> None:
    with pytest.raises(UnknownZone, match="Mars/Base") as caught:
        wanted(timezone="Mars/Base", **due)
    assert caught.value.details["pointer"] == "/timezone"


def test_a_schedule_has_a_name() -> None:
    with pytest.raises(InvalidInput, match="name: it is missing"):
        schedule_draft(body(kind="a"), "@daily", call())

"""All suites, and how a module of tests binds them to one backend in a line."""

from typing import Any, Final

from mainspring.testing.conformance.access import KeySuite, RotationSuite, TenantBookSuite
from mainspring.testing.conformance.audit import (
    AuditListSuite,
    AuditOfJobsSuite,
    AuditOfSchedulesSuite,
)
from mainspring.testing.conformance.changes import ChangeSuite
from mainspring.testing.conformance.claiming import ClaimEffectSuite, ClaimOrderSuite, NextDueSuite
from mainspring.testing.conformance.control import (
    CancelSuite,
    PauseSuite,
    ReplaySuite,
    RunNowSuite,
)
from mainspring.testing.conformance.fence import FenceSuite
from mainspring.testing.conformance.groups import FilterSuite, GroupSuite
from mainspring.testing.conformance.maintenance import MaintenanceSuite
from mainspring.testing.conformance.operations import ActSuite, OperationSuite
from mainspring.testing.conformance.operations_members import DecidingSuite, FreezeSuite
from mainspring.testing.conformance.pulses import LogSuite, PulseSuite
from mainspring.testing.conformance.queries import ListSuite, LookSuite, QueueSuite
from mainspring.testing.conformance.recovery import HeldBySuite, RecoverySuite
from mainspring.testing.conformance.schedules import CreateScheduleSuite, JudgeDueSuite
from mainspring.testing.conformance.schedules_backfills import (
    CancelBackfillSuite,
    ReleaseSuite,
    TakingUpSuite,
)
from mainspring.testing.conformance.schedules_ledger import (
    ClosingSuite,
    FiresOfSuite,
    ForgettingSuite,
)
from mainspring.testing.conformance.schedules_lists import LedgerListSuite
from mainspring.testing.conformance.schedules_named import CalendarSuite, JudgeNamedSuite
from mainspring.testing.conformance.schedules_rulings import RulingSuite
from mainspring.testing.conformance.schedules_taking_back import TakingBackSuite
from mainspring.testing.conformance.schedules_waiting import NextLookSuite, WaitingSuite
from mainspring.testing.conformance.schema import SchemaSuite
from mainspring.testing.conformance.sessions import HandlerSuite, SessionSuite
from mainspring.testing.conformance.settling import CancellingSuite, FollowUpSuite, SettleSuite
from mainspring.testing.conformance.steps import Suite
from mainspring.testing.conformance.submission import SubmissionKeySuite, SubmissionSuite
from mainspring.testing.conformance.tenants import TenantSuite, TenantWorkerSuite
from mainspring.testing.conformance.unique import (
    ReplaceSuite,
    UniqueAndSubmissionKeySuite,
    UniqueSuite,
)
from mainspring.testing.conformance.wakeups import WakeupSuite
from mainspring.testing.conformance.webhooks import NoticeSuite, WebhookSuite

EVERY_SUITE: Final[tuple[type[Suite], ...]] = (
    SubmissionSuite,
    SubmissionKeySuite,
    UniqueSuite,
    ReplaceSuite,
    UniqueAndSubmissionKeySuite,
    ClaimOrderSuite,
    ClaimEffectSuite,
    NextDueSuite,
    SettleSuite,
    CancellingSuite,
    FollowUpSuite,
    FenceSuite,
    PulseSuite,
    LogSuite,
    RecoverySuite,
    HeldBySuite,
    SessionSuite,
    HandlerSuite,
    CancelSuite,
    RunNowSuite,
    ReplaySuite,
    PauseSuite,
    LookSuite,
    ChangeSuite,
    ListSuite,
    FilterSuite,
    GroupSuite,
    QueueSuite,
    MaintenanceSuite,
    SchemaSuite,
    WakeupSuite,
    CreateScheduleSuite,
    JudgeDueSuite,
    RulingSuite,
    WaitingSuite,
    NextLookSuite,
    TakingBackSuite,
    JudgeNamedSuite,
    CalendarSuite,
    ClosingSuite,
    FiresOfSuite,
    LedgerListSuite,
    ForgettingSuite,
    TakingUpSuite,
    ReleaseSuite,
    CancelBackfillSuite,
    WebhookSuite,
    NoticeSuite,
    TenantSuite,
    TenantWorkerSuite,
    ActSuite,
    OperationSuite,
    FreezeSuite,
    DecidingSuite,
    KeySuite,
    RotationSuite,
    TenantBookSuite,
    AuditOfJobsSuite,
    AuditOfSchedulesSuite,
    AuditListSuite,
)


def bound(module: str) -> dict[str, Any]:
    """Return a test class a suite, for ``globals().update(bound(__name__))``.

    So a suite that is added later binds itself to every backend; nobody can forget one.
    """
    names = {suite: f"Test{suite.__name__.removesuffix('Suite')}" for suite in EVERY_SUITE}
    return {
        name: type(name, (suite,), {"__module__": module, "__doc__": suite.__doc__})
        for suite, name in names.items()
    }

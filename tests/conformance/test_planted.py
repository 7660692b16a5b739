"""Proof that the suites can see: each must fail on a store that lacks one guard."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mainspring.ports.store import Store
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.claiming import ClaimEffectSuite, ClaimOrderSuite
from mainspring.testing.conformance.control import CancelSuite, PauseSuite, ReplaySuite
from mainspring.testing.conformance.fence import FenceSuite
from mainspring.testing.conformance.groups import GroupSuite
from mainspring.testing.conformance.maintenance import MaintenanceSuite
from mainspring.testing.conformance.pulses import LogSuite, PulseSuite
from mainspring.testing.conformance.queries import ListSuite, LookSuite, QueueSuite
from mainspring.testing.conformance.recovery import HeldBySuite, RecoverySuite
from mainspring.testing.conformance.sessions import SessionSuite
from mainspring.testing.conformance.settling import CancellingSuite, FollowUpSuite, SettleSuite
from mainspring.testing.conformance.steps import Suite
from mainspring.testing.conformance.submission import SubmissionKeySuite, SubmissionSuite
from mainspring.testing.conformance.unique import (
    ReplaceSuite,
    UniqueAndSubmissionKeySuite,
    UniqueSuite,
)
from mainspring.testing.conformance.webhooks import NoticeSuite, WebhookSuite
from tests.conformance import planted

_SEEN_BY: list[tuple[type[planted.Spoiled], type[Suite]]] = [
    (planted.IgnoresSubmissionKeys, SubmissionKeySuite),
    (planted.IgnoresBodies, SubmissionKeySuite),
    (planted.IgnoresUniqueKeys, UniqueSuite),
    (planted.HoldsUniqueKeysWhileLive, UniqueSuite),
    (planted.NeverReplaces, ReplaceSuite),
    (planted.KeepsKeysOfTheRefused, UniqueAndSubmissionKeySuite),
    (planted.ForgetsTheFinished, SubmissionSuite),
    (planted.RoundsToMilliseconds, SubmissionSuite),
    (planted.LosesTheLastOfABatch, SubmissionSuite),
    (planted.IgnoresPriority, ClaimOrderSuite),
    (planted.IgnoresPauses, ClaimOrderSuite),
    (planted.IgnoresPauses, PauseSuite),
    (planted.IgnoresKinds, ClaimOrderSuite),
    (planted.IgnoresTheLimit, ClaimOrderSuite),
    (planted.IgnoresWants, ClaimOrderSuite),
    (planted.IgnoresWatermarks, ClaimOrderSuite),
    (planted.IgnoresGrace, ClaimEffectSuite),
    (planted.GivesToTheDead, ClaimEffectSuite),
    (planted.HandsOutTwice, ClaimEffectSuite),
    (planted.IgnoresTheAttemptNumber, FenceSuite),
    (planted.AcceptsWhatIsNotHeld, FenceSuite),
    (planted.TakesRepetitionsForStale, FenceSuite),
    (planted.TakesStaleForRepetitions, FenceSuite),
    (planted.KeepsCharges, SettleSuite),
    (planted.RefundsCrashes, SettleSuite),
    (planted.RetriesAtOnce, SettleSuite),
    (planted.AnswersInAnotherOrder, SettleSuite),
    (planted.FollowsUpTwice, FollowUpSuite),
    (planted.FollowsUpAlways, FollowUpSuite),
    (planted.NeverFollowsUp, FollowUpSuite),
    (planted.LosesNotices, NoticeSuite),
    (planted.TellsWhateverIsReported, NoticeSuite),
    (planted.TellsWhatACancelTurned, NoticeSuite),
    (planted.NeverDisablesWebhooks, WebhookSuite),
    (planted.ListensToDisabledWebhooks, WebhookSuite),
    (planted.RetriesWhatIsCancelled, CancellingSuite),
    (planted.KeepsLogsOfStaleAttempts, LogSuite),
    (planted.CountsLogsTwice, LogSuite),
    (planted.TellsNoCancels, PulseSuite),
    (planted.TakesEveryAttemptForHeld, PulseSuite),
    (planted.ExpiresByAge, RecoverySuite),
    (planted.ExpiresNoDeadlines, RecoverySuite),
    (planted.ExpiresInAnyOrder, RecoverySuite),
    (planted.RevivesTheLost, SessionSuite),
    (planted.TellsNoDrains, SessionSuite),
    (planted.MixesUpChildren, HeldBySuite),
    (planted.CancelsWithoutForce, CancelSuite),
    (planted.CancelsWithForce, CancelSuite),
    (planted.ReplaysTheOldPayload, ReplaySuite),
    (planted.PurgesNothing, ReplaySuite),
    (planted.ForgetsTheLastAttempt, LookSuite),
    (planted.ShowsStoredStates, LookSuite),
    (planted.LosesRowsBetweenPages, ListSuite),
    (planted.GroupsOverAllTenants, GroupSuite),
    (planted.ForgetsGroups, GroupSuite),
    (planted.CountsLiveJobsOnly, QueueSuite),
    (planted.DropsWhatIsYoung, MaintenanceSuite),
]

_SUITES: list[type[Suite]] = sorted(
    {suite for _, suite in _SEEN_BY}, key=lambda suite: suite.__name__
)


def _cases(suite: type[Suite]) -> Iterator[tuple[Callable[..., Any], dict[str, object]]]:
    """Every test of a suite, with the values that its parameters take."""
    for name, test in inspect.getmembers(suite, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        assert len(marks) <= 1
        if not marks:
            yield test, {}
        for value in marks[0].args[1] if marks else ():
            yield test, {marks[0].args[0]: value}


async def _failures(
    suite: type[Suite], spoil: Callable[[Store, SettableClock], Any], most: int
) -> list[str]:
    """Run a suite's tests one by one until so many have failed; return their names."""
    failed: list[str] = []
    for test, values in _cases(suite):
        clock = SettableClock()
        sound = await open_sqlite(":memory:", clock=clock)
        await sound.migrate(phase="all")
        given = values | {"store": spoil(sound, clock), "clock": clock}
        wanted = inspect.signature(test).parameters
        try:
            await test(suite(), **{name: given[name] for name in wanted if name in given})
        except (Exception, pytest.fail.Exception):
            failed.append(test.__name__)
        finally:
            await sound.close()
        if len(failed) >= most:
            break
    return failed


@pytest.mark.parametrize(
    ("spoiled", "suite"),
    _SEEN_BY,
    ids=[f"{bug.__name__}-{suite.__name__}" for bug, suite in _SEEN_BY],
)
async def test_the_suite_sees(spoiled: type[planted.Spoiled], suite: type[Suite]) -> None:
    assert await _failures(suite, spoiled, 1), f"{suite.__name__} is blind to {spoiled.__name__}"


@pytest.mark.parametrize("suite", _SUITES)
async def test_the_wrapper_alone_is_not_seen(suite: type[Suite]) -> None:
    assert await _failures(suite, planted.Spoiled, 1_000) == []


def test_every_planted_bug_is_used() -> None:
    known = {
        found
        for found in vars(planted).values()
        if inspect.isclass(found) and issubclass(found, planted.Spoiled)
    }
    assert known - {planted.Spoiled} == {spoiled for spoiled, _ in _SEEN_BY}

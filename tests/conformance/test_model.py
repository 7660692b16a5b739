"""Random histories on real stores, against the reference model."""

import asyncio
from collections.abc import Callable
from typing import ClassVar, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.machine import Arena, StoreMachine
from tests.conformance import planted

_QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))


def _steps(max_examples: int) -> settings:
    """So many histories: a share of the profile's, so that a search looks further."""
    return settings(_QUIET, max_examples=max_examples, stateful_step_count=30)


class InMemory(StoreMachine):
    """A fresh store for every example."""

    def enter(self) -> Arena:
        clock = SettableClock()
        runner = asyncio.Runner()
        store = runner.run(open_sqlite(":memory:", clock=clock))
        runner.run(store.migrate(phase="all"))
        return Arena(runner, store, clock)

    def leave(self) -> None:
        self.arena.runner.run(self.store.close())
        self.arena.runner.close()


class OnPostgres(StoreMachine):
    """One database for all examples."""

    shared: ClassVar[Arena]

    def enter(self) -> Arena:
        return self.shared


@pytest.mark.timeout(120)
def test_sqlite_in_memory_behaves_like_the_model() -> None:
    run_state_machine_as_test(InMemory, settings=_steps(_QUIET.max_examples * 3 // 10))


class Planted(InMemory):
    """A store that lacks a guard."""

    bug: ClassVar[type[planted.Spoiled]]

    def enter(self) -> Arena:
        arena = super().enter()
        arena.store = cast("Store", self.bug(arena.store, arena.clock))
        return arena


@pytest.mark.parametrize(
    "bug",
    [
        planted.IgnoresTheAttemptNumber,
        planted.AcceptsWhatIsNotHeld,
        planted.TakesRepetitionsForStale,
        planted.KeepsCharges,
        planted.RefundsCrashes,
        planted.CancelsWithForce,
        planted.ExpiresNoDeadlines,
        planted.IgnoresPauses,
        planted.FollowsUpAlways,
        planted.IgnoresUniqueKeys,
        planted.HoldsUniqueKeysWhileLive,
        planted.NeverReplaces,
    ],
)
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_model_sees(bug: type[planted.Spoiled], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Planted, "bug", bug, raising=False)
    finding = settings(
        _QUIET,
        max_examples=80,
        derandomize=True,
        stateful_step_count=30,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        database=None,
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Planted, settings=finding)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(180)
def test_postgres_behaves_like_the_model(migrated_database: Callable[[str], str]) -> None:
    clock = SettableClock()
    dsn = migrated_database("18")
    with asyncio.Runner() as runner:
        store = runner.run(open_postgres(dsn, clock=clock))
        OnPostgres.shared = Arena(runner, store, clock)
        try:
            run_state_machine_as_test(OnPostgres, settings=_steps(_QUIET.max_examples // 10))
        finally:
            runner.run(store.close())

"""What every backend must do, as tests that are told only which backend it is.

A binding is ten lines: a module with two fixtures, and one line for all suites::

    @pytest.fixture
    async def empty_store(clock: SettableClock) -> AsyncIterator[Store]:
        opened = await open_mine(..., clock=clock)      # a place of its own, not migrated
        yield opened
        await opened.close()

    @pytest.fixture
    async def store(empty_store: Store) -> Store:
        await empty_store.migrate(phase="all")
        return empty_store

    globals().update(bound(__name__))

The suites bring the ``clock`` fixture and the anyio mark themselves.

Invariants
----------
* A suite uses ports only, asserts only what a contract says, and never sleeps.
* Every test begins with an empty store of its own; none depends on another.
* ``model`` is written from the domain's tables, not from any store.
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            "access",
            "audit",
            "claiming",
            "control",
            "fence",
            "gateways",
            "gateways_reports",
            "groups",
            "machine",
            "model",
            "maintenance",
            "operations",
            "operations_members",
            "pulses",
            "queries",
            "recovery",
            "schedules",
            "schedules_backfills",
            "schedules_ledger",
            "schedules_lists",
            "schedules_named",
            "schedules_rulings",
            "schedules_steps",
            "schedules_taking_back",
            "schedules_waiting",
            "schema",
            "sessions",
            "settling",
            "steps",
            "submission",
            "unique",
            "wakeups",
            "webhooks",
        )
    )
)

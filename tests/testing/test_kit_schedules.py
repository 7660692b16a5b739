"""Schedules under the clock of a test: fired at their instants, by the product's own scheduler."""

from datetime import UTC, datetime, timedelta

import pytest

from mainspring import App, Context
from mainspring.domain.errors import Conflict
from mainspring.domain.schedule import Outcome
from mainspring.testing import Kit

START = datetime(2027, 3, 1, 9, tzinfo=UTC)


def nightly_app(seen: list[datetime]) -> App:
    app = App("night")

    @app.schedule("nightly", "0 2 * * *", zone="Europe/Berlin")
    @app.job(queue="night")
    def report(ctx: Context) -> None:
        assert ctx.fire is not None
        seen.append(ctx.fire.nominal_at)

    return app


def test_what_is_declared_fires_once_it_is_deployed_and_not_before() -> None:
    seen: list[datetime] = []
    with Kit(nightly_app(seen), start=START) as kit:
        kit.advance("2d", drain=True)
        assert seen == []
        assert [planned.action for planned in kit.deploy()] == ["create"]
        assert kit.advance("2d", drain=True).succeeded == 2
        assert seen == [datetime(2027, 3, day, 1, tzinfo=UTC) for day in (4, 5)]
        assert [planned.action for planned in kit.deploy()] == ["none"]


def test_a_year_of_nights_knows_the_clock_changes() -> None:
    seen: list[datetime] = []
    with Kit(nightly_app(seen), start=START) as kit:
        kit.deploy()
        kit.advance("365d", drain=True)
        assert len(seen) == 365
        # In summer two o'clock in Berlin is midnight; on 28 March it is left out, and due at three.
        assert seen[26] == datetime(2027, 3, 28, 1, tzinfo=UTC)
        assert seen[27] == datetime(2027, 3, 29, 0, tzinfo=UTC)
        assert kit.client.schedules.audit("nightly").audited.is_clean


def test_without_a_worker_fires_wait_and_are_told_as_missed() -> None:
    app = App("beat")

    @app.schedule("beat", "* * * * *")
    @app.job()
    def beat() -> None: ...

    with Kit(app, start=START) as kit:
        kit.deploy()
        kit.advance("10m", drain=False)
        assert len(kit.jobs(beat)) == 1
        # Its end lets one fire stand for the others that waited.
        assert kit.drain().succeeded == 2
        rows = kit.client.schedules.history("beat")
        assert Outcome.COALESCED in {row.outcome for row in rows}


def test_fired_by_hand_it_is_a_job_like_any_other() -> None:
    seen: list[datetime] = []
    with Kit(nightly_app(seen), start=START) as kit:
        kit.deploy()
        handle = kit.client.schedules.fire_now("nightly")
        assert kit.drain().succeeded == 1
        assert kit.job(handle).state == "succeeded"
        assert seen == [START]


def test_backfills_are_released_while_jobs_run() -> None:
    seen: list[datetime] = []
    with Kit(nightly_app(seen), start=START) as kit:
        kit.deploy()
        kit.advance("10d", drain=True)
        seen.clear()
        until = START + timedelta(days=5)
        told = kit.client.schedules.backfill("nightly", START, until, reprocess="all")
        kit.advance("1h", drain=True)
        assert told.fires == len(seen) == 5


def test_a_removed_declaration_is_pruned_with_the_next_deployment() -> None:
    app = nightly_app([])
    with Kit(app, start=START) as kit:
        kit.deploy()
        app.schedules.clear()
        assert [planned.action for planned in kit.deploy()] == ["remove"]
        assert kit.advance("3d", drain=True).attempts == 0


async def test_on_a_loop_it_is_the_same() -> None:
    app = App("night")
    seen: list[datetime] = []

    @app.schedule("nightly", "0 2 * * *")
    @app.job()
    async def report(ctx: Context) -> None:
        seen.append(ctx.started_at)

    with Kit(app, start=START) as kit:
        kit.deploy()
        await kit.aadvance("3d", drain=True)
    assert seen == [datetime(2027, 3, day, 2, tzinfo=UTC) for day in (2, 3, 4)]


def test_two_apps_may_not_declare_the_same_name() -> None:
    with Kit(nightly_app([]), start=START) as kit:
        kit.deploy()
        other = App("other")

        @other.schedule("nightly", "0 3 * * *")
        @other.job()
        def unlike() -> None: ...

        kit.install(other)
        with pytest.raises(Conflict, match="nightly"):
            kit.deploy()

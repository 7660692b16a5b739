"""The plugin as a user meets it: what passes, what fails, and what the failures say."""

import json
import subprocess
import sys

import pytest

import mainspring

# What a run inside imports for the first time is forgotten after it; these must stay the same.
import mainspring.testing.kit

assert all(getattr(mainspring, name) for name in mainspring.__all__)

pytest_plugins = "pytester"

SHOP = """
    from mainspring import App, Context

    app = App("shop")

    @app.job(queue="mail")
    async def send_receipt(order_id: int, *, copy_to: str | None = None) -> str:
        return f"receipt {order_id}"

    @app.job()
    def charge(ctx: Context, order_id: int) -> int:
        return order_id

    def checkout(order_id):
        charge.options(delay="10m").submit(order_id)
        send_receipt.submit(order_id, copy_to="me")
"""


@pytest.fixture
def shop(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(shop=SHOP)
    pytester.syspathinsert()
    pytester.makeini("[pytest]\nmainspring_apps = shop:app\nanyio_mode = auto\n")
    return pytester


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-q", "-p", "no:randomly", "-p", "no:xdist", *args)


def test_the_example_of_the_guide_passes(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import charge, checkout

        def test_checkout(mainspring):
            checkout(1)
            mainspring.assert_submitted(charge, order_id=1, delay="10m")
            mainspring.drain()
            mainspring.advance("10m")
            result = mainspring.drain()
            assert result.succeeded == 1 and result.dead == []
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_a_missing_submission_fails_with_what_came_nearest(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import charge, checkout

        def test_checkout(mainspring):
            checkout(1)
            mainspring.assert_submitted(charge, order_id=2, delay="15m")
        """
    )
    result = run(shop)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * AssertionError: charge(order_id=2) with delay=15 m was not submitted",
            "E * 1 of charge was:",
            "E * charge(order_id=1) with delay=10 m",
            "E * order_id: 1, expected 2",
            "E * delay: 10 m, expected 15 m",
        ]
    )
    # The kit's own frames are not shown.
    result.stdout.no_fnmatch_line("*kit.py*")


def test_a_submission_that_should_not_be_fails(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import send_receipt, checkout

        def test_checkout(mainspring):
            checkout(1)
            mainspring.refute_submitted(send_receipt, copy_to="me")
        """
    )
    result = run(shop)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * AssertionError: send_receipt(copy_to='me') was submitted, and should not have *",
            "E * send_receipt(order_id=1, copy_to='me') with queue='mail'",
        ]
    )


def test_a_failed_count_shows_what_went_wrong(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import charge

        def test_charge(mainspring):
            mainspring.fail_next(charge, OSError("bank is away"))
            charge.submit(1)
            assert mainspring.drain().succeeded == 1
        """
    )
    result = run(shop)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E * <Drained 1 attempt: 1 failed, 1 retried; charge(order_id=1) retrying (failed), *",
        ]
    )


def test_async_tests_await(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import charge, send_receipt

        async def test_receipt(mainspring):
            handle = await send_receipt.asubmit(7)
            await charge.options(delay="1h").asubmit(8)
            assert (await mainspring.adrain()).succeeded == 1
            assert await handle.aresult() == "receipt 7"
            assert (await mainspring.aadvance("1h", drain=True)).succeeded == 1
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_a_blocking_drain_in_an_async_test_says_what_to_do(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from mainspring.domain.errors import Conflict

        async def test_receipt(mainspring):
            with pytest.raises(Conflict) as refused:
                mainspring.drain()
            assert "adrain" in refused.value.hint
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_each_test_has_a_world_of_its_own(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        import pytest
        from shop import charge

        @pytest.mark.parametrize("order", [1, 2])
        def test_alone(mainspring, order):
            charge.submit(order)
            assert [job.args for job in mainspring.jobs()] == [{"order_id": order}]
        """
    )
    run(shop).assert_outcomes(passed=2)


def test_after_the_test_the_app_is_as_before(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from shop import app, charge

        def test_inside(mainspring):
            charge.submit(1)
            assert app.door.actor == "testing"

        def test_outside():
            assert not app._doors
            assert "connect" not in vars(app)
        """
    )
    run(shop).assert_outcomes(passed=2)


def test_apps_may_come_from_an_overridden_fixture(shop: pytest.Pytester) -> None:
    shop.makeini("[pytest]\n")
    shop.makeconftest(
        """
        import pytest, shop

        @pytest.fixture
        def mainspring_apps():
            return shop.app
        """
    )
    shop.makepyfile(
        """
        from shop import charge

        def test_it(mainspring):
            charge.submit(1)
            assert mainspring.drain().succeeded == 1
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_without_apps_the_error_says_how_to_name_one(shop: pytest.Pytester) -> None:
    shop.makeini("[pytest]\n")
    shop.makepyfile(
        """
        import pytest
        from mainspring.domain.errors import UnknownKind
        from shop import app, charge

        def test_it(mainspring):
            with pytest.raises(UnknownKind) as refused:
                mainspring.assert_submitted(charge)
            assert "mainspring_apps" in refused.value.hint
            mainspring.install(app)
            mainspring.refute_submitted(charge)
        """
    )
    run(shop).assert_outcomes(passed=1)


def test_the_mark_chooses_mode_and_start(shop: pytest.Pytester) -> None:
    shop.makepyfile(
        """
        from datetime import datetime, UTC
        import pytest
        from shop import charge

        pytestmark = pytest.mark.mainspring(start="2027-01-31T09:00:00+01:00")

        @pytest.mark.mainspring(mode="inline")
        def test_it(mainspring):
            assert charge.submit(3).result() == 3
            assert mainspring.now == datetime(2027, 1, 31, 8, tzinfo=UTC)

        def test_manual(mainspring):
            assert mainspring.mode == "manual"
        """
    )
    run(shop, "--strict-markers").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("ini", "mark", "message"),
    [
        ("mainspring_mode = inlien", "", "*mode: there is no 'inlien' (did you mean inline?)"),
        ("mainspring_start = yesterday", "", "*mainspring_start: 'yesterday' is not an instant*"),
        ("mainspring_start = 2027-01-31T09:00:00", "", "*start: 2027-01-31T09:00:00 has no time*"),
        ("mainspring_apps = nowhere:app", "", "*mainspring_apps: there is no module 'nowhere'*"),
        ("mainspring_apps = shop:charge", "", "*mainspring_apps: shop:charge is not a Mainspring*"),
        ("", "mod='inline'", "*the mark mainspring has no mod; it takes mode= and start="),
    ],
)
def test_bad_settings_are_named(shop: pytest.Pytester, ini: str, mark: str, message: str) -> None:
    shop.makeini(f"[pytest]\n{ini}\n")
    shop.makepyfile(
        f"""
        import pytest

        @pytest.mark.mainspring({mark})
        def test_it(mainspring):
            pass
        """
    )
    result = run(shop)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_the_plugin_imports_nothing_until_it_is_used() -> None:
    program = (
        "import json, sys, pytest, datetime; before = set(sys.modules);"
        "import mainspring.testing.pytest_plugin;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, text=True, stdout=subprocess.PIPE
    )
    assert json.loads(done.stdout) == [
        "mainspring",
        "mainspring.testing",
        "mainspring.testing.pytest_plugin",
    ]

"""The guide to testing holds what it says: its snippets are run as a user would run them."""

import re
from pathlib import Path

import pytest

import mainspring
import mainspring.testing.kit  # not forgotten after the run inside

assert all(getattr(mainspring, name) for name in mainspring.__all__)

pytest_plugins = "pytester"

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "testing.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
FAILURE = re.compile(r"^```text\nAssertionError: (.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_snippets_of_the_guide_run(pytester: pytest.Pytester) -> None:
    shop, *tests = BLOCKS
    assert shop.startswith("# shop.py")
    pytester.makefile(".py", shop=shop)
    pytester.makefile(".py", test_shop="\n\n".join(tests))
    pytester.makeini("[pytest]\nmainspring_apps = shop:app\nanyio_mode = auto\n")
    pytester.syspathinsert()
    count = len(re.findall(r"^(?:async )?def test_", "\n".join(tests), re.MULTILINE))
    result = pytester.runpytest_inprocess("-q", "-p", "no:randomly", "-W", "error")
    result.assert_outcomes(passed=count)


def test_the_failure_in_the_guide_is_the_real_one(pytester: pytest.Pytester) -> None:
    shown = FAILURE.search(GUIDE.read_text())
    assert shown is not None
    pytester.makefile(".py", shop=BLOCKS[0])
    pytester.makepyfile(
        """
        import shop

        def test_checkout(mainspring):
            mainspring.install(shop.app)
            shop.checkout(1)
            mainspring.assert_submitted(shop.charge, order_id=2, delay="15m")
        """
    )
    pytester.syspathinsert()
    result = pytester.runpytest_inprocess("-q", "-p", "no:randomly")
    result.assert_outcomes(failed=1)
    lines = shown.group(1).splitlines()
    result.stdout.fnmatch_lines([f"E*{line.strip()}" for line in lines])

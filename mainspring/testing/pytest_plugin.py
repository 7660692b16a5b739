"""The pytest plugin: the fixture ``mainspring``, a testing kit for each test that asks for it.

It is loaded wherever Mainspring is installed, so it imports nothing but pytest until a test uses
the fixture. Which apps it takes over is said by the fixture ``mainspring_apps``: the ini option of
the same name, unless it is overridden.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from mainspring.app.declare import App
    from mainspring.testing.kit import Kit

_MARK: Final = (
    'mainspring(mode="manual", start=None): how the fixture of this name begins: the mode is '
    '"manual" or "inline", start is an aware datetime or its ISO text.'
)
_MARK_NAMES: Final = ("mode", "start")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini options."""
    parser.addini(
        "mainspring_apps",
        "Apps that the fixture mainspring takes over, one a line: module:attribute.",
        type="linelist",
        default=[],
    )
    parser.addini(
        "mainspring_mode",
        "How jobs are run unless a test says otherwise: manual or inline.",
        default="manual",
    )
    parser.addini(
        "mainspring_start",
        "The instant at which the clock of each test begins (ISO, with its zone); default: now.",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture(scope="session")
def mainspring_apps(pytestconfig: pytest.Config) -> "Sequence[App]":
    """Return the apps that the ini option names. Override it to give them in code."""
    references: list[str] = pytestconfig.getini("mainspring_apps")
    if not references:
        return []
    from mainspring.app.loading import load_app
    from mainspring.domain.errors import MainspringError

    apps = []
    for reference in references:
        try:
            apps.append(load_app(reference))
        except MainspringError as error:
            raise pytest.UsageError(f"mainspring_apps: {error.message} ({error.hint})") from error
    return apps


@pytest.fixture
def mainspring(
    request: pytest.FixtureRequest, mainspring_apps: "Sequence[App] | App"
) -> "Iterator[Kit]":
    """Run jobs of your apps for real, in this test, under its own clock.

    >>> def test_checkout(mainspring):
    ...     checkout(cart)
    ...     mainspring.assert_submitted(charge, order_id=1, delay="10m")
    ...     mainspring.advance("10m")
    ...     assert mainspring.drain().succeeded == 1
    """
    from mainspring.domain.errors import MainspringError
    from mainspring.testing.kit import Kit

    config = request.config
    given: dict[str, Any] = {
        "mode": config.getini("mainspring_mode"),
        "start": config.getini("mainspring_start") or None,
    }
    given.update(_marked(request))
    apps = mainspring_apps if isinstance(mainspring_apps, list | tuple) else [mainspring_apps]
    try:
        kit = Kit(*apps, mode=given["mode"], start=_instant(given["start"]))
    except MainspringError as error:
        raise pytest.UsageError(f"{error.message} ({error.hint})") from error
    with kit:
        yield kit


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = {}
    # The nearest mark comes last and counts.
    for mark in reversed(list(request.node.iter_markers("mainspring"))):
        unknown = [name for name in mark.kwargs if name not in _MARK_NAMES]
        if mark.args or unknown:
            wrong = repr(mark.args[0]) if mark.args else unknown[0]
            raise pytest.UsageError(
                f"the mark mainspring has no {wrong}; it takes mode= and start="
            )
        found.update(mark.kwargs)
    return found


def _instant(given: object) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise pytest.UsageError(
            f"mainspring_start: {given!r} is not an instant; write 2027-01-31T09:00:00+01:00"
        ) from None

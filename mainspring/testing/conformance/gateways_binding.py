"""All suites of gateways, and how a module of tests binds them to one kind of gateway in a line."""

from typing import Any, Final

from mainspring.testing.conformance.gateways import (
    GatewayClaimSuite,
    GatewaySessionSuite,
    GatewaySuite,
)
from mainspring.testing.conformance.gateways_reports import GatewayNewsSuite, GatewayReportSuite

EVERY_GATEWAY_SUITE: Final[tuple[type[GatewaySuite], ...]] = (
    GatewaySessionSuite,
    GatewayClaimSuite,
    GatewayReportSuite,
    GatewayNewsSuite,
)


def bound_gateways(module: str) -> dict[str, Any]:
    """Return a test class a suite, for ``globals().update(bound_gateways(__name__))``."""
    names = {suite: f"Test{suite.__name__.removesuffix('Suite')}" for suite in EVERY_GATEWAY_SUITE}
    return {
        name: type(name, (suite,), {"__module__": module, "__doc__": suite.__doc__})
        for suite, name in names.items()
    }

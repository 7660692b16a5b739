"""Mainspring: a distributed job scheduler. This is what users import.

>>> from mainspring import App, Context, Retry
>>> app = App("shop")

Invariants
----------
* ``import mainspring`` loads nothing but this file; each name brings its module when first used.
* ``__init__.pyi`` tells type checkers where the names live; a test keeps the two equal.
* Nothing here connects, starts or reads anything; ``connect`` does so when it is entered.
"""

import importlib
from typing import Final

__version__: Final = "0.1.0.dev0"

__all__ = [
    "App",
    "AsyncClient",
    "Call",
    "Cancelled",
    "Client",
    "ConfigError",
    "Conflict",
    "ConnectionFailed",
    "Context",
    "DuplicateJob",
    "Event",
    "Fail",
    "Failure",
    "FileRef",
    "Fire",
    "Handle",
    "InvalidInput",
    "InvalidPayload",
    "Job",
    "JobCancelled",
    "JobDead",
    "JobFailed",
    "LeaseLost",
    "MainspringError",
    "NotFound",
    "NotInTransaction",
    "ResultTimeout",
    "Retry",
    "RetryAfter",
    "Snooze",
    "__version__",
    "backoff",
    "connect",
    "connect_sync",
]

_HOME: Final = {
    "App": "mainspring.runtime.application",
    "AsyncClient": "mainspring.runtime.connect",
    "Call": "mainspring.app.declare",
    "Cancelled": "mainspring.app.signals",
    "Client": "mainspring.runtime.connect",
    "ConfigError": "mainspring.domain.errors",
    "Conflict": "mainspring.domain.errors",
    "ConnectionFailed": "mainspring.domain.errors",
    "Context": "mainspring.app.context",
    "DuplicateJob": "mainspring.domain.errors",
    "Event": "mainspring.client.following",
    "Fail": "mainspring.app.signals",
    "Failure": "mainspring.app.declare",
    "FileRef": "mainspring.app.files",
    "Fire": "mainspring.app.fires",
    "Handle": "mainspring.app.handles",
    "InvalidInput": "mainspring.domain.errors",
    "InvalidPayload": "mainspring.domain.errors",
    "Job": "mainspring.app.declare",
    "JobCancelled": "mainspring.domain.errors",
    "JobDead": "mainspring.domain.errors",
    "JobFailed": "mainspring.domain.errors",
    "LeaseLost": "mainspring.domain.errors",
    "MainspringError": "mainspring.domain.errors",
    "NotFound": "mainspring.domain.errors",
    "NotInTransaction": "mainspring.domain.errors",
    "ResultTimeout": "mainspring.domain.errors",
    "Retry": "mainspring.app.retries",
    "RetryAfter": "mainspring.app.signals",
    "Snooze": "mainspring.app.signals",
    "backoff": "mainspring.app.backoff",
    "connect": "mainspring.runtime.connect",
    "connect_sync": "mainspring.runtime.connect",
}
#: Names that are modules themselves.
_MODULES: Final = ("backoff",)


def __getattr__(name: str) -> object:
    """Bring a public name's module when the name is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(home)
    found: object = module if name in _MODULES else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)

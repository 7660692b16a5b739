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
    "BlockingHandle",
    "Call",
    "Client",
    "Context",
    "Fail",
    "Failure",
    "Handle",
    "Job",
    "JobCancelled",
    "JobFailed",
    "MainspringError",
    "Retry",
    "RetryAfter",
    "Snooze",
    "WaitTimedOut",
    "__version__",
    "connect",
    "connect_sync",
]

_HOME: Final = {
    "App": "mainspring.app.declare",
    "AsyncClient": "mainspring.client.client",
    "BlockingHandle": "mainspring.client.blocking",
    "Call": "mainspring.app.declare",
    "Client": "mainspring.client.blocking",
    "Context": "mainspring.app.context",
    "Fail": "mainspring.app.signals",
    "Failure": "mainspring.app.declare",
    "Handle": "mainspring.client.client",
    "Job": "mainspring.app.declare",
    "JobCancelled": "mainspring.app.signals",
    "JobFailed": "mainspring.domain.errors",
    "MainspringError": "mainspring.domain.errors",
    "Retry": "mainspring.app.handlers",
    "RetryAfter": "mainspring.app.signals",
    "Snooze": "mainspring.app.signals",
    "WaitTimedOut": "mainspring.domain.errors",
    "connect": "mainspring.runtime.connect",
    "connect_sync": "mainspring.runtime.connect",
}


def __getattr__(name: str) -> object:
    """Bring a public name's module when the name is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)

from typing import Final

from mainspring.app.context import Context as Context
from mainspring.app.declare import App as App
from mainspring.app.declare import Call as Call
from mainspring.app.declare import Failure as Failure
from mainspring.app.declare import Job as Job
from mainspring.app.handlers import Retry as Retry
from mainspring.app.signals import (
    Fail as Fail,
)
from mainspring.app.signals import (
    JobCancelled as JobCancelled,
)
from mainspring.app.signals import (
    RetryAfter as RetryAfter,
)
from mainspring.app.signals import (
    Snooze as Snooze,
)
from mainspring.client.blocking import BlockingHandle as BlockingHandle
from mainspring.client.blocking import Client as Client
from mainspring.client.client import AsyncClient as AsyncClient
from mainspring.client.client import Handle as Handle
from mainspring.domain.errors import (
    JobFailed as JobFailed,
)
from mainspring.domain.errors import (
    MainspringError as MainspringError,
)
from mainspring.domain.errors import (
    WaitTimedOut as WaitTimedOut,
)
from mainspring.runtime.connect import connect as connect
from mainspring.runtime.connect import connect_sync as connect_sync

__version__: Final[str]
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

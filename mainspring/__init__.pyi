from typing import Final

from mainspring.app import backoff as backoff
from mainspring.app.context import Context as Context
from mainspring.app.declare import Call as Call
from mainspring.app.declare import Failure as Failure
from mainspring.app.declare import Job as Job
from mainspring.app.files import FileRef as FileRef
from mainspring.app.fires import Fire as Fire
from mainspring.app.handles import Handle as Handle
from mainspring.app.retries import Retry as Retry
from mainspring.app.signals import Cancelled as Cancelled
from mainspring.app.signals import Fail as Fail
from mainspring.app.signals import RetryAfter as RetryAfter
from mainspring.app.signals import Snooze as Snooze
from mainspring.client.following import Event as Event
from mainspring.domain.errors import ConfigError as ConfigError
from mainspring.domain.errors import Conflict as Conflict
from mainspring.domain.errors import ConnectionFailed as ConnectionFailed
from mainspring.domain.errors import DuplicateJob as DuplicateJob
from mainspring.domain.errors import InvalidInput as InvalidInput
from mainspring.domain.errors import InvalidPayload as InvalidPayload
from mainspring.domain.errors import JobCancelled as JobCancelled
from mainspring.domain.errors import JobDead as JobDead
from mainspring.domain.errors import JobFailed as JobFailed
from mainspring.domain.errors import LeaseLost as LeaseLost
from mainspring.domain.errors import MainspringError as MainspringError
from mainspring.domain.errors import NotFound as NotFound
from mainspring.domain.errors import NotInTransaction as NotInTransaction
from mainspring.domain.errors import ResultTimeout as ResultTimeout
from mainspring.runtime.application import App as App
from mainspring.runtime.connect import AsyncClient as AsyncClient
from mainspring.runtime.connect import Client as Client
from mainspring.runtime.connect import connect as connect
from mainspring.runtime.connect import connect_sync as connect_sync

__version__: Final[str]
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

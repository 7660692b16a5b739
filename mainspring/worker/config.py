"""What a worker is told when it starts; it travels from the keeper to its children as JSON."""

from typing import Final

import msgspec

from mainspring.domain.job import DEFAULT_QUEUE
from mainspring.kinds import Kinds

DEFAULT_SLOTS: Final = 8
#: The worker's view of its lease ends this much before the store's; with short leases, less.
LEASE_MARGIN_SECONDS: Final = 1.0
LEASE_MARGIN_SHARE: Final = 0.2
#: Added to the grace in the store's hard deadline, so that the child's own report comes first.
HARD_DEADLINE_MARGIN_MS: Final = 5_000
#: Stores keep the number of a child in two bytes.
CHILD_NUMBER_MAX: Final = 32_767
#: How long a child may take from its last word to its end.
GOODBYE_SECONDS: Final = 5.0
#: How long handlers may take to stop when a drain has run out; the rest is handed back unstopped,
#: after the death of their process.
HAND_BACK_SECONDS: Final = 1.0


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How one worker runs. Slots per queue are per child; more slots than cores are normal."""

    #: ``module:attribute`` of the App; empty: the worker has nothing but ``kinds``.
    app: str
    #: What it has besides.
    kinds: Kinds = Kinds()
    queues: dict[str, int] = msgspec.field(default_factory=lambda: {DEFAULT_QUEUE: DEFAULT_SLOTS})
    processes: int = 1
    name: str = "worker"
    #: After SIGTERM: how long running handlers may finish.
    drain_seconds: float = 30.0
    #: After a timeout or cancel: how long a handler may take to stop.
    grace_seconds: float = 10.0
    lease_ms: int = 15_000
    beat_seconds: float = 5.0
    #: The longest wait without looking for work, where hints work.
    poll_seconds: float = 5.0
    #: Replace a child after so many jobs (against leaks in user code).
    max_jobs_per_child: int | None = None
    log_level: str = "info"

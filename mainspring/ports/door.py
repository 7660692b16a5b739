"""Where the calls of an app go: an open client, a caller's transaction, or a test kit.

An app knows no gateway and no loop; it hands submissions to the door that is open, and its handles
ask questions through it. One implementation a kind of place; all of them are interchangeable.
"""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from mainspring.ports.gateway import Accepted, ClientGateway, Submission

T = TypeVar("T")

#: A question to a gateway, put on whatever loop the gateway lives on.
Asking = Callable[[ClientGateway], Coroutine[Any, Any, T]]


class Door(Protocol):
    """Takes submissions and questions; each way in has a face that blocks and one that awaits.

    The blocking face raises ``Conflict`` where it would stop the loop that has to answer it.
    A door that belongs to a transaction submits inside it, and answers from outside of it.
    """

    @property
    def actor(self) -> str:
        """Return who stands in the audit for what is done through this door."""
        ...

    def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit all or nothing; block until it is acknowledged."""
        ...

    async def asubmit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit all or nothing."""
        ...

    def ask(self, asking: Asking[T]) -> T:
        """Put a question to the gateway behind; block until it is answered."""
        ...

    async def aask(self, asking: Asking[T]) -> T:
        """Put a question to the gateway behind, from whatever loop runs here."""
        ...


@runtime_checkable
class Lending(Protocol):
    """A door that has its own answer to ``job.using(...)``: a test kit's, for example."""

    def borrowed(self, connection: object) -> Door:
        """Return a door into the open transaction of a caller's connection."""
        ...

    def deferred(self, session: object) -> Door:
        """Return a door that submits after a session's commit."""
        ...

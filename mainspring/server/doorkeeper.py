"""Who stands before a door."""

from typing import Protocol

from mainspring.domain.access import EVERYBODY, Principal


class Doorkeeper(Protocol):
    """Knows people, programs and workers by what they show."""

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        """Return who it is; raise ``Unauthenticated`` or ``RateLimited``.

        ``authorization`` is the header (or the metadata) of that name, ``peer`` the address that
        the request came from, ``certificate`` the name in a client certificate that was verified.
        """
        ...

    def known(self, authorization: str) -> Principal | None:
        """Return who that is if it was found a moment ago; for the routes that must be fast."""
        ...

    def doubt(self) -> None:
        """Believe nobody any longer because of a moment ago: keys or tenants were changed."""
        ...


class OpenDoorkeeper:
    """Lets everybody do everything: for a server that only this machine can reach."""

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        """Return everybody."""
        del authorization, peer, certificate
        return EVERYBODY

    def known(self, authorization: str) -> Principal | None:
        """Return everybody."""
        del authorization
        return EVERYBODY

    def doubt(self) -> None:
        """Go on: everybody stays everybody."""

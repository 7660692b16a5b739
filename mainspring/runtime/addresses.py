"""Where doors are, and whether they may be there."""

import ipaddress
import socket
from typing import Final, NamedTuple

from mainspring.domain.errors import ConfigError

_BACKLOG: Final = 1_024
_PORT_MAX: Final = 65_535


class Address(NamedTuple):
    """A host and a port to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as it is written in addresses of the web."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Say whether nobody but this machine can come that way."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_address(option: str, text: str) -> Address:
    """Read ``HOST:PORT``, or raise saying how it is written."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if colon and host and port.isdecimal() and int(port) <= _PORT_MAX:
        return Address(host, int(port))
    raise ConfigError(
        f"{option}: {text!r} is no address", hint="write HOST:PORT, for example 127.0.0.1:8470"
    )


def listen(option: str, address: Address) -> socket.socket:
    """Return a socket that listens there, or raise saying what is in the way."""
    try:
        found = socket.create_server(
            (address.host, address.port),
            family=socket.AF_INET6 if ":" in address.host else socket.AF_INET,
            backlog=_BACKLOG,
        )
    except OSError as error:
        # Python adds the address in brackets, which we have said.
        why = (error.strerror or str(error)).partition(" (while")[0]
        raise ConfigError(
            f"{option}: {address} cannot be opened: {why}",
            hint=f"stop what listens there, or choose another with --{option}",
        ) from None
    found.setblocking(False)
    # What it accepts inherits this; asyncio sets it only where a socket names its protocol. Without
    # it the body of an answer waits until the client has confirmed the head: 40 ms.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def bound_to(listening: socket.socket, address: Address) -> Address:
    """Return where a socket listens, its port chosen by the system where 0 was asked for."""
    return Address(address.host, listening.getsockname()[1])

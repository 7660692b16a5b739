"""Ports on the loopback interface that nobody uses right now.

They lie below the range from which the kernel serves outgoing connections (32768 and up on Linux).
A server that is killed and started again must find its port free, and a test's own clients would
otherwise take it.
"""

import errno
import itertools
import os
import socket

from mainspring.ports.clock import monotonic

LOOPBACK = "127.0.0.1"
_FIRST_PORT = 20_000
_PORTS = 12_000


def is_free(port: int) -> bool:
    """Whether a server could listen there, which may have changed by the time the caller tries."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: ports of connections that have just ended count as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                return False
            raise
    return True


def free_ports(count: int) -> list[int]:
    """So many different free ports; a guess, so callers try again when a server cannot bind."""
    # Processes that ask at the same moment should not walk over the same numbers.
    start = os.getpid() * 61 + int(monotonic() * 1_000_003)
    candidates = (_FIRST_PORT + (start + step) % _PORTS for step in range(_PORTS))
    found = list(itertools.islice((port for port in candidates if is_free(port)), count))
    if len(found) < count:
        raise OSError(errno.EADDRINUSE, f"fewer than {count} free ports on {LOOPBACK}")
    return found

"""Faults on the network between a client and a server, made by a TCP proxy in the test's own loop.

    async with FaultProxy("127.0.0.1", server.port, protocol=Protocol.POSTGRES) as proxy:
        cut = proxy.cut_after(b"COMMIT")
        connection = await asyncpg.connect(proxy.through(dsn))

What it may import: the standard library. It works for clients in other processes as well.

Always true:

1. Bytes arrive in order and unchanged, or not at all. A black hole delays, as a real one does that
   ends before TCP gives up: what was sent into it arrives when it ends.
2. A delay does not limit the rate: what is sent meanwhile travels beside it.
3. A cut happens once, on one connection, at one place of the conversation, and is counted.
4. Leaving the block ends every connection.

How it fails: a target that cannot be reached shows as a reset of the client's connection.
"""

from mainspring.testing.faults.cuts import Cut, Then
from mainspring.testing.faults.proxy import FaultCounts, FaultProxy, Protocol

__all__ = ["Cut", "FaultCounts", "FaultProxy", "Protocol", "Then"]

"""Real servers for tests, benchmarks and demos: PostgreSQL 15 and 18, and S3; and wrong clocks.

What it may import: the standard library and `mainspring.ports.clock`. No event loop and no driver,
so that any thread of any program may use it.

Always true:

1. A server listens on 127.0.0.1 only, in a directory and on a port of its own, which it keeps until
   `stop`.
2. `start` returns when a real operation of the protocol has succeeded on *this* server; whoever
   else may have got hold of the port is not taken for it.
3. A server does not outlive the process that started it, not even one killed with SIGKILL (on
   Linux; elsewhere it needs `stop`). Its directory goes with it, or with the next server to start.
4. Only processes started here are ever signalled, by pid, and only while that pid cannot have
   passed to another.
5. Nothing here needs root, and root may do it: servers that refuse to run as root run as `nobody`.
6. A component that is missing (`ServerUnavailable`, with the command that would bring it) is never
   confused with one that is broken (`ServerFailed`, with its log). Tests skip for the first and
   fail for the second.
7. In a parallel test session each server exists once: see `host`.

How it fails: with one of the two exceptions above, after having ended whatever it had started.
"""

from mainspring.testing.servers.components import COMPONENTS, Provided, provide, unavailable
from mainspring.testing.servers.failures import ServerFailed, ServerUnavailable
from mainspring.testing.servers.faketime import wrong_by
from mainspring.testing.servers.host import ServerGuest, ServerHost, Servers
from mainspring.testing.servers.node import install_packages
from mainspring.testing.servers.postgres import PostgresServer
from mainspring.testing.servers.postgres_databases import Databases
from mainspring.testing.servers.report import Report, Use
from mainspring.testing.servers.s3 import S3Kind, S3Server
from mainspring.testing.servers.s3_wire import S3Access

__all__ = [
    "COMPONENTS",
    "Databases",
    "PostgresServer",
    "Provided",
    "Report",
    "S3Access",
    "S3Kind",
    "S3Server",
    "ServerFailed",
    "ServerGuest",
    "ServerHost",
    "ServerUnavailable",
    "Servers",
    "Use",
    "install_packages",
    "provide",
    "unavailable",
    "wrong_by",
]

"""The servers that tests may ask for by name."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from mainspring.testing.servers.failures import ServerFailed, ServerUnavailable
from mainspring.testing.servers.faketime import find_faketime, how_to_install_faketime
from mainspring.testing.servers.node import find_node, how_to_install_node
from mainspring.testing.servers.postgres import PostgresServer
from mainspring.testing.servers.postgres_databases import server_major
from mainspring.testing.servers.postgres_installations import find_installation, how_to_install
from mainspring.testing.servers.postgres_wire import QueryRefused
from mainspring.testing.servers.s3 import S3Server, find_s3_kind, how_to_install_s3

_POSTGRES = {"postgres_15": "15", "postgres_18": "18"}
_S3 = "s3"
_FAKETIME = "faketime"
_NODE = "node"
COMPONENTS = (*_POSTGRES, _S3, _FAKETIME, _NODE)


@dataclass(frozen=True, slots=True)
class Provided:
    """A server that serves: where it comes from, what a client must know, how to end it."""

    origin: str
    access: Mapping[str, str]
    stop: Callable[[], None]


def unavailable(component: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Why this machine cannot provide a component and the one command that changes it, or None.

    Looks, starts nothing. Example: `unavailable("postgres_15")`.
    """
    if component in _POSTGRES:
        major = _POSTGRES[component]
        if _given_dsn(major, environment) or find_installation(major):
            return None
        return f"{how_to_install(major)} (or set {_variable(major)} to the DSN of a server)"
    if component == _S3:
        return None if find_s3_kind() else how_to_install_s3()
    if component == _FAKETIME:
        return None if find_faketime() else how_to_install_faketime()
    if component == _NODE:
        return None if find_node() else how_to_install_node()
    raise ValueError(f"unknown component {component!r}; there are {', '.join(COMPONENTS)}")


def provide(component: str, environment: Mapping[str, str] | None = None) -> Provided:
    """Start a component, or take the server that the environment names.

    Raises `ServerUnavailable` when there is none to be had, and `ServerFailed` when there is one
    that does not work: that must never be mistaken for its absence.
    """
    reason = unavailable(component, environment)
    if reason is not None:
        raise ServerUnavailable(reason)
    if component == _S3:
        storage = S3Server()
        storage.start()
        return Provided(storage.origin, asdict(storage.access), storage.stop)
    if component == _FAKETIME:
        library = str(find_faketime())
        return Provided(library, {"library": library}, lambda: None)
    if component == _NODE:
        node = find_node()
        assert node is not None
        return Provided(node.program, {"node": node.program, "npm": node.npm}, lambda: None)
    major = _POSTGRES[component]
    dsn = _given_dsn(major, environment)
    if dsn is not None:
        return _given_server(dsn, major)
    server = PostgresServer(major)
    server.start()
    return Provided(server.origin, {"dsn": server.dsn}, server.stop)


def _given_server(dsn: str, major: str) -> Provided:
    # Never the DSN in a message: it may hold a password.
    try:
        found = server_major(dsn)
    except (OSError, QueryRefused, ValueError) as error:
        raise ServerFailed(f"the server that {_variable(major)} names: {error}") from error
    if str(found) != major:
        raise ServerFailed(f"{_variable(major)} names a server of version {found}")
    return Provided(f"{_variable(major)}", {"dsn": dsn}, lambda: None)


def _given_dsn(major: str, environment: Mapping[str, str] | None) -> str | None:
    return (os.environ if environment is None else environment).get(_variable(major)) or None


def _variable(major: str) -> str:
    return f"MAINSPRING_TEST_PG_DSN_{major}"

"""Stores for chaos runs: a SQLite file, and a PostgreSQL server of the run's own, with fsync on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mainspring.testing.servers import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'chaos.db'}"
    server: PostgresServer = request.getfixturevalue("durable_postgres")
    return server.create_database()


@pytest.fixture
def durable_postgres(own_postgres: Callable[..., PostgresServer]) -> PostgresServer:
    """Give a server that may be killed."""
    return own_postgres("15", fsync=True)

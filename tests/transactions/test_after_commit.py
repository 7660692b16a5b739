"""After a session's commit, by the app's own door: nothing before it, nothing after a rollback."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from mainspring.client.blocking import Client
from mainspring.domain.errors import InvalidInput, NotInTransaction, PayloadTooLarge
from tests.transactions.shop import app, charge
from tests.transactions.ways import TABLE, prepare_django


@pytest.fixture
def client(sqlite_url: str) -> Iterator[Client]:
    with app.connect_sync(sqlite_url) as opened:
        yield opened


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session of another database than the store's."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'own.db'}")
    with Session(engine) as opened:
        opened.execute(sqlalchemy.text(TABLE))
        opened.commit()
        yield opened
    engine.dispose()


def ids(client: Client) -> list[str]:
    return [job.payload.decode() for job in reversed(client.jobs.list().items)]


def order(session: Session, number: int) -> None:
    session.execute(sqlalchemy.text(f"INSERT INTO orders (id) VALUES ({number})"))


def test_it_is_submitted_by_the_commit(client: Client, session: Session) -> None:
    order(session, 1)
    handle = charge.after_commit(session).submit(1)
    assert ids(client) == []
    session.commit()
    assert client.jobs.get(handle.id).payload == b'{"order_id":1}'
    order(session, 2)
    session.commit()
    assert len(ids(client)) == 1


def test_without_a_transaction_there_is_no_commit(client: Client, session: Session) -> None:
    with pytest.raises(NotInTransaction, match="no transaction is open"):
        charge.after_commit(session).submit(1)


def test_a_rollback_forgets_it(client: Client, session: Session) -> None:
    order(session, 1)
    charge.after_commit(session).submit(1)
    session.rollback()
    order(session, 2)
    session.commit()
    assert ids(client) == []


def test_closing_without_commit_forgets_it(client: Client, session: Session) -> None:
    order(session, 1)
    charge.after_commit(session).submit(1)
    session.close()
    order(session, 2)
    session.commit()
    assert ids(client) == []


def test_savepoints(client: Client, session: Session) -> None:
    with session.begin():
        with session.begin_nested():
            order(session, 1)
            charge.after_commit(session).submit(1)
        assert ids(client) == []
        undone = session.begin_nested()
        charge.after_commit(session).submit(2)
        with session.begin_nested():
            charge.after_commit(session).submit(3)
        undone.rollback()
        charge.after_commit(session).submit(4)
    assert ids(client) == ['{"order_id":1}', '{"order_id":4}']


def test_a_scoped_session(client: Client, tmp_path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'own.db'}")
    scoped = scoped_session(sessionmaker(engine))
    with scoped.begin():
        charge.after_commit(scoped).submit(1)
    scoped.remove()
    engine.dispose()
    assert len(ids(client)) == 1


def test_an_async_session(sqlite_url: str, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'own.db'}")
        async with app.connect(sqlite_url) as client, AsyncSession(engine) as session:
            await session.connection()
            charge.after_commit(session).submit(1)
            await session.rollback()
            async with session.begin():
                handle = await charge.after_commit(session).asubmit(2)
                assert (await client.jobs.list()).items == ()
            found = [job.payload for job in (await client.jobs.list()).items]
            assert (await handle.aget()).payload == b'{"order_id":2}'
        await engine.dispose()
        return found

    assert asyncio.run(work()) == [b'{"order_id":2}']


def test_django(client: Client, tmp_path: Path, django_alias: Callable[[str], str]) -> None:
    from django.db import transaction

    alias = django_alias(str(tmp_path / "own.db"))
    with transaction.atomic(using=alias):
        charge.after_commit(alias).submit(1)
        assert ids(client) == []
    with transaction.atomic(using=alias):
        charge.after_commit(alias).submit(2)
        transaction.set_rollback(True, using=alias)
    assert ids(client) == ['{"order_id":1}']


@pytest.fixture
def django_alias() -> Iterator[Callable[[str], str]]:
    from django.db import connections

    prepare_django()

    def make(path: str) -> str:
        memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
        own = {"ENGINE": "django.db.backends.sqlite3", "NAME": path}
        found = connections.configure_settings({"default": memory, "own": own})
        connections.databases["own"] = found["own"]
        return "own"

    yield make
    connections["own"].close()
    del connections["own"]
    del connections.databases["own"]


def test_a_bad_payload_is_refused_at_once(
    session: Session, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_PAYLOAD_BYTES", "100")
    order(session, 1)
    with app.connect_sync(sqlite_url), pytest.raises(PayloadTooLarge):
        charge.after_commit(session).submit(1, note="x" * 200)


def test_a_connection_does_not_tell(session: Session) -> None:
    with pytest.raises(InvalidInput, match="does not tell when it commits"):
        charge.after_commit(session.connection()).submit(1)

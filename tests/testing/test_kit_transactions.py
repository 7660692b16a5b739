"""Callers' transactions in a test: the drivers are real, only the store is the test's."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from mainspring import App, Context
from mainspring.domain.errors import InvalidInput, NotInTransaction
from mainspring.testing import Kit
from tests.testing import shop

app = App("payments")


@app.job()
def pay(ctx: Context[Any], amount: int) -> None:
    with ctx.transaction(ctx.deps.open()) as tx:
        tx.connection.execute("INSERT INTO paid VALUES (?)", (amount,))
        tx.result = {"paid": amount}
        if amount < 0:
            raise ValueError(amount)


@app.job()
async def apay(ctx: Context[Any], amount: int) -> None:
    async with ctx.transaction(ctx.deps.session) as tx:
        await tx.connection.execute(text("INSERT INTO paid VALUES (:amount)"), {"amount": amount})
        tx.result = amount


class Database:
    def __init__(self, path: Path) -> None:
        self.path = str(path / "own.db")
        with sqlite3.connect(self.path) as connection:
            connection.execute("CREATE TABLE paid (amount INTEGER)")
        connection.close()
        self.connections: list[sqlite3.Connection] = []

    def open(self) -> sqlite3.Connection:
        self.connections.append(sqlite3.connect(self.path))
        return self.connections[-1]

    def paid(self) -> list[int]:
        return [row[0] for row in self.open().execute("SELECT amount FROM paid")]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    for connection in opened.connections:
        connection.close()


@pytest.fixture
def kit(mainspring: Kit, database: Database) -> Kit:
    mainspring.install(app)
    mainspring.deps = database
    return mainspring


def test_an_attempt_ends_with_its_transaction(kit: Kit, database: Database) -> None:
    handle = pay.submit(5)
    assert kit.drain().succeeded == 1
    assert (database.paid(), handle.result()) == ([5], {"paid": 5})


def test_an_error_undoes_both(kit: Kit, database: Database) -> None:
    handle = pay.submit(-5)
    assert kit.drain().retried == 1
    assert (database.paid(), kit.job(handle).state) == ([], "retrying")


def test_a_worker_that_vanishes_after_the_commit_harms_nobody(kit: Kit, database: Database) -> None:
    kit.lose(pay)
    handle = pay.submit(5)
    kit.advance("1m", drain=True)
    assert database.paid() == [5]
    assert [attempt.state for attempt in kit.attempts(handle)] == ["succeeded"]


def test_a_lost_lease_rolls_back(kit: Kit, database: Database) -> None:
    def open_late() -> sqlite3.Connection:
        kit.advance("1h", drain=False)
        return database.open()

    kit.deps = SimpleNamespace(open=open_late)
    handle = pay.submit(5)
    kit.drain(limit=1)
    assert database.paid() == []
    assert [attempt.state for attempt in kit.attempts(handle)] == ["timed_out"]


def test_a_fake_connection_is_taken_as_it_is(kit: Kit) -> None:
    said: list[object] = []
    fake = SimpleNamespace(execute=lambda *words: said.append(words))
    kit.deps = SimpleNamespace(open=lambda: fake)
    handle = pay.submit(5)
    kit.drain()
    assert handle.result() == {"paid": 5}
    assert len(said) == 1
    shop.send.using(fake).submit("ada")
    shop.send.after_commit(fake).submit("bob")
    kit.assert_submitted(shop.send, times=2)


def test_without_a_connection_there_is_nothing_to_commit(kit: Kit) -> None:
    kit.deps = SimpleNamespace(open=lambda: None)
    handle = pay.submit(5)
    kit.drain()
    error = kit.job(handle).error
    assert error is not None
    assert "needs a connection in a test" in error.message


async def test_an_awaited_session(kit: Kit, database: Database) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{database.path}")
    async with AsyncSession(engine) as session:
        kit.deps = SimpleNamespace(session=session)
        handle = await apay.asubmit(7)
        await kit.adrain()
        assert await handle.aresult() == 7
        async with session.begin():
            await shop.send.using(session).asubmit("ada")
    await engine.dispose()
    kit.assert_submitted(shop.send, "ada")
    assert database.paid() == [7]


def test_submitting_asks_for_an_open_transaction(kit: Kit, database: Database) -> None:
    connection = sqlite3.connect(database.path, isolation_level=None)
    with pytest.raises(NotInTransaction):
        shop.send.using(connection).submit("ada")
    kit.refute_submitted(shop.send)
    connection.execute("BEGIN")
    shop.send.using(connection).submit("ada")
    kit.assert_submitted(shop.send, "ada")
    connection.close()


def test_after_the_commit_means_after_the_commit(kit: Kit, database: Database) -> None:
    engine = create_engine(f"sqlite:///{database.path}")
    with Session(engine) as session:
        session.execute(text("INSERT INTO paid VALUES (1)"))
        shop.send.after_commit(session).submit("rolled back")
        session.rollback()
        session.execute(text("INSERT INTO paid VALUES (2)"))
        handle = shop.send.after_commit(session).submit("ada")
        kit.refute_submitted(shop.send)
        session.commit()
    engine.dispose()
    assert kit.assert_submitted(shop.send, times=1).id == handle.id
    assert kit.drain().succeeded == 1
    assert handle.result() == 3


def test_what_is_no_connection_is_refused(kit: Kit, database: Database) -> None:
    engine = create_engine(f"sqlite:///{database.path}")
    with pytest.raises(InvalidInput, match="is no connection"):
        shop.send.using(engine).submit("ada")
    with pytest.raises(InvalidInput, match="nothing was given"):
        shop.send.using(None).submit("ada")
    engine.dispose()

"""The guide to transactions holds what it says: its snippets run."""

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.transactions.conftest import Worker

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "transactions.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def guide() -> Any:
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile("\n".join(BLOCKS), str(GUIDE), "exec"), names)  # our own page
    return names


def test_orders_on_postgres(postgres_url: str) -> None:
    shop = guide()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
    with shop["app"].connect_sync(postgres_url) as client:
        shop["order_by_psycopg"](postgres_url, 1)
        with psycopg.connect(postgres_url) as connection:
            shop["orders_by_psycopg"](connection, [2, 3])
        address = postgres_url.replace("postgresql", "postgresql+psycopg", 1)
        engine = sqlalchemy.create_engine(address)
        with Session(engine) as session:
            shop["order_by_sqlalchemy"](session, 4)
        with Session(engine) as session:
            shop["order_then_charge"](session, 5)
        engine.dispose()

        async def on_a_loop() -> None:
            async with asyncpg.create_pool(postgres_url, min_size=1, max_size=1) as pool:
                await shop["order_by_asyncpg"](pool, 6)
            awaited = create_async_engine(address.replace("+psycopg", "+asyncpg", 1))
            async with AsyncSession(awaited) as session:
                await shop["order_by_async_sqlalchemy"](session, 7)
            await awaited.dispose()

        asyncio.run(on_a_loop())
        found = sorted(job.payload for job in client.jobs.list().items)
        assert found == [b'{"order_id":%d}' % number for number in (1, 2, 2, 3, 4, 5, 6, 7)]


def test_orders_on_sqlite(sqlite_url: str) -> None:
    shop = guide()
    path = sqlite_url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
    connection.close()
    with shop["app"].connect_sync(sqlite_url) as client:
        shop["order_by_sqlite"](path, 1)
        (job,) = client.jobs.list().items
        assert job.payload == b'{"order_id":1}'


def test_payments_end_their_attempts(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "guide_shop.py").write_text("\n".join(BLOCKS))
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE payments (order_id integer)")
    shop = guide()
    with (
        shop["app"].connect_sync(postgres_url),
        Worker(postgres_url, "guide_shop:app", folder=tmp_path),
    ):
        first = shop["settle"].submit(postgres_url, 1)
        second = shop["settle_later"].submit(postgres_url, 2)
        assert first.result(timeout="30s") == second.result(timeout="30s") == "paid"
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT order_id FROM payments ORDER BY 1").fetchall()
    assert found == [(1,), (2,)]

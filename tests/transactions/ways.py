"""Every way in which a caller may bring a transaction, behind one face that blocks.

Each imports its driver when it opens: a process that is started for one way pays for that one only.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit

from mainspring import Job

TABLE = "CREATE TABLE IF NOT EXISTS orders (id integer PRIMARY KEY)"


class Way:
    """One caller: opens a connection, writes an order, submits, and ends its transaction."""

    store: ClassVar[str] = "postgres"

    def __init__(self, url: str) -> None:
        self.url = url
        self.given: Any = None
        self.stack = ExitStack()

    @property
    def path(self) -> str:
        return self.url.removeprefix("sqlite:///")

    def open(self) -> None: ...
    def begin(self) -> None: ...
    def execute(self, text: str) -> Any: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...

    def close(self) -> None:
        self.stack.close()

    def autocommit(self) -> None:
        """Bring a connection that commits each statement by itself."""
        raise NotImplementedError

    def submit(self, job: Job[..., Any], *args: Any, **kwargs: Any) -> Any:
        return job.using(self.given).submit(*args, **kwargs)

    def submit_many(self, app: Any, calls: Any) -> Any:
        return app.using(self.given).submit_many(calls)

    def add_order(self, number: int) -> None:
        self.execute(f"INSERT INTO orders (id) VALUES ({number})")


class AwaitingWay(Way):
    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.runner = self.stack.enter_context(asyncio.Runner())
        self.run: Callable[[Coroutine[Any, Any, Any]], Any] = self.runner.run

    def submit(self, job: Job[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.run(job.using(self.given).asubmit(*args, **kwargs))

    def submit_many(self, app: Any, calls: Any) -> Any:
        return self.run(app.using(self.given).asubmit_many(calls))


class Psycopg(Way):
    def open(self) -> None:
        import psycopg

        self.given = psycopg.connect(self.url, row_factory=psycopg.rows.dict_row)
        self.stack.callback(self.given.close)

    def execute(self, text: str) -> Any:
        return self.given.execute(text)

    def commit(self) -> None:
        self.given.commit()

    def rollback(self) -> None:
        self.given.rollback()

    def autocommit(self) -> None:
        self.given.autocommit = True


class PsycopgBlock(Psycopg):
    """Autocommit, but inside of ``with connection.transaction()``."""

    def open(self) -> None:
        super().open()
        self.given.autocommit = True

    def begin(self) -> None:
        self.block = self.given.transaction()
        self.block.__enter__()

    def commit(self) -> None:
        self.block.__exit__(None, None, None)

    def rollback(self) -> None:
        import psycopg

        error = psycopg.Rollback()
        self.block.__exit__(psycopg.Rollback, error, None)

    def autocommit(self) -> None: ...


class Psycopg2(Way):
    def open(self) -> None:
        import psycopg2

        self.given = psycopg2.connect(self.url)
        self.stack.callback(self.given.close)

    def execute(self, text: str) -> Any:
        with self.given.cursor() as cursor:
            cursor.execute(text)

    def commit(self) -> None:
        self.given.commit()

    def rollback(self) -> None:
        self.given.rollback()

    def autocommit(self) -> None:
        self.given.autocommit = True


class PsycopgAsync(AwaitingWay):
    def open(self) -> None:
        import psycopg

        self.given = self.run(psycopg.AsyncConnection.connect(self.url))
        self.stack.callback(lambda: self.run(self.given.close()))

    def execute(self, text: str) -> Any:
        return self.run(self.given.execute(text))

    def commit(self) -> None:
        self.run(self.given.commit())

    def rollback(self) -> None:
        self.run(self.given.rollback())

    def autocommit(self) -> None:
        self.run(self.given.set_autocommit(True))


class Asyncpg(AwaitingWay):
    def open(self) -> None:
        import asyncpg

        self.given = self.run(cast("Any", asyncpg.connect(self.url)))
        self.stack.callback(lambda: self.run(self.given.close()))

    def begin(self) -> None:
        self.block = self.given.transaction()
        self.run(self.block.start())

    def execute(self, text: str) -> Any:
        return self.run(self.given.execute(text))

    def commit(self) -> None:
        self.run(self.block.commit())

    def rollback(self) -> None:
        self.run(self.block.rollback())

    def autocommit(self) -> None: ...


class AsyncpgPool(Asyncpg):
    def open(self) -> None:
        import asyncpg

        async def opened() -> Any:
            return await asyncpg.create_pool(self.url, min_size=1, max_size=1)

        self.pool = self.run(opened())
        self.stack.callback(lambda: self.run(self.pool.close()))
        self.given = self.run(self._acquire())
        self.stack.callback(lambda: self.run(self.pool.release(self.given)))

    async def _acquire(self) -> Any:
        return await self.pool.acquire()


class Sqlalchemy(Way):
    driver: ClassVar[str] = "postgresql+psycopg"

    def engine(self, **options: Any) -> Any:
        import sqlalchemy

        if self.store == "sqlite":
            address = f"{self.driver}:///{self.path}"
        else:
            address = self.url.replace("postgresql", self.driver, 1)
        return sqlalchemy.create_engine(address, **options)

    def bring(self, engine: Any) -> None:
        from sqlalchemy.orm import Session

        self.given = Session(engine)
        self.stack.callback(engine.dispose)
        self.stack.callback(self.given.close)

    def open(self) -> None:
        self.bring(self.engine())

    def execute(self, text: str) -> Any:
        import sqlalchemy

        return self.given.execute(sqlalchemy.text(text))

    def commit(self) -> None:
        self.given.commit()

    def rollback(self) -> None:
        self.given.rollback()

    def autocommit(self) -> None:
        self.stack.close()
        self.bring(self.engine(isolation_level="AUTOCOMMIT"))


class SqlalchemyConnection(Sqlalchemy):
    def bring(self, engine: Any) -> None:
        self.given = engine.connect()
        self.stack.callback(engine.dispose)
        self.stack.callback(self.given.close)


class SqlalchemyPsycopg2(Sqlalchemy):
    driver = "postgresql+psycopg2"


class SqlalchemySqlite(Sqlalchemy):
    store = "sqlite"
    driver = "sqlite"


class SqlalchemyAsync(AwaitingWay, Sqlalchemy):
    driver = "postgresql+asyncpg"

    def engine(self, **options: Any) -> Any:
        from sqlalchemy.ext.asyncio import create_async_engine

        if self.store == "sqlite":
            return create_async_engine(f"{self.driver}:///{self.path}", **options)
        return create_async_engine(self.url.replace("postgresql", self.driver, 1), **options)

    def bring(self, engine: Any) -> None:
        from sqlalchemy.ext.asyncio import AsyncSession

        self.given = AsyncSession(engine)
        self.stack.callback(lambda: self.run(engine.dispose()))
        self.stack.callback(lambda: self.run(self.given.close()))

    def execute(self, text: str) -> Any:
        import sqlalchemy

        return self.run(self.given.execute(sqlalchemy.text(text)))

    def commit(self) -> None:
        self.run(self.given.commit())

    def rollback(self) -> None:
        self.run(self.given.rollback())

    def autocommit(self) -> None:
        self.run(self.given.close())
        self.bring(self.engine(isolation_level="AUTOCOMMIT"))


class SqlalchemyAsyncConnection(SqlalchemyAsync):
    def bring(self, engine: Any) -> None:
        async def connected() -> Any:
            return await engine.connect()

        self.given = self.run(connected())
        self.stack.callback(lambda: self.run(engine.dispose()))
        self.stack.callback(lambda: self.run(self.given.close()))


class SqlalchemyAsyncPsycopg(SqlalchemyAsync):
    driver = "postgresql+psycopg"


class SqlalchemyAsyncSqlite(SqlalchemyAsync):
    store = "sqlite"
    driver = "sqlite+aiosqlite"


class Sqlite(Way):
    store = "sqlite"

    def open(self) -> None:
        import sqlite3

        self.given = sqlite3.connect(self.path)
        self.given.row_factory = sqlite3.Row
        self.stack.callback(self.given.close)

    def execute(self, text: str) -> Any:
        return self.given.execute(text)

    def commit(self) -> None:
        self.given.commit()

    def rollback(self) -> None:
        self.given.rollback()

    def autocommit(self) -> None:
        self.given.isolation_level = None


class SqliteExplicit(Sqlite):
    """No implicit transactions: BEGIN is the caller's."""

    def open(self) -> None:
        super().open()
        self.given.isolation_level = None

    def begin(self) -> None:
        self.given.execute("BEGIN")


class Aiosqlite(AwaitingWay):
    store = "sqlite"

    def open(self) -> None:
        self.given = self.run(self.connected())
        self.stack.callback(lambda: self.run(self.given.close()))

    async def connected(self, **options: Any) -> Any:
        import aiosqlite

        return await aiosqlite.connect(self.path, **options)

    def execute(self, text: str) -> Any:
        return self.run(self.given.execute(text))

    def commit(self) -> None:
        self.run(self.given.commit())

    def rollback(self) -> None:
        self.run(self.given.rollback())

    def autocommit(self) -> None:
        self.run(self.given.close())
        self.given = self.run(self.connected(isolation_level=None))


class Django(Way):
    """An alias of its own for each test: Django's settings are made once a process."""

    def open(self) -> None:
        from django.db import connections

        connections.databases["orders"] = self.database()
        self.given = "orders"
        self.stack.callback(self._forget)

    def database(self) -> dict[str, Any]:
        from django.db import connections

        parts = urlsplit(self.url)
        found = connections.configure_settings(
            {
                "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
                "orders": {
                    "ENGINE": "django.db.backends.postgresql",
                    "NAME": parts.path.removeprefix("/"),
                    "USER": parts.username or "",
                    "PASSWORD": parts.password or "",
                    "HOST": parts.hostname or "",
                    "PORT": str(parts.port or ""),
                },
            }
        )
        return cast("dict[str, Any]", found["orders"])

    def _forget(self) -> None:
        from django.db import connections

        connections["orders"].close()
        del connections["orders"]
        del connections.databases["orders"]

    def begin(self) -> None:
        from django.db import transaction

        self.block = transaction.atomic(using="orders")
        self.block.__enter__()

    def execute(self, text: str) -> Any:
        from django.db import connections

        with connections["orders"].cursor() as cursor:
            cursor.execute(text)

    def commit(self) -> None:
        self.block.__exit__(None, None, None)

    def rollback(self) -> None:
        error = RuntimeError("rolled back by the test")
        self.block.__exit__(RuntimeError, error, None)

    def autocommit(self) -> None: ...


class DjangoConnection(Django):
    """The connection itself instead of its alias."""

    def open(self) -> None:
        from django.db import connections

        super().open()
        self.given = connections["orders"]


class DjangoSqlite(Django):
    store = "sqlite"

    def database(self) -> dict[str, Any]:
        from django.db import connections

        found = connections.configure_settings(
            {
                "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
                "orders": {"ENGINE": "django.db.backends.sqlite3", "NAME": self.path},
            }
        )
        return cast("dict[str, Any]", found["orders"])


def prepare_django() -> None:
    """Configure Django once; the databases come and go."""
    import django
    from django.conf import settings

    if not settings.configured:
        memory = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
        settings.configure(DATABASES={"default": memory}, INSTALLED_APPS=[], USE_TZ=True)
        django.setup()


WAYS: dict[str, type[Way]] = {
    "psycopg": Psycopg,
    "psycopg-block": PsycopgBlock,
    "psycopg-async": PsycopgAsync,
    "psycopg2": Psycopg2,
    "asyncpg": Asyncpg,
    "asyncpg-pool": AsyncpgPool,
    "sqlalchemy-session": Sqlalchemy,
    "sqlalchemy-connection": SqlalchemyConnection,
    "sqlalchemy-psycopg2": SqlalchemyPsycopg2,
    "sqlalchemy-asyncpg": SqlalchemyAsync,
    "sqlalchemy-asyncpg-connection": SqlalchemyAsyncConnection,
    "sqlalchemy-psycopg-async": SqlalchemyAsyncPsycopg,
    "django": Django,
    "django-connection": DjangoConnection,
    "sqlite3": Sqlite,
    "sqlite3-explicit": SqliteExplicit,
    "aiosqlite": Aiosqlite,
    "sqlalchemy-sqlite": SqlalchemySqlite,
    "sqlalchemy-aiosqlite": SqlalchemyAsyncSqlite,
    "django-sqlite": DjangoSqlite,
}

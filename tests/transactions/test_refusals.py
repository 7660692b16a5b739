"""What cannot work is told in words, and leaves the caller's transaction as it was."""

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from mainspring.domain.errors import (
    InvalidInput,
    PayloadTooLarge,
    StoreNewer,
    StoreNotMigrated,
)
from tests.transactions.shop import app, charge
from tests.transactions.ways import TABLE, WAYS, AwaitingWay, Way, prepare_django


@pytest.fixture(params=WAYS)
def bare_way(request: pytest.FixtureRequest, tmp_path: Path, database: Callable[[], str]) -> Any:
    """A caller whose database is no store."""
    kind = WAYS[request.param]
    prepare_django()
    url = database() if kind.store == "postgres" else f"sqlite:///{tmp_path / 'own.db'}"
    caller = kind(url)
    caller.open()
    yield caller
    caller.close()


def test_a_database_without_our_tables(bare_way: Way) -> None:
    bare_way.begin()
    bare_way.execute(TABLE)
    bare_way.add_order(1)
    with pytest.raises(StoreNotMigrated, match="behind this connection has no Main") as caught:
        bare_way.submit(charge, 1)
    assert "mainspring db migrate" in caught.value.hint
    bare_way.add_order(2)
    bare_way.commit()


def test_tables_of_a_newer_version(way: Way) -> None:
    schema = "mainspring." if way.store == "postgres" else ""
    now = "now()" if way.store == "postgres" else "1"
    way.begin()
    way.execute(
        f"INSERT INTO {schema}migrations (name, checksum, applied_at, by_version)"
        f" VALUES ('9999_post_future', 'x', {now}, '99')"
    )
    way.commit()
    way.begin()
    with pytest.raises(StoreNewer, match="9999_post_future"):
        way.submit(charge, 1)
    way.add_order(1)
    way.commit()


def test_tables_that_lack_a_step(way: Way) -> None:
    schema = "mainspring." if way.store == "postgres" else ""
    way.begin()
    way.execute(f"DELETE FROM {schema}migrations")
    way.commit()
    way.begin()
    with pytest.raises(StoreNotMigrated):
        way.submit(charge, 1)
    way.rollback()


def test_the_other_face_is_refused(way: Way) -> None:
    way.begin()
    if isinstance(way, AwaitingWay):
        with pytest.raises(InvalidInput, match="await"):
            charge.using(way.given).submit(1)
    else:
        import asyncio

        with pytest.raises(InvalidInput, match="blocks"):
            asyncio.run(charge.using(way.given).asubmit(1))
    way.rollback()


class Stranger:
    in_transaction = True


@pytest.mark.parametrize("made", [object, dict, Stranger, int])
def test_what_is_no_connection(made: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="is no connection"):
        charge.using(made()).submit(1)
    with pytest.raises(InvalidInput, match="does not tell when it commits"):
        charge.after_commit(made()).submit(1)


def test_engines_and_cursors_are_no_connections() -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    for given in (engine, sqlite3.connect(":memory:").cursor(), psycopg):
        with pytest.raises(InvalidInput, match="is no connection"):
            charge.using(given).submit(1)


def test_an_unknown_alias() -> None:
    prepare_django()
    with pytest.raises(InvalidInput, match="no database 'orderz'") as caught:
        charge.using("orderz").submit(1)
    assert "use one of default" in caught.value.hint


def test_an_alias_without_django(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "django.db", raising=False)
    with pytest.raises(InvalidInput, match="the alias 'default' needs Django") as caught:
        charge.using("default").submit(1)
    assert "django.setup()" in caught.value.hint


def test_another_kind_of_database() -> None:
    engine = sqlalchemy.create_mock_engine("mysql+pymysql://", executor=print)
    session = Session()
    session.bind = engine  # type: ignore[assignment]  # as much of an engine as is needed here
    with pytest.raises(InvalidInput, match="speaks mysql"):
        charge.using(session).submit(1)


def test_a_bad_payload_is_refused_before_anything_is_sent(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_PAYLOAD_BYTES", "100")
    way.begin()
    with pytest.raises(PayloadTooLarge):
        way.submit(charge, 1, note="x" * 200)
    with pytest.raises(PayloadTooLarge, match="submission 2 of 2"):
        way.submit_many(app, [charge.call(1), charge.call(1, note="x" * 200)])
    way.add_order(1)
    way.commit()

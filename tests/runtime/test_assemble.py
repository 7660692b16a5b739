import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import ConfigError, StoreNotMigrated
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.gateway import Submission
from mainspring.runtime.assemble import (
    dice,
    open_blobs,
    open_client_gateway,
    open_store,
    open_worker_gateway,
)
from mainspring.runtime.setting_table import Settings
from mainspring.testing.builders import claim_ask, new_session
from mainspring.testing.clock import SettableClock


def settings_in(folder: Path, **changes: Any) -> Settings:
    return Settings(**{"store_url": f"sqlite:///{folder}/dev.db", **changes})


async def migrated(settings: Settings) -> Settings:
    store = await open_store(settings)
    await store.migrate(phase="all")
    await store.close()
    return settings


async def test_a_store_opens_in_memory_and_reads_the_given_clock() -> None:
    clock = SettableClock()
    store = await open_store(Settings(store_url="sqlite://:memory:"), clock=clock)
    assert await store.now() == clock.now()
    await store.close()


async def test_both_doors_open_on_one_file(tmp_path: Path) -> None:
    settings = await migrated(settings_in(tmp_path))
    body = b'{"a":"' + b"x" * 20_000 + b'"}'
    async with open_client_gateway(settings) as client:
        [accepted] = await client.submit(
            [Submission(kind="test.work", payload=body, kind_is_known=True)]
        )
    async with open_worker_gateway(settings) as gateway:
        session = new_session()
        await gateway.open_session(session, [])
        [claimed] = await gateway.claim(claim_ask(session.id))
        assert claimed.job_id == accepted.job_id
        assert claimed.payload_ref is not None
        assert await gateway.payload(claimed) == body
    assert any(path.is_file() for path in (tmp_path / "dev.blobs").rglob("*"))


@pytest.mark.parametrize("door", [open_client_gateway, open_worker_gateway])
async def test_a_store_that_is_not_migrated_is_told_and_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: object
) -> None:
    from mainspring.store.sqlite import SqliteStore

    closed = []
    close = SqliteStore.close

    async def note(self: SqliteStore) -> None:
        closed.append(self)
        await close(self)

    monkeypatch.setattr(SqliteStore, "close", note)
    (tmp_path / "dev.db").touch()
    with pytest.raises(StoreNotMigrated) as caught:
        async with door(settings_in(tmp_path)):  # type: ignore[operator]  # one of the two
            pass
    assert caught.value.hint == "run: mainspring db migrate"
    assert len(closed) == 1


@pytest.mark.parametrize("door", [open_client_gateway, open_worker_gateway])
async def test_a_wrong_object_store_is_told(tmp_path: Path, door: object) -> None:
    settings = await migrated(settings_in(tmp_path, blob_url="ftp://x"))
    with pytest.raises(ConfigError, match="blobs: 'ftp' is no kind of object store"):
        async with door(settings):  # type: ignore[operator]  # one of the two
            pass


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mysql://u:secret@h/db", "store: 'mysql' is no kind of store"),
        ("sqlite:dev.db", "store: 'sqlite:dev.db' is no kind of store"),
        ("dev.db", "store: 'dev.db' is no kind of store"),
        ("", "store: '' is no kind of store"),
    ],
)
async def test_a_wrong_store_is_one_clear_error(address: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await open_store(Settings(store_url=address))
    assert str(caught.value) == words
    assert caught.value.hint.startswith("use sqlite:///FILE or postgresql://")
    assert caught.value.exit_code == 2


async def test_a_store_url_with_a_slip_shows_no_password() -> None:
    with pytest.raises(ConfigError) as caught:
        await open_store(Settings(store_url="postgresql:/user:secret@host/db"))
    assert "secret" not in str(caught.value)


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("mainspring.store.postgres", "mainspring.integrations.object_blobs")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigError, match="needs asyncpg, which is not installed") as caught:
        await open_store(Settings(store_url="postgresql://h/db"))
    assert caught.value.hint == "pip install 'mainspring[postgres]'"
    with pytest.raises(ConfigError, match="needs obstore, which is not installed") as caught:
        open_blobs(Settings(blob_url="s3://b"))
    assert caught.value.hint == "pip install 'mainspring[s3]'"


def test_objects_by_address(tmp_path: Path) -> None:
    assert open_blobs(Settings(store_url="sqlite://:memory:")) is None
    assert open_blobs(Settings(blob_url="none")) is None
    assert isinstance(open_blobs(Settings(blob_url=f"file://{tmp_path}")), LocalBlobs)


def test_the_dice_roll() -> None:
    real = dice()
    assert len({real.new_job_id() for _ in range(100)}) == 100
    assert all(0 <= real.roll() < 1 for _ in range(100))


@pytest.mark.parametrize("door", [open_client_gateway, open_worker_gateway])
async def test_looking_for_a_store_does_not_make_a_file(tmp_path: Path, door: object) -> None:
    with pytest.raises(StoreNotMigrated, match="there is no store at"):
        async with door(settings_in(tmp_path)):  # type: ignore[operator]  # one of the two
            pass
    assert not os.listdir(tmp_path)  # noqa: PTH208 - no path object inside the loop

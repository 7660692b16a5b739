import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import (
    BlobDamaged,
    ConnectionFailed,
    NotFound,
    StoreNotWritable,
)
from mainspring.domain.references import parse_reference, reference_of
from mainspring.integrations.local_blobs import LocalBlobs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "blobs"


@pytest.fixture
def blobs(folder: Path) -> LocalBlobs:
    return LocalBlobs(str(folder))


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_an_object_comes_back(blobs: LocalBlobs, folder: Path) -> None:
    assert files(folder.parent.parent) == []
    for key, body in (("payload/default/2027-01-01/job_1", b"\x00\xff" * 50_000), ("a", b"")):
        reference = await blobs.put(key, body)
        assert reference == reference_of(key, body)
        assert await blobs.get(reference) == body
    assert files(folder) == ["a", "payload/default/2027-01-01/job_1"]
    await blobs.close()


async def test_a_repeated_put_is_harmless(blobs: LocalBlobs, folder: Path) -> None:
    body = b"x" * 200_000
    references = await asyncio.gather(*(blobs.put("a/b", body) for _ in range(40)))
    assert set(references) == {reference_of("a/b", body)}
    assert files(folder) == ["a/b"]
    assert await blobs.get(references[0]) == body


async def test_readers_see_all_or_nothing(blobs: LocalBlobs) -> None:
    bodies = [bytes([number]) * 100_000 for number in range(8)]
    known = {parse_reference(reference_of("a", body)).sha256: body for body in bodies}
    await blobs.put("a", bodies[0])
    done = asyncio.Event()

    async def write() -> None:
        for body in bodies * 3:
            await blobs.put("a", body)
        done.set()

    async def read() -> None:
        while not done.is_set():
            seen = [reference_of("a", body) for body in bodies]
            answers = await asyncio.gather(*map(blobs.get, seen), return_exceptions=True)
            for answer in answers:
                # Another whole object may lie there by now, never a part of one.
                if isinstance(answer, BlobDamaged):
                    assert "has 100000 bytes" in str(answer)
                else:
                    assert answer in known.values()

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        group.create_task(read())


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/hostname", "a/../../../../../x"])
async def test_no_key_leaves_the_folder(
    blobs: LocalBlobs, tmp_path: Path, folder: Path, key: str
) -> None:
    await blobs.put("a/b", b"1")
    with pytest.raises(NotFound, match="lies outside of"):
        await blobs.put(key, b"1")
    with pytest.raises(NotFound, match="lies outside of"):
        await blobs.get(reference_of(key, b"1"))
    with pytest.raises(NotFound, match="lies outside of"):
        await blobs.delete([reference_of(key, b"1")])
    assert files(tmp_path) == ["deep/blobs/a/b"]


async def test_a_link_out_of_the_folder_is_not_followed(
    blobs: LocalBlobs, tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "secret").write_bytes(b"1")
    await blobs.put("a", b"1")
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(NotFound, match="lies outside of"):
        await blobs.get(reference_of("link/secret", b"1"))


@pytest.mark.parametrize(
    "damage",
    [lambda body: body[:-1], lambda body: body + b"x", lambda body: b"y" + body[1:], lambda _: b""],
    ids=["cut", "longer", "changed", "empty"],
)
async def test_a_damaged_file_is_detected(
    blobs: LocalBlobs, folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    reference = await blobs.put("a/b", b"x" * 100)
    (folder / "a/b").write_bytes(damage(b"x" * 100))
    with pytest.raises(BlobDamaged, match="the object a/b has"):
        await blobs.get(reference)


async def test_a_missing_object_is_not_found(blobs: LocalBlobs) -> None:
    with pytest.raises(NotFound, match="the object a/b is not in ") as caught:
        await blobs.get(reference_of("a/b", b""))
    assert "same --blobs folder" in caught.value.hint


async def test_deleting_is_repeatable(blobs: LocalBlobs, folder: Path) -> None:
    first, second = await blobs.put("a/1", b"1"), await blobs.put("a/2", b"2")
    await blobs.delete([first, reference_of("a/none", b""), first])
    assert files(folder) == ["a/2"]
    assert await blobs.get(second) == b"2"
    await blobs.delete([])


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    blobs = LocalBlobs(str(tmp_path / "file" / "blobs"))
    with pytest.raises(StoreNotWritable, match=r"file/blobs: Not a directory"):
        await blobs.put("a", b"1")
    with pytest.raises(ConnectionFailed, match=r"the object a in .*cannot be read: Not a dir"):
        await blobs.get(reference_of("a", b"1"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_read_only_folder_is_told(blobs: LocalBlobs, folder: Path) -> None:
    reference = await blobs.put("a", b"1")
    folder.chmod(0o500)  # noqa: ASYNC240 - a moment
    try:
        with pytest.raises(StoreNotWritable, match="Permission denied"):
            await blobs.put("b", b"1")
        with pytest.raises(StoreNotWritable, match="Permission denied"):
            await blobs.delete([reference])
        assert await blobs.get(reference) == b"1"
    finally:
        folder.chmod(0o700)  # noqa: ASYNC240 - a moment


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EIO])
async def test_a_full_or_read_only_disk_is_told_and_leaves_nothing(
    blobs: LocalBlobs, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    await blobs.put("a", b"old")

    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(StoreNotWritable, match=os.strerror(code)):
        await blobs.put("a", b"new")
    assert files(folder) == ["a"]
    assert await blobs.get(reference_of("a", b"old")) == b"old"


async def test_an_object_and_its_folders_are_synced_before_the_answer(
    blobs: LocalBlobs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def note(opened: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{opened}").readlink()))
        fsync(opened)

    monkeypatch.setattr("os.fsync", note)
    await blobs.put("p/q/a", b"1")
    assert Path(synced[0]).parent == folder / "p/q"
    # The folder that holds the file, and every folder that got a new folder.
    wanted = {folder / "p/q", folder / "p", folder, folder.parent, folder.parent.parent}
    assert set(map(Path, synced[1:])) == wanted


@settings(deadline=None)
@given(st.binary(max_size=100), st.text("abc/.-_ %#?\u00e9", min_size=1, max_size=20))
def test_any_key_of_its_alphabet_round_trips_or_is_refused(
    tmp_path_factory: Any, body: bytes, key: str
) -> None:
    blobs = LocalBlobs(str(tmp_path_factory.mktemp("blobs")))

    async def play() -> None:
        try:
            reference = await blobs.put(key, body)
        except (NotFound, StoreNotWritable):
            return
        assert await blobs.get(reference) == body

    asyncio.run(play())


async def test_keys_are_listed_in_pages_and_deleted(blobs: LocalBlobs) -> None:
    keys = ["files/a/1/x-1", "files/a/1/x.2", "files/a/2/y", "files/b/1/z", "files/c"]
    for key in [*keys, "payload/a"]:
        await blobs.put(key, b"1")
    found: list[str] = []
    while page := await blobs.list_keys("files/", after=found[-1] if found else "", limit=2):
        found += page
    assert sorted(found) == sorted(keys)
    assert await blobs.list_keys("nothing/", after="", limit=2) == []
    await blobs.delete_keys([keys[0], keys[3], "files/none/1/n"])
    assert sorted(await blobs.list_keys("files/", after="", limit=9)) == sorted(
        {*keys} - {keys[0], keys[3]}
    )

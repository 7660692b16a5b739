import dataclasses
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import obstore
import pytest
from obstore.store import MemoryStore

from mainspring.domain.errors import BlobDamaged, ConfigError, ConnectionFailed, NotFound
from mainspring.domain.references import reference_of
from mainspring.integrations.object_blobs import ObjectBlobs, open_blobs
from mainspring.ports.entropy import new_job_id
from mainspring.testing.servers import S3Access, S3Kind, S3Server
from mainspring.testing.servers.free_ports import free_ports

OwnS3 = Callable[[S3Kind | None], S3Server]


def opened(access: S3Access, monkeypatch: pytest.MonkeyPatch, prefix: str = "") -> ObjectBlobs:
    """Open as a user does: keys in the environment, the rest in the address."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", access.secret_access_key)
    options = urlencode({"endpoint": access.endpoint, "region": access.region})
    return open_blobs(f"s3://{access.bucket}/{prefix}?{options}")


@pytest.fixture
def prefix() -> str:
    return f"tests/{new_job_id().hex()}"


@pytest.fixture
def blobs(s3: S3Access, monkeypatch: pytest.MonkeyPatch, prefix: str) -> ObjectBlobs:
    return opened(s3, monkeypatch, prefix)


@pytest.mark.s3
async def test_an_object_comes_back(blobs: ObjectBlobs) -> None:
    for key, body in (("payload/d/job_1", b"\x00\xff" * 600_000), ("a b#\u00e9", b"1"), ("e", b"")):
        reference = await blobs.put(key, body)
        assert reference == reference_of(key, body)
        assert await blobs.put(key, body) == reference
        assert await blobs.get(reference) == body
    await blobs.close()


@pytest.mark.s3
async def test_objects_lie_below_the_prefix(
    blobs: ObjectBlobs, s3: S3Access, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    await blobs.put("a", b"1")
    above = opened(s3, monkeypatch)
    assert await above.get(reference_of(f"{prefix}/a", b"1")) == b"1"


@pytest.mark.s3
async def test_a_missing_object_is_not_found(blobs: ObjectBlobs, s3: S3Access) -> None:
    with pytest.raises(NotFound, match=f"the object nope is not in s3://{s3.bucket}"):
        await blobs.get(reference_of("nope", b""))


@pytest.mark.s3
async def test_a_damaged_object_is_detected(blobs: ObjectBlobs) -> None:
    reference = await blobs.put("a", b"what was stored")
    for other in (b"what was stored ", b"What was stored", b""):
        await obstore.put_async(blobs._remote, "a", other)
        with pytest.raises(BlobDamaged, match="the object a has"):
            await blobs.get(reference)


@pytest.mark.s3
async def test_deleting_is_repeatable(blobs: ObjectBlobs) -> None:
    first, second = await blobs.put("1", b"1"), await blobs.put("2", b"2")
    await blobs.delete([first, reference_of("none", b""), first])
    with pytest.raises(NotFound):
        await blobs.get(first)
    assert await blobs.get(second) == b"2"


@pytest.mark.s3
async def test_a_missing_bucket_is_told(own_s3: OwnS3, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not SeaweedFS, which makes a bucket with its first object.
    server = own_s3(S3Kind.MOTO)
    blobs = opened(dataclasses.replace(server.access, bucket="no-such-bucket"), monkeypatch)
    with pytest.raises(ConnectionFailed, match=r"^the object store s3://no-such-bucket: ") as told:
        await blobs.put("a", b"1")
    assert told.value.exit_code == 9
    assert told.value.hint == "make the bucket, or correct its name"
    with pytest.raises((ConnectionFailed, NotFound), match="s3://no-such-bucket"):
        await blobs.get(reference_of("a", b"1"))


@pytest.mark.s3
async def test_wrong_keys_are_told_without_showing_them(
    own_s3: OwnS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = own_s3(None)
    if server.kind is S3Kind.MOTO:
        pytest.skip("moto does not check signatures")
    wrong = dataclasses.replace(server.access, secret_access_key="not-the-key")
    blobs = opened(wrong, monkeypatch)
    with pytest.raises(ConnectionFailed) as caught:
        await blobs.put("a", b"1")
    assert caught.value.hint == "check the keys and the rights on the bucket"
    assert "not-the-key" not in str(caught.value)
    with pytest.raises(ConnectionFailed):
        await blobs.get(reference_of("a", b"1"))
    with pytest.raises(ConnectionFailed):
        await blobs.delete([reference_of("a", b"1")])


async def test_an_unreachable_endpoint_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    [port] = free_ports(1)
    nobody = S3Access(
        endpoint=f"http://127.0.0.1:{port}",
        access_key_id="k",
        secret_access_key="s",
        region="us-east-1",
        bucket="b",
    )
    blobs = opened(nobody, monkeypatch)
    with pytest.raises(ConnectionFailed, match=r"^the object store s3://b: ") as caught:
        await blobs.put("a", b"1")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    with pytest.raises(ConnectionFailed):
        await blobs.get(reference_of("a", b"1"))
    with pytest.raises(ConnectionFailed):
        await blobs.delete([reference_of("a", b"1")])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("s3://bucket?key=x", "blobs: there is no option 'key'"),
        ("s3:///prefix", "blobs: 's3:///prefix' names no bucket"),
        ("folder", "blobs: 'folder' names no bucket"),
        ("ftp://bucket", "blobs: 'ftp' is no kind of object store"),
        ("s3://AKIA:secret@bucket", "blobs: the address holds keys"),
    ],
)
def test_a_wrong_address_is_one_clear_error(address: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_blobs(address)
    assert str(caught.value) == words
    assert "secret" not in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("address", ["s3://bucket/a/b", "gs://bucket", "s3://b?region=eu-west-1"])
def test_opening_sends_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    assert isinstance(open_blobs(address), ObjectBlobs)


@pytest.mark.s3
async def test_keys_are_listed_in_pages_and_deleted(blobs: ObjectBlobs) -> None:
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


@pytest.mark.parametrize("stops", [False, True])
async def test_many_are_deleted_in_few_requests(
    monkeypatch: pytest.MonkeyPatch, stops: bool
) -> None:
    """Providers differ in what they make of one that is missing: an error, or nothing."""
    remote: Any = MemoryStore()
    blobs = ObjectBlobs(remote, "memory://")
    references = [await blobs.put(f"payload/{number}", b"1") for number in range(1_500)]
    kept = await blobs.put("payload/kept", b"1")
    asked: list[int] = []
    delete = obstore.delete_async

    async def counted(store: Any, keys: list[str]) -> None:
        asked.append(len(keys))
        if stops and "missing" in keys:
            raise FileNotFoundError
        await delete(store, [key for key in keys if key != "missing"])

    monkeypatch.setattr(obstore, "delete_async", counted)
    missing = reference_of("missing", b"1")
    await blobs.delete([references[0], missing, missing, *references])
    assert asked == ([1_000] + [1] * 1_000 + [501] if stops else [1_000, 501])
    assert await blobs.list_keys("payload/", after="", limit=9) == ["payload/kept"]
    assert await blobs.get(kept) == b"1"

"""Large payloads and results on their way: submitter, object store, worker, and back."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.domain.limits import INLINE_BYTES_MAX
from mainspring.domain.outcome import Report, Succeeded
from mainspring.domain.states import JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.integrations.object_blobs import open_blobs
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import claim_ask, new_session
from mainspring.testing.servers import S3Access

LARGE = b'{"text":"' + b"x" * INLINE_BYTES_MAX + b'"}'


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_sqlite(":memory:")
    await opened.migrate(phase="all")
    yield opened
    await opened.close()


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.s3)])
def blobs(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> BlobStore:
    if request.param == "folder":
        return LocalBlobs(str(tmp_path))
    s3: S3Access = request.getfixturevalue("s3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.access_key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret_access_key)
    place = f"s3://{s3.bucket}/by-reference"
    return open_blobs(f"{place}?endpoint={s3.endpoint}&region={s3.region}")


@pytest.mark.parametrize("inline_bytes", [INLINE_BYTES_MAX, len(LARGE)])
async def test_what_is_large_travels_by_reference(
    store: Store, blobs: BlobStore, inline_bytes: int
) -> None:
    """The rows hold no more than the threshold, and nobody who asks can tell."""
    desk = FrontDesk(store, blobs=blobs, new_id=new_job_id, inline_bytes=inline_bytes)
    gateway = LocalGateway(
        store,
        blobs=blobs,
        dice=fixed_dice(lambda: 0.0, new_job_id),
        monotonic=monotonic,
        inline_bytes=inline_bytes,
    )
    wanted = Submission(kind="grow", payload=LARGE, kind_is_known=True)
    [accepted] = await desk.submit([wanted])
    session = new_session()
    await gateway.open_session(session, [])
    [claimed] = await gateway.claim(claim_ask(session.id, kinds=("grow",)))
    assert await gateway.payload(claimed) == LARGE
    assert await gateway.report([Report(claimed.job_id, 1, Succeeded(LARGE))]) == [True]
    row = await store.get_job(accepted.job_id)
    assert row is not None
    by_reference = inline_bytes < len(LARGE)
    assert (row.payload_ref is not None, row.result_ref is not None) == (by_reference,) * 2
    assert (row.payload == LARGE, row.result == LARGE) == (not by_reference,) * 2
    shown = await desk.get_job(accepted.job_id)
    assert (shown.state, shown.payload, shown.result) == (JobState.SUCCEEDED, LARGE, LARGE)

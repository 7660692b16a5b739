"""The client of REST: what it says of itself, and what it does when the connection breaks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from mainspring.domain.access import EVERYBODY, Principal
from mainspring.domain.errors import (
    ConfigError,
    DuplicateJob,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    ServerUnreachable,
    Unauthenticated,
)
from mainspring.domain.ids import show_job
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.remote.desk import RemoteDesk
from mainspring.remote.http import RemoteAccess, RemoteHttp
from mainspring.runtime.serving import Tls
from mainspring.testing.conformance.steps import counts, make_dead, submit_one
from mainspring.testing.faults import FaultProxy
from mainspring.testing.servers.free_ports import free_ports
from tests.loopback import serving

WORK = Submission(kind="test.work", kind_is_known=True)


@pytest.fixture
async def desk(store: Store) -> FrontDesk:
    return FrontDesk(store, blobs=None, new_id=new_job_id)


@contextlib.asynccontextmanager
async def remote(url: str, **access: str) -> AsyncIterator[RemoteDesk]:
    opened = RemoteDesk(RemoteHttp(RemoteAccess(url=url, **access)), new_id=new_job_id)
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
async def proxy(desk: FrontDesk) -> AsyncIterator[FaultProxy]:
    """A way to the server that can break."""
    async with serving(desk) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        async with FaultProxy(host, int(port)) as between:
            yield between


@pytest.fixture
async def shaky(proxy: FaultProxy) -> AsyncIterator[RemoteDesk]:
    async with remote(f"http://{proxy.host}:{proxy.port}") as opened:
        yield opened


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_submission_whose_connection_breaks_is_there_once(
    shaky: RemoteDesk, proxy: FaultProxy, store: Store, place: str
) -> None:
    cut = proxy.cut_before if place == "before" else proxy.cut_after
    cut(b'"test.work"')
    [accepted] = await shaky.submit([WORK])
    # By whichever of the requests, it was this call that made it.
    assert accepted.created
    assert await counts(store) == {JobState.READY: 1}
    assert (await shaky.get_job(accepted.job_id)).id == accepted.job_id
    assert proxy.counts.cuts == 1
    cut(b'"test.work"')
    many = await shaky.submit([WORK, WORK])
    assert [one.created for one in many] == [True, True]
    assert await counts(store) == {JobState.READY: 3}
    assert proxy.counts.cuts == 2


async def test_changes_and_questions_are_asked_again(
    shaky: RemoteDesk, proxy: FaultProxy, store: Store
) -> None:
    dead = (await make_dead(store)).job_id
    proxy.cut_before(b"GET /api/v1/jobs")
    assert (await shaky.get_job(dead)).state is JobState.DEAD
    proxy.cut_after(b"/jobs/cancel")
    job_id = await submit_one(store)
    [result] = await shaky.cancel([job_id], actor="me")
    assert result.state is JobState.CANCELLED
    assert proxy.counts.cuts == 2


async def test_what_never_becomes_known_is_said(
    shaky: RemoteDesk, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.wire.settling.SETTLE_SECONDS", 0.2)
    assert await shaky.list_queues() == []
    for _ in range(40):
        proxy.cut_before(b"POST ")
    with pytest.raises(OutcomeUnknown) as caught:
        await shaky.submit([WORK])
    assert f"http://{proxy.host}:{proxy.port} did not answer" in str(caught.value)


async def test_a_server_that_is_down_is_said_at_once() -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    async with remote(url) as desk:
        for asking in (desk.list_queues(), desk.submit([WORK])):
            with pytest.raises(ServerUnreachable, match="cannot be reached") as caught:
                await asking
            assert url in str(caught.value)
            assert caught.value.exit_code == 9
            assert "that the server runs" in caught.value.hint


@contextlib.asynccontextmanager
async def answering(text: bytes) -> AsyncIterator[str]:
    """A server that says the same to everybody."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("200 OK", "but not as a Mainspring server"),
        ("404 Not Found", "but not as a Mainspring server"),
        ("301 Moved", "but not as a Mainspring server"),
        ("502 Bad Gateway", "what stands before the server"),
    ],
)
async def test_other_servers_are_told_apart(status: str, words: str) -> None:
    text = f"HTTP/1.1 {status}\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>"
    async with answering(text.encode()) as url, remote(url) as desk:
        with pytest.raises(ServerUnreachable, match=words):
            await desk.list_queues()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "that the server runs"),
        # The settings with which a server of gRPC begins.
        (bytes.fromhex("000006040000000000000400ff0000"), "the port of gRPC"),
    ],
    ids=["ssh", "grpc"],
)
async def test_what_is_no_http_is_said_not_raised_raw(text: bytes, hint: str) -> None:
    async with answering(text) as url, remote(url) as desk:
        with pytest.raises(ServerUnreachable, match="broke") as caught:
            await desk.list_queues()
    assert hint in caught.value.hint


async def test_errors_are_the_servers_own(desk: FrontDesk) -> None:
    async with serving(desk) as url, remote(url) as far:
        await far.submit([Submission(kind="test.work", kind_is_known=True, unique_key="u")])
        again = Submission(
            kind="test.work", kind_is_known=True, unique_key="u", on_duplicate="reject"
        )
        with pytest.raises(DuplicateJob) as caught:
            await far.submit([again])
        assert caught.value.job_id.startswith("job_")
        missing = new_job_id()
        with pytest.raises(NotFound, match=show_job(missing)) as gone:
            await far.get_job(missing)
        assert gone.value.hint == NotFound.default_hint
        with pytest.raises(InvalidInput, match="cannot be sent"):
            await far.submit([Submission(kind="\ud800", kind_is_known=True)])


class Watchful:
    """Lets one key in."""

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        if authorization != "Bearer ms_live_right":
            raise Unauthenticated
        return EVERYBODY

    def known(self, authorization: str) -> Principal | None:
        return None

    def doubt(self) -> None:
        """Nobody is remembered."""


async def test_the_key_is_shown_at_the_door(desk: FrontDesk) -> None:
    async with serving(desk, Watchful()) as url:
        async with remote(url, key="ms_live_right") as far:
            assert await far.list_queues() == []
        for key in ("", "ms_live_wrong"):
            async with remote(url, key=key) as far:
                with pytest.raises(Unauthenticated) as caught:
                    await far.list_queues()
                assert caught.value.exit_code == 4
                assert "MAINSPRING_KEY" in caught.value.hint


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://", "is no address of a server"),
        ("http://host:port", "is no address of a server"),
        ("http://a host", "is no address of a server"),
        ("https://host/?a=b", "is no address of a server"),
        ("https://ada:secret@host", "holds no user"),
    ],
)
def test_bad_addresses_are_refused(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        RemoteHttp(RemoteAccess(url=url))
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match="holds what no key holds"):
        RemoteHttp(RemoteAccess(url="http://host", key="two\nlines"))


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> dict[str, str]:
    """Certificates in files: the authority's, a server's and a client's."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("127.0.0.1", "worker-7"):
        made = authority.issue_cert(name)
        made.private_key_and_cert_chain_pem.write_to_path(tmp_path / f"{name}.pem")
    return {"ca": str(tmp_path / "ca.pem"), "folder": str(tmp_path)}


async def test_certificates_are_checked_on_both_sides(
    desk: FrontDesk, files: dict[str, str]
) -> None:
    own = f"{files['folder']}/127.0.0.1.pem"
    tls = Tls(certificate=own, key=own, client_authority=files["ca"])
    client = f"{files['folder']}/worker-7.pem"
    async with serving(desk, tls=tls) as url:
        assert url.startswith("https://")
        async with remote(url, ca_file=files["ca"], certificate_file=client) as far:
            assert await far.list_queues() == []
        async with remote(url, certificate_file=client) as far:
            with pytest.raises(ServerUnreachable) as caught:
                await far.list_queues()
            assert "MAINSPRING_CA" in caught.value.hint
        async with remote(url, ca_file=files["ca"]) as far:
            with pytest.raises(ServerUnreachable):
                await far.list_queues()
        plain = url.replace("https://", "http://")
        async with remote(plain) as far:
            with pytest.raises(ServerUnreachable):
                await far.list_queues()
    with pytest.raises(ConfigError, match="cannot be read"):
        RemoteHttp(RemoteAccess(url="https://host", ca_file=f"{files['folder']}/none.pem"))


async def test_a_key_that_others_can_read_is_noticed() -> None:
    def in_the_open(url: str, key: str = "k") -> bool:
        return RemoteHttp(RemoteAccess(url=url, key=key)).is_in_the_open

    assert in_the_open("http://example.test")
    assert not in_the_open("https://example.test")
    assert not in_the_open("http://127.0.0.1:8470")
    assert not in_the_open("http://[::1]:8470")
    assert not in_the_open("http://example.test", key="")

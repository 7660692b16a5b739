"""The command that opens the doors, as a process of its own."""

import asyncio
import re
import signal
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import jwt
import msgspec
import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import rsa

from mainspring.domain.errors import Forbidden, ServerUnreachable
from mainspring.ports.clock import monotonic
from mainspring.remote.channel import Channel
from mainspring.remote.gateway import RemoteGateway
from mainspring.testing.builders import new_session
from mainspring.wire.protobuf import submission_pb2
from tests.cli.conftest import Commands, Running

pytestmark = [pytest.mark.slow]
Start = Callable[..., Running]
DOORS = ("server", "start", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")


def opened(running: Running) -> str:
    """Wait until both doors are open; return where REST is."""
    running.wait_for("store: ")
    found = re.search(r"REST at (\S+)/api/v1", running.text)
    assert found is not None
    return found[1]


def first_key(running: Running) -> str:
    """Wait for the key, which comes on a stream of its own."""
    if not keys_in(running.text):
        running.wait_for("ms_live_")
    (key,) = keys_in(running.text)
    return key


def keys_in(text: str) -> list[str]:
    return re.findall(r"ms_live_\w{12}_\w{20,}", text)


def status(url: str, key: str | None = None) -> int:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return httpx.get(f"{url}/api/v1/jobs", headers=headers, trust_env=False).status_code


def test_the_first_start_shows_a_key_once(start: Start) -> None:
    first = start(*DOORS)
    url = opened(first)
    key = first_key(first)
    assert (status(url), status(url, key), status(url, key[:-1] + "#")) == (401, 200, 401)
    assert first.end(signal.SIGTERM) == 0
    # Shown in the one place, and in no log.
    assert first.text.count(key) == 1
    secret = key.rpartition("_")[2]
    assert first.text.count(secret) == 1
    second = start(*DOORS)
    url = opened(second)
    assert status(url, key) == 200
    assert second.end(signal.SIGTERM) == 0
    assert keys_in(second.text) == []
    assert secret not in second.text


def test_servers_that_start_together_make_one_key(start: Start) -> None:
    several = [start(*DOORS) for _ in range(3)]
    urls = [opened(each) for each in several]
    answers = [status(url) for url in urls]
    assert answers == [401, 401, 401]
    # One of them has shown it; which one is not known before all have ended.
    for each in several[1:]:
        assert each.end(signal.SIGTERM) == 0
    shown = [key for each in several[1:] for key in keys_in(each.text)]
    key = shown[0] if shown else first_key(several[0])
    assert status(urls[0], key) == 200
    assert several[0].end(signal.SIGTERM) == 0
    assert sum(len(keys_in(each.text)) for each in several) == 1


def test_a_taken_port_is_told_and_makes_no_key(mainspring: Commands, start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for option, other in (("http", "grpc"), ("grpc", "http")):
            done = mainspring(
                "server", "start", f"--{option}", address, f"--{other}", "127.0.0.1:0"
            )
            done.assert_told()
            assert (done.code, done.error_code) == (2, "invalid_setting")
            assert f"{option}: {address} cannot be opened" in done.err
            assert f"--{option}" in done.err
            assert keys_in(done.out + done.err) == []
    # So that the one who starts it at last sees it.
    running = start(*DOORS)
    opened(running)
    assert first_key(running)


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--http", "0.0.0.0:0"), "keys would travel in the open", "--tls-cert"),
        (("--http", "[::]:0"), "keys would travel in the open", "--tls-cert"),
        (("--grpc", "0.0.0.0:0"), "grpc: 0.0.0.0:0 can be reached", "--behind-proxy"),
        (("--http", "0.0.0.0:0", "--no-keys"), "no keys are asked for", "--no-keys"),
        (
            ("--http", "0.0.0.0:0", "--no-keys", "--behind-proxy"),
            "no keys are asked for",
            "--no-keys",
        ),
        (("--http", "8470"), "'8470' is no address", "HOST:PORT"),
        (("--http", "127.0.0.1:65536"), "is no address", "HOST:PORT"),
        (("--tls-cert", "none.pem"), "tls-cert: there is no file 'none.pem'", "PEM"),
        (("--tls-key", "none.pem"), "tls-cert: it is missing", "--tls-cert"),
        (("--tls-cert", "bad.pem"), "cannot be used", "PEM"),
        (("--tls-client-ca", "bad.pem"), "tls-cert: it is missing", "--tls-cert"),
        (("--key-rate", "0"), "key-rate: 0 is not a whole number", "correct the value"),
    ],
)
def test_what_would_stand_open_or_cannot_work_is_refused(
    mainspring: Commands, words: tuple[str, ...], said: str, hint: str
) -> None:
    (mainspring.folder / "bad.pem").write_text("no certificate")
    done = mainspring("server", "start", *words)
    done.assert_told()
    assert done.code == 2
    assert said in done.err
    assert hint in done.err.partition("next: ")[2]


def test_without_keys_this_machine_may_do_everything(start: Start) -> None:
    running = start(*DOORS, "--no-keys")
    url = opened(running)
    made = httpx.post(f"{url}/api/v1/jobs", json={"kind": "greet"}, trust_env=False)
    assert made.status_code == 201, made.text
    asked = httpx.get(f"{url}/api/v1/server", trust_env=False).json()
    assert asked["principal"] == "anonymous"
    assert running.end(signal.SIGTERM) == 0
    assert keys_in(running.text) == []


async def test_a_signal_ends_streams_and_lets_requests_end(start: Start) -> None:
    running = start(*DOORS, "--no-keys")
    url = await asyncio.to_thread(opened, running)
    async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=30, trust_env=False) as front:
        job = (await front.post("jobs", json={"kind": "greet"})).json()["id"]
        known = (await front.get(f"jobs/{job}")).headers["etag"]

        async def watched() -> bytes:
            async with front.stream("GET", "events") as stream:
                streams.set()
                return b"".join([chunk async for chunk in stream.aiter_raw()])

        async def held() -> int:
            answer = await front.get(
                f"jobs/{job}", params={"wait_ms": 30_000}, headers={"If-None-Match": known}
            )
            return answer.status_code

        async def slow() -> int:
            """Send a body whose end comes after the signal."""

            async def body() -> AsyncIterator[bytes]:
                yield b'{"kind":'
                begun.set()
                await signalled.wait()
                yield b'"greet"}'

            headers = {"content-type": "application/json"}
            return (await front.post("jobs", content=body(), headers=headers)).status_code

        streams, begun, signalled = asyncio.Event(), asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each()) for each in (watched, held, slow)]
            await streams.wait()
            await begun.wait()
            running.send(signal.SIGTERM)
            await asyncio.to_thread(running.wait_for, "stopping")
            signalled.set()
    assert tasks[1].result() in (200, 304, 503)
    assert tasks[2].result() == 201
    assert await asyncio.to_thread(running.end) == 0
    assert "Traceback" not in running.text


def certificates(folder: Path) -> tuple[str, str, str]:
    """Write files: of an authority, of a server and of a worker."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name in ("127.0.0.1", "worker-7"):
        made = authority.issue_cert(name)
        made.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
    return str(folder / "ca.pem"), str(folder / "127.0.0.1.pem"), str(folder / "worker-7.pem")


async def test_a_certificate_alone_admits_a_worker_to_both_doors(
    start: Start, tmp_path: Path
) -> None:
    ca, server, worker = certificates(tmp_path)
    running = start(*DOORS, "--tls-cert", server, "--tls-client-ca", ca)
    url = await asyncio.to_thread(opened, running)
    key = await asyncio.to_thread(first_key, running)
    assert url.startswith("https://")
    trust = ssl.create_default_context(cafile=ca)
    async with httpx.AsyncClient(verify=trust, trust_env=False) as stranger:
        with pytest.raises(httpx.TransportError):
            await stranger.get(f"{url}/livez")
    trust.load_cert_chain(worker)
    async with httpx.AsyncClient(base_url=f"{url}/api/v1", verify=trust, trust_env=False) as front:
        assert (await front.get("jobs")).status_code == 403
        asked = (await front.get("server")).json()
        assert asked["principal"] == "certificate worker-7"
        assert asked["rights"] == ["handlers.read", "work"]
        known = await front.get("jobs", headers={"authorization": f"Bearer {key}"})
        assert known.status_code == 200
    found = re.search(r"gRPC at (127[.]0[.]0[.]1:[0-9]+)", running.text)
    assert found is not None
    address = f"grpcs://{found[1]}"
    channel = Channel(address, ca_file=ca, certificate_file=worker)
    gateway = RemoteGateway(channel, monotonic=monotonic)
    session = new_session(lease_ms=30_000)
    assert (await gateway.open_session(session, [])).lease_ms > 0
    with pytest.raises(Forbidden):
        await channel.ask(
            "/mainspring.v1.SubmissionService/Submit",
            submission_pb2.SubmitRequest(),
            submission_pb2.SubmitResponse,
        )
    await gateway.close()
    far = RemoteGateway(Channel(address, ca_file=ca), monotonic=monotonic)
    with pytest.raises(ServerUnreachable):
        await far.beat(session.id)
    await far.close()
    assert await asyncio.to_thread(running.end, signal.SIGTERM) == 0


def test_whoever_asks_too_often_is_told_when_to_come_back(start: Start) -> None:
    running = start(*DOORS, "--key-rate", "1")
    url = opened(running)
    headers = {"authorization": f"Bearer {first_key(running)}"}
    with httpx.Client(headers=headers, trust_env=False) as client:
        answers = [client.get(f"{url}/api/v1/jobs/counts") for _ in range(20)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert {answer.json()["code"] for answer in refused} == {"rate_limited"}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)


@pytest.fixture
def issuer() -> Iterator[tuple[str, rsa.RSAPrivateKey]]:
    """An issuer on this machine: its address, and the key that it signs with."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    public = msgspec.json.decode(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    documents: dict[str, object] = {"/keys": {"keys": [{**public, "kid": "r1", "alg": "RS256"}]}}

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(msgspec.json.encode(documents[self.path]))

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as web:
        url = f"http://127.0.0.1:{web.server_address[1]}"
        documents["/.well-known/openid-configuration"] = {"issuer": url, "jwks_uri": f"{url}/keys"}
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield url, key
        web.shutdown()


def test_people_come_in_by_tokens_of_an_issuer(
    start: Start, issuer: tuple[str, rsa.RSAPrivateKey]
) -> None:
    address, key = issuer
    env = {"MAINSPRING_OIDC_ISSUER": address, "MAINSPRING_OIDC_AUDIENCE": "mainspring"}
    running = start(*DOORS, env=env)
    url = opened(running)

    def token(**changes: object) -> str:
        claims: dict[str, object] = {"iss": address, "aud": "mainspring", "sub": "ada"}
        claims |= {"exp": int(time.time()) + 600, "roles": "viewer", "tenant": "acme"}
        return jwt.encode(claims | changes, key, algorithm="RS256", headers={"kid": "r1"})

    assert status(url, token()) == 200
    assert status(url, token(roles="submit")) == 403
    assert status(url, token(aud="another")) == 401
    assert status(url, token(exp=1_000_000)) == 401
    headers = {"authorization": f"Bearer {token()}"}
    asked = httpx.get(f"{url}/api/v1/server", headers=headers, trust_env=False).json()
    assert (asked["principal"], asked["tenant"]) == ("user ada", "acme")
    assert running.end(signal.SIGTERM) == 0
    assert headers["authorization"] not in running.text


def test_an_ended_key_opens_nothing_and_no_secret_is_told(start: Start) -> None:
    running = start(*DOORS, "--log-level", "debug")
    url = opened(running)
    admin = first_key(running)
    with httpx.Client(base_url=f"{url}/api/v1", trust_env=False) as client:
        headers = {"authorization": f"Bearer {admin}"}
        made = client.post("keys", json={"name": "bot", "scopes": ["read"]}, headers=headers)
        assert made.status_code == 201, made.text
        (key,) = keys_in(made.text)
        ended = client.delete(f"keys/{made.json()['id']}", headers=headers)
        assert ended.status_code == 200, ended.text
        refused = client.get("jobs", headers={"authorization": f"Bearer {key}"})
        assert (refused.status_code, refused.json()["code"]) == (401, "key_expired")
        listed = (
            client.get("keys", headers=headers).text + client.get("audit", headers=headers).text
        )
    assert running.end(signal.SIGTERM) == 0
    secret = key.rpartition("_")[2]
    assert secret not in running.text + refused.text + ended.text + listed
    assert running.text.count(admin.rpartition("_")[2]) == 1

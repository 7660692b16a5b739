"""The door itself: who comes in, what is refused and how, health, reflection, limits, its end."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from mainspring.domain.access import SCOPES, Principal, Right
from mainspring.domain.errors import ServerUnreachable, SessionLost
from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo, JobFilter
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.store import Store
from mainspring.remote.channel import Channel
from mainspring.remote.gateway import RemoteGateway
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import KIND, claim_ask, new_job, new_session
from mainspring.testing.conformance.gateways import claim_new, hand_in, open_session
from mainspring.testing.conformance.steps import SUCCEEDED, counts, state_of
from mainspring.wire.protobuf import submission_pb2, worker_pb2
from mainspring.wire.protobuf.scalars import show_worker
from tests.gateways.calling import METHODS, SCHEDULER, SUBMISSION, WORKER, Line
from tests.gateways.loopback import ByKey, gateway_to, serving


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_sqlite(tmp_path / "door.db")
    await opened.migrate(phase="all")
    await opened.declare_handlers([HandlerInfo(kind=KIND)])
    yield opened
    await opened.close()


@pytest.fixture
def people() -> ByKey:
    return ByKey(
        worker=Principal(name="key worker", rights=SCOPES["work"]),
        sender=Principal(name="key sender", rights=SCOPES["submit"]),
        reader=Principal(name="key reader", rights=SCOPES["read"]),
        acme=Principal(name="key acme", rights=SCOPES["submit"] | SCOPES["work"], tenant="acme"),
    )


@pytest.fixture
async def port(store: Store, people: ByKey) -> AsyncIterator[int]:
    async with serving(store, None, doorkeeper=people) as door:
        yield door.port


@pytest.fixture
async def lines(port: int) -> AsyncIterator[dict[str, Line]]:
    keys = ("", "wrong", "worker", "sender", "reader", "acme")
    made = {key: Line(f"127.0.0.1:{port}", key) for key in keys}
    yield made
    for line in made.values():
        await line.close()


# --- Who comes in ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(METHODS))
async def test_no_method_is_open_to_strangers(lines: dict[str, Line], path: str) -> None:
    for key in ("", "wrong"):
        found = await lines[key].refused(path, METHODS[path][0]())
        assert found is not None
        assert found.status is grpc.StatusCode.UNAUTHENTICATED
        assert found.code == "unauthenticated"


@pytest.mark.parametrize("path", sorted(METHODS))
async def test_a_key_opens_what_it_has_a_right_to(lines: dict[str, Line], path: str) -> None:
    mine, others = "worker", ("sender", "reader")
    if path.startswith(SUBMISSION):
        mine, others = "sender", ("worker", "reader")
    for key in others:
        found = await lines[key].refused(path, METHODS[path][0]())
        assert found is not None
        assert found.status is grpc.StatusCode.PERMISSION_DENIED
        assert found.code == "forbidden"
    allowed = await lines[mine].refused(path, METHODS[path][0]())
    assert allowed is None or allowed.status is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_key_of_one_tenant_names_no_other(lines: dict[str, Line], store: Store) -> None:
    job = submission_pb2.Job(kind=KIND, tenant="globex")
    found = await lines["acme"].refused(
        SUBMISSION + "Submit", submission_pb2.SubmitRequest(job=job)
    )
    assert found is not None
    assert found.code == "forbidden"
    handler = worker_pb2.Handler(kind="a", tenant="globex")
    opened = worker_pb2.OpenSessionRequest(handlers=[handler])
    found = await lines["acme"].refused(WORKER + "OpenSession", opened)
    assert found is not None
    assert found.code == "forbidden"
    answer = await lines["acme"].ask(
        SUBMISSION + "Submit",
        submission_pb2.SubmitRequest(job=submission_pb2.Job(kind=KIND)),
        submission_pb2.SubmitResponse,
    )
    [created] = (await store.list_jobs(JobFilter(), limit=9, before=None)).items
    assert (created.job_id, created.tenant) == (answer.job_id, "acme")


async def test_a_peer_is_told_to_the_doorkeeper(lines: dict[str, Line], people: ByKey) -> None:
    await lines["reader"].refused(SCHEDULER + "ClaimTriggers", b"")
    shown, peer, certificate = people.shown[-1]
    assert shown == "Bearer reader"
    assert "127.0.0.1" in peer
    assert certificate is None


async def test_methods_that_are_not_there_are_unimplemented(port: int) -> None:
    line = Line(f"127.0.0.1:{port}")
    for path in ("/mainspring.v1.WorkerService/", "/mainspring.v1.WorkerService/beat", "/x/Y"):
        call: Any = line.channel.unary_unary(path)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    await line.close()


# --- Errors ---------------------------------------------------------------------------------------


async def test_an_error_arrives_with_its_code_hint_and_details(lines: dict[str, Line]) -> None:
    beat = worker_pb2.BeatRequest(worker_id=show_worker(new_session().id))
    found = await lines["worker"].refused(WORKER + "Beat", beat)
    assert found is not None
    assert found.status is grpc.StatusCode.ABORTED
    assert isinstance(found.error, SessionLost)
    assert found.error.hint == "open a new session"


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    gateway = RemoteGateway(Channel("grpc://127.0.0.1:1"), monotonic=monotonic)
    with pytest.raises(ServerUnreachable, match="did not answer"):
        await gateway.beat(new_session().id)
    await gateway.close()


async def test_a_message_over_the_limit_is_refused(lines: dict[str, Line]) -> None:
    found = await lines["worker"].refused(WORKER + "Report", b"x" * 12_582_913)
    assert found is not None
    assert found.status is grpc.StatusCode.RESOURCE_EXHAUSTED


# --- Submission -----------------------------------------------------------------------------------


async def test_one_job_is_taken(lines: dict[str, Line], store: Store) -> None:
    job = submission_pb2.Job(kind=KIND, payload_json='{"n":1}', key="k-1")
    asked = submission_pb2.SubmitRequest(job=job)
    line = lines["sender"]
    first = await line.ask(SUBMISSION + "Submit", asked, submission_pb2.SubmitResponse)
    again = await line.ask(SUBMISSION + "Submit", asked, submission_pb2.SubmitResponse)
    assert (first.created, again.created, again.job_id) == (True, False, first.job_id)
    job.payload_json = '{"n":2}'
    asked = submission_pb2.SubmitRequest(job=job)
    found = await line.refused(SUBMISSION + "Submit", asked)
    assert found is not None
    assert found.code == "submission_key_reused"


async def test_of_many_jobs_a_key_refuses_its_own_alone(
    lines: dict[str, Line], store: Store
) -> None:
    line = lines["sender"]

    async def send(*jobs: submission_pb2.Job) -> submission_pb2.SubmitBatchResponse:
        asked = submission_pb2.SubmitBatchRequest(jobs=jobs)
        path = SUBMISSION + "SubmitBatch"
        return await line.ask(path, asked, submission_pb2.SubmitBatchResponse)

    plain = submission_pb2.Job(kind=KIND)
    keyed = submission_pb2.Job(kind=KIND, key="k", payload_json='{"n":1}')
    other = submission_pb2.Job(kind=KIND, key="k", payload_json='{"n":2}')
    alone = submission_pb2.Job(kind=KIND, unique_key="u", on_duplicate="reject")
    first = await send(plain, keyed, alone)
    assert [item.created for item in first.results] == [True] * 3
    second = await send(plain, other, keyed, alone, plain)
    created = [item.created for item in second.results]
    assert created == [True, False, False, False, True]
    codes = [item.error.code for item in second.results]
    assert codes == ["", "submission_key_reused", "", "duplicate_job", ""]
    assert second.results[2].job_id == first.results[1].job_id
    assert second.results[3].job_id == first.results[2].job_id
    assert await counts(store) == {JobState.READY: 5}


async def test_a_bad_job_refuses_all_and_is_named(lines: dict[str, Line], store: Store) -> None:
    jobs = [submission_pb2.Job(kind=KIND), submission_pb2.Job(kind=KIND, payload_json="[")]
    asked = submission_pb2.SubmitBatchRequest(jobs=jobs)
    found = await lines["sender"].refused(SUBMISSION + "SubmitBatch", asked)
    assert found is not None
    assert found.error is not None
    assert (found.code, found.error.details["index"]) == ("not_json", 1)
    jobs[1] = submission_pb2.Job(kind=KIND, id="job_x")
    asked = submission_pb2.SubmitBatchRequest(jobs=jobs)
    found = await lines["sender"].refused(SUBMISSION + "SubmitBatch", asked)
    assert found is not None
    assert found.error is not None
    assert (found.code, found.error.details["index"]) == ("invalid_id", 1)
    assert await counts(store) == {}


async def test_too_many_jobs_are_refused(lines: dict[str, Line]) -> None:
    asked = submission_pb2.SubmitBatchRequest(jobs=[submission_pb2.Job()] * 10_001)
    found = await lines["sender"].refused(SUBMISSION + "SubmitBatch", asked)
    assert found is not None
    assert found.status is grpc.StatusCode.RESOURCE_EXHAUSTED


# --- Health, reflection, TLS, the end -------------------------------------------------------------


async def test_health_is_told_to_everybody(port: int) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        asked = health_pb2.HealthCheckRequest()
        answer = await health_pb2_grpc.HealthStub(channel).Check(asked)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_services_are_shown_to_whoever_has_a_key(port: int) -> None:
    async def services(key: str) -> set[str]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            asked = reflection_pb2.ServerReflectionRequest(list_services="")
            call = stub.ServerReflectionInfo(
                iter([asked]), metadata=(("authorization", f"Bearer {key}"),)
            )
            found = [answer async for answer in call]
            return {item.name for item in found[0].list_services_response.service}

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        refused = stub.ServerReflectionInfo(metadata=(("authorization", "Bearer wrong"),))
        assert await refused.code() is grpc.StatusCode.UNAUTHENTICATED
    assert await services("reader") >= {path.split("/")[1] for path in METHODS}


async def test_reflection_can_be_left_out(store: Store) -> None:
    async with (
        serving(store, None, has_reflection=False) as door,
        grpc.aio.insecure_channel(f"127.0.0.1:{door.port}") as channel,
    ):
        call: Any = channel.unary_unary(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_tls_and_the_certificate_of_a_worker(store: Store, tmp_path: Path) -> None:
    authority = trustme.CA()
    server, client = authority.issue_cert("localhost"), authority.issue_cert("worker-7")
    ca_file, own_file = tmp_path / "ca.pem", tmp_path / "own.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    client.private_key_and_cert_chain_pem.write_to_path(str(own_file))
    chain = b"".join(blob.bytes() for blob in server.cert_chain_pems)
    credentials = grpc.ssl_server_credentials(
        [(server.private_key_pem.bytes(), chain)],
        authority.cert_pem.bytes(),
        require_client_auth=True,
    )
    people = ByKey(worker=Principal(name="w", rights=frozenset({Right.WORK})))
    async with serving(store, None, doorkeeper=people, credentials=credentials) as door:
        address = f"grpcs://localhost:{door.port}"
        files = {"ca_file": str(ca_file), "certificate_file": str(own_file)}
        gateway = RemoteGateway(Channel(address, key="worker", **files), monotonic=monotonic)
        await open_session(gateway)
        assert people.shown[-1][2] == "worker-7"
        await gateway.close()
        stranger = RemoteGateway(Channel(address, ca_file=str(ca_file)), monotonic=monotonic)
        with pytest.raises(ServerUnreachable):
            await stranger.beat(new_session().id)
        await stranger.close()


async def test_another_server_goes_on_where_one_left_off(store: Store) -> None:
    """What one had handed out is reported to the other, and so is what it had settled."""
    async with serving(store, None) as first:
        gateway = gateway_to(first.port)
        worker = await open_session(gateway)
        done = await claim_new(gateway, store, worker)
        running = await claim_new(gateway, store, worker)
        assert await hand_in(gateway, done, SUCCEEDED)
    async with serving(store, None) as second:
        moved = gateway_to(second.port)
        moved._held, moved._reported = gateway._held, gateway._reported
        assert (await moved.beat(worker)).lease_ms > 0
        assert await hand_in(moved, done, SUCCEEDED), "a repetition"
        assert await hand_in(moved, running, SUCCEEDED)
        assert await counts(store) == {JobState.SUCCEEDED: 2}
        await moved.close()
    await gateway.close()


async def test_nobody_reports_for_another_worker(lines: dict[str, Line], store: Store) -> None:
    mine = new_session()
    others = new_session()
    await store.open_session(mine)
    await store.open_session(others)
    job = new_job()
    await store.submit([job])
    await store.claim(claim_ask(mine.id))
    for succeeded in (True, False):
        asked = worker_pb2.ReportRequest(worker_id=show_worker(others.id))
        told = asked.reports.add(attempt_id=f"{show_job(job.id)}:1")
        told.succeeded.SetInParent() if succeeded else told.failed.SetInParent()
        answer = await lines["worker"].ask(WORKER + "Report", asked, worker_pb2.ReportResponse)
        assert list(answer.accepted) == [False]
    assert await state_of(store, job.id) is JobState.RUNNING
    read = worker_pb2.ReadPayloadRequest(
        worker_id=show_worker(others.id), attempt_id=f"{show_job(job.id)}:1"
    )
    found = await lines["worker"].refused(WORKER + "ReadPayload", read)
    assert found is not None
    assert found.code == "lease_lost"


async def test_a_lost_answer_to_a_claim_gives_the_jobs_back(store: Store) -> None:
    """The second claim says what is held here; what nobody saw is handed back, and comes again."""
    async with serving(store, None) as door:
        gateway = gateway_to(door.port)
        worker = await open_session(gateway)
        seen = await claim_new(gateway, store, worker)
        await store.submit([new_job() for _ in range(3)])
        # As if the connection broke after the server had done it.
        blind = gateway_to(door.port)
        assert len(await blind.claim(claim_ask(worker))) == 3
        gateway._unanswered.note()
        again = await gateway.claim(claim_ask(worker))
        assert {job.attempt for job in again} == {2}
        assert len(again) == 3
        for job in (seen, *again):
            assert await hand_in(gateway, job, SUCCEEDED)
        await gateway.close()
        await blind.close()


# --- The stream of attempts -----------------------------------------------------------------------


class Stream:
    """A stream of attempts, as a worker in any language has it."""

    def __init__(self, line: Line, worker_id: bytes, holding: list[str] | None = None) -> None:
        call: Any = line.channel.stream_stream(WORKER + "StreamAttempts")
        self.call = call(metadata=line.metadata)
        self.first = worker_pb2.OpenStream(worker_id=show_worker(worker_id), kinds=[KIND])
        if holding is not None:
            self.first.holding.attempt_ids.extend(holding)
            self.first.holding.SetInParent()

    async def open(self, **credits_of: int) -> None:
        await self.say(worker_pb2.StreamAttemptsRequest(open=self.first))
        await self.grant(**credits_of)

    async def say(self, word: worker_pb2.StreamAttemptsRequest) -> None:
        await self.call.write(word.SerializeToString())

    async def grant(self, **credits_of: int) -> None:
        given = worker_pb2.Credits(queues=credits_of)
        await self.say(worker_pb2.StreamAttemptsRequest(credits=given))

    async def hear(self) -> worker_pb2.StreamAttemptsResponse:
        raw = await asyncio.wait_for(self.call.read(), 20)
        return worker_pb2.StreamAttemptsResponse.FromString(raw)

    async def attempts(self, count: int) -> list[str]:
        """Hear until so many attempts have come; nudges are passed over."""
        names: list[str] = []
        while len(names) < count:
            word = await self.hear()
            names += [attempt.attempt_id for attempt in word.attempts.attempts]
        return names


async def test_attempts_come_as_far_as_credits_reach(lines: dict[str, Line], store: Store) -> None:
    worker = new_session()
    await store.open_session(worker)
    await store.submit([new_job() for _ in range(5)])
    stream = Stream(lines["worker"], worker.id)
    await stream.open(default=2)
    assert len(await stream.attempts(2)) == 2
    await stream.grant(default=3, other=1)
    names = await stream.attempts(3)
    assert len(names) == 3
    assert await counts(store) == {JobState.RUNNING: 5}
    stream.call.cancel()


async def test_an_open_stream_is_woken_by_what_falls_due(
    lines: dict[str, Line], store: Store
) -> None:
    worker = new_session()
    await store.open_session(worker)
    stream = Stream(lines["worker"], worker.id)
    await stream.open(default=3)
    for _ in range(2):
        job = new_job()
        await store.submit([job])
        store.wakeups.announce({"queue:default"})
        assert await stream.attempts(1) == [f"{show_job(job.id)}:1"]
    stream.call.cancel()


async def test_a_message_for_the_worker_is_a_nudge(lines: dict[str, Line], store: Store) -> None:
    worker = new_session()
    await store.open_session(worker)
    stream = Stream(lines["worker"], worker.id)
    await stream.open(default=0)
    hearing = asyncio.ensure_future(stream.hear())
    for _ in range(200):
        # A hint that comes before anybody listens is lost: that is what hints are.
        store.wakeups.announce({f"worker:{worker.id.hex()}"})
        if (await asyncio.wait({hearing}, timeout=0.05))[0]:
            break
    assert (await hearing).HasField("nudge")
    stream.call.cancel()


async def test_what_a_broken_stream_brought_unseen_comes_again(
    lines: dict[str, Line], store: Store
) -> None:
    worker = new_session()
    await store.open_session(worker)
    await store.submit([new_job() for _ in range(3)])
    first = Stream(lines["worker"], worker.id)
    await first.open(default=3)
    seen, *unseen = await first.attempts(3)
    second = Stream(lines["worker"], worker.id, holding=[seen])
    await second.open(default=3)
    again = await second.attempts(2)
    assert sorted(again) == sorted(name.replace(":1", ":2") for name in unseen)
    assert await first.call.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "another stream" in await first.call.details()
    second.call.cancel()


@pytest.mark.parametrize("number", range(4))
async def test_a_stream_that_speaks_wrongly_is_refused(
    lines: dict[str, Line], store: Store, number: int
) -> None:
    opened = worker_pb2.OpenStream(worker_id=show_worker(new_session().id), kinds=[KIND])
    word = worker_pb2.StreamAttemptsRequest
    words = [
        [word(credits=worker_pb2.Credits(queues={"default": 1}))],
        [word(open=opened), word(open=opened)],
        [word(open=opened), word(credits=worker_pb2.Credits(queues={"default": 10_001}))],
        [word(open=worker_pb2.OpenStream(worker_id="wrk_1"))],
    ][number]
    found = await lines["worker"].refused(WORKER + "StreamAttempts", *words)
    assert found is not None
    expected = "RESOURCE_EXHAUSTED" if number == 2 else "INVALID_ARGUMENT"
    assert found.status.name == expected


async def test_large_payloads_stay_behind_and_can_be_read(
    lines: dict[str, Line], store: Store
) -> None:
    body = b'{"text":"' + b"x" * 1_000_001 + b'"}'
    await store.submit([new_job(payload=body)])
    worker = new_session()
    await store.open_session(worker)
    stream = Stream(lines["worker"], worker.id)
    await stream.open(default=1)
    [attempt] = (await stream.hear()).attempts.attempts
    assert (attempt.payload_is_away, attempt.payload_json) == (True, "")
    stream.call.cancel()
    asked = worker_pb2.ReadPayloadRequest(
        worker_id=show_worker(worker.id), attempt_id=attempt.attempt_id
    )
    call: Any = lines["worker"].channel.unary_stream(WORKER + "ReadPayload")
    pieces = [
        worker_pb2.ReadPayloadResponse.FromString(raw).piece
        async for raw in call(asked.SerializeToString(), metadata=lines["worker"].metadata)
    ]
    assert len(pieces) == 2
    assert b"".join(pieces) == body

"""One owner of all servers of a test session, and the way for other processes to ask it for them.

The process that starts a session (pytest itself, or the controller of its parallel workers) has a
`ServerHost`. Its servers are started when first asked for and live until it closes. Workers have a
`ServerGuest` that asks the host over a Unix socket. Compared with a count of users in a shared file
this needs no repair after a crash: the servers are children of the one process that outlives all
workers, and they die with it.
"""

import json
import shutil
import socketserver
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Protocol

from mainspring.testing.servers.components import COMPONENTS, Provided, provide
from mainspring.testing.servers.failures import ServerFailed, ServerUnavailable
from mainspring.testing.servers.report import Report, Use

# A host starts one server at most twice; the slowest takes seconds.
_ANSWER_SECONDS = 120.0


class Servers(Protocol):
    """What fixtures need, the same in the session's own process and in its workers."""

    def use(self, component: str) -> Mapping[str, str]:
        """How to reach the component; raises `ServerUnavailable` or `ServerFailed`."""
        ...

    def note(self, component: str, use: Use, detail: str) -> None:
        """Write into the session's report."""
        ...


class ServerHost:
    """Owns the servers; close it when the session ends.

    For example:

        with contextlib.closing(ServerHost()) as host:
            dsn = host.use("postgres_18")["dsn"]
    """

    def __init__(self, start: Callable[[str], Provided] = provide) -> None:
        self.report = Report(COMPONENTS)
        self._start = start
        self._guard = threading.Lock()
        self._claims: dict[str, Future[Provided]] = {}
        self._reception: _Reception | None = None

    def use(self, component: str) -> Mapping[str, str]:
        """Start it unless somebody has; whoever comes while it starts waits for the same one."""
        claim, is_mine = self._claim_once(component)
        if is_mine:
            self._fulfil(claim, component)
        return claim.result().access

    def note(self, component: str, use: Use, detail: str) -> None:
        """Write into the session's report."""
        self.report.note(component, use, detail)

    def address(self) -> str:
        """Where guests in other processes may ask; nobody listens until this is first called."""
        with self._guard:
            if self._reception is None:
                self._reception = _Reception(self)
            return self._reception.path

    def close(self) -> None:
        """End all servers; guests that still ask find nobody."""
        with self._guard:
            reception, self._reception = self._reception, None
            claims = list(self._claims.values())
            self._claims.clear()
        if reception is not None:
            reception.close()
        for claim in claims:
            if claim.exception() is None:
                claim.result().stop()

    def _claim_once(self, component: str) -> tuple["Future[Provided]", bool]:
        with self._guard:
            is_mine = component not in self._claims
            return self._claims.setdefault(component, Future()), is_mine

    def _fulfil(self, claim: "Future[Provided]", component: str) -> None:
        try:
            provided = self._start(component)
        except BaseException as error:  # noqa: BLE001 - it is handed to all who wait
            claim.set_exception(error)
            use = Use.LEFT_OUT if isinstance(error, ServerUnavailable) else Use.FAILED
            self.note(component, use, str(error))
            return
        self.note(component, Use.EXERCISED, provided.origin)
        claim.set_result(provided)


class ServerGuest:
    """Asks the host of another process. Example: `ServerGuest(host.address()).use("s3")`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def use(self, component: str) -> Mapping[str, str]:
        """As the host would answer."""
        answer = self._ask({"use": component})
        match answer:
            case {"access": dict(access)}:
                return access
            case {"unavailable": str(reason)}:
                raise ServerUnavailable(reason)
            case _:
                raise ServerFailed(str(answer.get("failed", "the host gave no answer")))

    def note(self, component: str, use: Use, detail: str) -> None:
        """Write into the session's report."""
        self._ask({"note": [component, use.value, detail]})

    def _ask(self, question: Mapping[str, object]) -> dict[str, object]:
        with socket(AF_UNIX, SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(self._address)
            connection.sendall(json.dumps(question).encode() + b"\n")
            with connection.makefile("rb") as stream:
                answer: dict[str, object] = json.loads(stream.readline() or b"{}")
            return answer


class _Reception(socketserver.ThreadingUnixStreamServer):
    """One thread a question: a server that starts must not keep others from theirs."""

    daemon_threads = True
    # Whoever finds the queue full is refused at once (EAGAIN), and all workers begin together.
    request_queue_size = 128

    def __init__(self, host: ServerHost) -> None:
        self.host = host
        # Made by mkdtemp for our user alone, so nobody else can ask. Short, as socket paths must
        # be.
        self._directory = tempfile.mkdtemp(prefix="mainspring-host-")
        self.path = str(Path(self._directory) / "host")
        super().__init__(self.path, _Conversation)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()
        shutil.rmtree(self._directory, ignore_errors=True)


class _Conversation(socketserver.StreamRequestHandler):
    """One question, one answer, each a line of JSON."""

    server: _Reception

    def handle(self) -> None:
        line = self.rfile.readline()
        if line:
            self.wfile.write(json.dumps(self._answer(json.loads(line))).encode() + b"\n")

    def _answer(self, question: object) -> Mapping[str, object]:
        host = self.server.host
        try:
            match question:
                case {"use": str(component)}:
                    return {"access": dict(host.use(component))}
                case {"note": [str(component), str(use), str(detail)]}:
                    host.note(component, Use(use), detail)
                    return {"noted": True}
                case _:
                    return {"failed": f"not a question: {question!r}"}
        except ServerUnavailable as reason:
            return {"unavailable": str(reason)}
        except Exception as error:  # noqa: BLE001 - the guest must fail, not our thread
            return {"failed": f"{type(error).__name__}: {error}"}

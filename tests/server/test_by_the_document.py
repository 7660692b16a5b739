"""Requests made from the OpenAPI document by schemathesis: every answer is one that it has.

The same examples in every run; to look for new ones, and many more of them:
``pytest --hypothesis-profile=search tests/server/test_by_the_document.py``.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from mainspring.ports.entropy import new_job_id
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.serving import House
from mainspring.server.doorkeeper import OpenDoorkeeper
from mainspring.server.events import Hub
from mainspring.server.http.asgi import Application
from mainspring.server.http.openapi import document
from mainspring.server.http.routes import TABLE
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from tests.server.asgi_call import Answered, call
from tests.server.test_everybody import ours

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_000)]
#: Of an operation, in each mode; and where new ones are looked for.
_EXAMPLES = 12
_SEARCHED = 300


class Front:
    """A server without a socket, with one of each thing, and the loop that it lives on."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self.there = self._runner.run(self._open())

    async def _open(self) -> dict[str, str]:
        self._store = await open_sqlite(":memory:", clock=SettableClock())
        await self._store.migrate(phase="all")
        desk = FrontDesk(self._store, blobs=None, new_id=new_job_id)
        hub = Hub(self._store, name="h")
        self._application = Application(TABLE, House(desk, OpenDoorkeeper(), bound_desk, hub=hub))
        return await ours(desk, self._store)

    def __call__(
        self, method: str, target: str, headers: Mapping[str, Any], body: bytes
    ) -> Answered:
        given = [
            (name.lower().encode("latin-1"), str(value).encode("latin-1"))
            for name, value in headers.items()
        ]
        return self._runner.run(call(self._application, method, target, given, body))

    def close(self) -> None:
        self._runner.run(self._store.close())
        self._runner.close()


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    opened = Front()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def described() -> Any:
    """The document as schemathesis reads it; its import takes seconds, so it is made here."""
    import schemathesis

    plain = msgspec.to_builtins(document(TABLE))
    # Keys are another matter: tests/server/test_everybody.py.
    del plain["components"]["securitySchemes"]
    for methods in plain["paths"].values():
        for operation in methods.values():
            del operation["security"]
    found = schemathesis.openapi.from_dict(plain)
    # An ETag that is no ETag is one that nothing has.
    refusals = found.config.checks.negative_data_rejection
    refusals.expected_statuses = [*refusals.expected_statuses, "412"]
    return found


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_answer_is_one_that_the_document_has(
    front: Front, described: Any, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from schemathesis.core.failures import FailureGroup

    # Nobody holds an answer back for long.
    monkeypatch.setattr("mainspring.server.http.routes.jobs.WAIT_SECONDS_MAX", 0.001)
    faults: list[str] = []
    tried = 0
    for found in described.get_all_operations():
        operation = found.ok()
        try:
            tried += _try_all(front, operation, mode)
        except Unsatisfiable:
            # There is nothing to be given, so nothing can be wrong.
            assert mode == "negative", operation.label
        except FailureGroup as group:
            faults.append(f"{operation.label}: {group.message}")
    assert not faults, "\n\n".join(faults)
    assert tried > _EXAMPLES * len(TABLE.routes) // 2


def _try_all(front: Front, operation: Any, mode: str) -> int:
    """Call an operation with many examples; raise where an answer is none of the document's."""
    import requests
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.response_headers_conformance,
        checks.negative_data_rejection,
    ]
    tried = 0
    kind = GenerationMode(mode)
    variables = {name: front.there[name] for name in _variables(operation)}
    cases = operation.as_strategy(generation_mode=kind)
    if variables and mode == "positive":
        # Half of them are about what is there.
        known = operation.as_strategy(generation_mode=kind, path_parameters=variables)
        cases = st.one_of(cases, known)

    is_search = settings.get_current_profile_name() == "search"

    @settings(
        max_examples=_SEARCHED if is_search else _EXAMPLES,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def answers(case: Any) -> None:
        nonlocal tried
        tried += 1
        arguments = case.as_transport_kwargs(base_url="http://127.0.0.1")
        arguments.pop("allow_redirects", None)
        asked = requests.Request(**arguments).prepare()
        assert asked.method is not None
        body: Any = asked.body or b""
        body = body.encode() if isinstance(body, str) else body
        assert isinstance(body, bytes)
        answered = front(asked.method, asked.path_url, asked.headers, body)
        headers: dict[str, list[str]] = {}
        for name, value in answered.headers:
            headers.setdefault(name, []).append(value)
        response = schemathesis.Response(
            answered.status, headers, answered.body, asked, 0.0, verify=True
        )
        case.validate_response(response, checks=wanted)

    answers()
    return tried


def _variables(operation: Any) -> list[str]:
    return [parameter.name for parameter in operation.path_parameters]

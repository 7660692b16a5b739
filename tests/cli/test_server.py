"""Commands against a server's address: what they say is what they say of a store."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mainspring.testing.servers.free_ports import free_ports
from tests.cli.conftest import Commands, Done
from tests.loopback import serving_apart

Here = Callable[..., Done]


@pytest.fixture
def far(
    mainspring: Commands, here: Here, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Done]]:
    """`far("jobs", "ls")` asks a server before the store that `here` asks itself."""
    with serving_apart(f"sqlite:///{mainspring.store}") as url:

        def call(*words: str, stdin: bytes = b"", expect: int | None = None) -> Done:
            monkeypatch.setenv("MAINSPRING_STORE", url)
            try:
                return here(*words, stdin=stdin, expect=expect)
            finally:
                monkeypatch.delenv("MAINSPRING_STORE")

        yield call


def timeless(text: str) -> str:
    """What was shown, but for how long ago and how soon: time goes on between two commands."""
    return " ".join(re.sub(r"\b\d+(\.\d+)? ?(ms|[smhd])\b", "T", text).replace("T T", "T").split())


@pytest.mark.parametrize("output", ["table", "json", "jsonl", "yaml", "csv", "name"])
def test_what_is_shown_is_the_same(here: Here, far: Here, output: str) -> None:
    name = far("submit", "greet", "name=Ada", "--delay", "1h", "-o", "name", expect=0).out.strip()
    far("submit", "doomed", "order:=12345678901234567890", "--key", "k", expect=0)
    for words in (
        ["jobs", "ls"],
        ["jobs", "ls", "-q", "kind:greet"],
        ["jobs", "get", name],
        ["jobs", "explain", name],
        ["jobs", "logs", name],
        ["dlq", "ls"],
        ["queues", "ls"],
        ["workers", "ls"],
        ["handlers", "ls"],
        ["handlers", "get", "greet"],
        ["schedules", "ls"],
        ["calendars", "ls"],
    ):
        near, remote = here(*words, "-o", output), far(*words, "-o", output)
        assert (remote.code, timeless(remote.out)) == (near.code, timeless(near.out)), words
        assert near.code == 0


def test_what_is_changed_is_the_same(here: Here, far: Here) -> None:
    first, second = (
        far("submit", "greet", "--delay", "1h", "-o", "name", expect=0).out.strip() for _ in "ab"
    )
    assert far("jobs", "retry", first, expect=0).out == f"{first}  ready\n"
    assert far("jobs", "cancel", first, "--reason", "a slip", expect=0).out.split() == [
        first,
        "cancelled",
    ]
    assert here("jobs", "get", first, "-o", "json").json()["reason"] == "a slip"
    assert far("jobs", "cancel", "-q", "state:scheduled", "--yes", expect=0).out.startswith(second)
    far("queues", "pause", "default", "--reason", "a flood", expect=0)
    assert "a flood" in here("queues", "ls").out
    far("queues", "resume", "default", expect=0)
    done = far("submit", "greet", "--key", "once", "-o", "json", expect=0).json()
    again = far("submit", "greet", "--key", "once", "-o", "json", expect=0).json()
    assert (again["id"], again["created"]) == (done["id"], False)


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["jobs", "get", "job_01JD3M0V5T7QK4C8R2N6W9XYZA"], 3, "not_found"),
        (["jobs", "ls", "-q", "stat:dead"], 2, "invalid_query"),
        (["submit", "gret"], 2, "unknown_kind"),
        (["submit", "greet", "nmae=Ada"], 2, "invalid_payload"),
        (["queues", "pause", "nowhere"], 3, "not_found"),
        (["db", "migrate"], 2, "invalid_setting"),
        (["db", "status"], 2, "invalid_setting"),
        (["db", "check"], 2, "invalid_setting"),
    ],
)
def test_what_is_wrong_is_told_alike(far: Here, words: list[str], code: int, error: str) -> None:
    done = far(*words)
    assert (done.code, done.error_code) == (code, error), done
    done.assert_told()


def test_a_server_that_is_not_there_is_told(here: Here) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    done = here("jobs", "ls", "--store", url)
    assert (done.code, done.error_code) == (9, "server_unreachable")
    assert url in done.err
    wrong = here("jobs", "ls", "--store", "http://a:b:c")
    assert (wrong.code, wrong.error_code) == (2, "invalid_setting")


def test_the_doctor_looks_at_the_server(here: Here, far: Here) -> None:
    found = {item["check"]: item for item in far("doctor", "-o", "json").json()}
    assert found["server"]["status"] == "ok"
    assert "answers in" in found["server"]["what"]
    assert found["clock"]["status"] == "ok"
    assert found["queues"]["status"] == "ok"
    assert found["migrations"]["status"] == "skip"
    (port,) = free_ports(1)
    done = here("doctor", "--store", f"http://127.0.0.1:{port}", "-o", "json")
    assert done.code == 8
    down = {item["check"]: item for item in done.json()}
    assert down["server"]["status"] == "fail"
    assert "cannot be reached" in down["server"]["what"]


GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "remote.md"


def test_the_guide_is_as_written(
    mainspring: Commands, far: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (commands,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    for line in commands.splitlines():
        far(*shlex.split(line)[1:], expect=0)
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    with serving_apart(f"sqlite:///{mainspring.store}") as url:
        monkeypatch.setenv("MAINSPRING_STORE", url)
        exec(compile(snippet, str(GUIDE), "exec"), {})

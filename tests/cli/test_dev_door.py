"""REST beside `mainspring dev`: there when it can be, and never in the way."""

import json
import re
import signal
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from mainspring.runtime.addresses import Address, listen
from tests.cli.conftest import Commands, Running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
START = ("dev", "--http", "127.0.0.1:0")


def asked(url: str, key: str, body: object = None) -> tuple[int, dict[str, object]]:
    """What REST answers to somebody with this key."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_dev_serves_rest_and_shows_the_first_key_once(start: Callable[..., Running]) -> None:
    dev = start(*START)
    told = dev.wait_for("REST at .* shown this once:$")
    url = told.split()[3].rstrip(";")
    key = dev.wait_for("^ms_live_")
    assert max(len(told), len(key)) <= 80
    status, job = asked(f"{url}/jobs", key, {"kind": "greet", "payload": {"name": "Ada"}})
    assert status == 201
    dev.wait_for(rf'{job["job_id"]} .*succeeded .*"Hello, Ada"')
    status, problem = asked(f"{url}/jobs", key[:-1] + "0")
    assert (status, problem["code"]) == (401, "unauthenticated")
    assert dev.end(signal.SIGINT) == 0
    again = start(*START)
    assert "keys create" in again.wait_for("REST at")
    assert again.end(signal.SIGINT) == 0
    assert "ms_live_" not in again.text


def test_a_taken_port_is_told_in_a_line_and_no_more(
    start: Callable[..., Running], mainspring: Commands
) -> None:
    with listen("http", Address("127.0.0.1", 0)) as taken:
        dev = start("dev", "--http", f"127.0.0.1:{taken.getsockname()[1]}")
        line = dev.wait_for("no REST")
    assert re.search(r"no REST: 127\.0\.0\.1:\d+ cannot be opened: Address already in use$", line)
    assert len(line) <= 80
    done = mainspring("submit", "greet", "name=Ada", "--wait", expect=0)
    assert done.out.splitlines()[1] == '"Hello, Ada"'
    # Nobody was told of a key, so there is none.
    assert mainspring("keys", "ls", "--ended", "-o", "json", expect=0).json() == []
    assert dev.end(signal.SIGINT) == 0


def test_dev_can_be_without_rest(start: Callable[..., Running], mainspring: Commands) -> None:
    dev = start("dev", "--no-server")
    dev.wait_for("ready; in a second terminal")
    mainspring("submit", "greet", "name=Ada", "--wait", expect=0)
    assert dev.end(signal.SIGINT) == 0
    assert "REST" not in dev.text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--http", "8470"), "'8470' is no address"),
        (("--http", ""), "'' is no address"),
        (("--http", "127.0.0.1:99999"), "is no address"),
        (("--http", "0.0.0.0:8470"), "server start --http 0.0.0.0:8470"),
        (("--http", "127.0.0.1:1", "--no-server"), "give one of them"),
    ],
)
def test_a_slip_is_told_before_anything_starts(
    mainspring: Commands, words: tuple[str, ...], said: str
) -> None:
    done = mainspring("dev", *words, expect=2)
    done.assert_told()
    assert said in done.err
    assert done.out == ""

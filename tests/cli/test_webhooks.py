"""``mainspring webhooks``, as people and programs use it."""

from typing import Any

import pytest

from tests.cli.conftest import Commands

URL = "https://example.org/hooks"


@pytest.fixture
def made(mainspring: Commands) -> dict[str, Any]:
    """An endpoint, with its secret."""
    mainspring("db", "migrate", expect=0)
    words = ("webhooks", "create", URL, "--event", "job.dead,job.failed", "-o", "json")
    found: dict[str, Any] = mainspring(*words, expect=0).json()
    return found


def test_an_endpoint_is_made_shown_changed_and_deleted(
    mainspring: Commands, made: dict[str, Any]
) -> None:
    hook, secret = made["id"], made["secret"]
    assert secret.startswith("whsec_")
    assert made["events"] == ["job.dead", "job.failed"]
    shown = mainspring("webhooks", "get", hook, expect=0)
    listed = mainspring("webhooks", "ls", "-o", "json", expect=0)
    assert URL in shown.out
    assert secret not in shown.out + shown.err + listed.out
    edited = mainspring("webhooks", "edit", hook, "--kind", "mail", "-o", "json", expect=0).json()
    assert (edited["kinds"], edited["events"]) == (["mail"], made["events"])
    rotated = mainspring("webhooks", "rotate-secret", hook, "-o", "json", expect=0).json()
    assert rotated["secret"] != secret
    mainspring("webhooks", "disable", hook, "--reason", "moved", expect=0)
    assert "disabled: moved" in mainspring("webhooks", "ls", expect=0).out
    mainspring("webhooks", "enable", hook, expect=0)
    mainspring("webhooks", "delete", hook, expect=2)
    mainspring("webhooks", "delete", hook, "--dry-run", expect=0)
    mainspring("webhooks", "delete", hook, "--yes", expect=0)
    mainspring("webhooks", "get", hook, expect=3).assert_told()


def test_a_test_is_found_among_the_deliveries(mainspring: Commands, made: dict[str, Any]) -> None:
    asked = mainspring("webhooks", "test", made["id"], "-o", "name", expect=0)
    found = mainspring("webhooks", "deliveries", made["id"], "-o", "name", expect=0)
    assert asked.out == found.out
    mainspring("webhooks", "redeliver", found.out.strip(), expect=6).assert_told()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((URL,), "job.succeeded"),
        ((URL, "--event", "job.deed"), "did you mean job.dead?"),
        (("ftp://example.org", "--event", "job.dead"), "https://example.org/path"),
        (("http://10.0.0.1/", "--event", "job.dead"), "MAINSPRING_WEBHOOK_REACH"),
        (("https://a:b@example.org/", "--event", "job.dead"), "https://example.org/path"),
    ],
)
def test_what_cannot_be_is_told(mainspring: Commands, words: tuple[str, ...], hint: str) -> None:
    mainspring("db", "migrate", expect=0)
    done = mainspring("webhooks", "create", *words, expect=2)
    done.assert_told()
    assert hint in done.err

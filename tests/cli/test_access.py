"""`mainspring keys`, `tenants` and `audit`: made, shown, rotated, ended; and who did it."""

import json
import re
import shlex
from pathlib import Path

from mainspring.domain.keys import parse
from tests.cli.conftest import Commands


def made(commands: Commands, *words: str) -> str:
    return commands("keys", *words, "-o", "name", expect=0).out.strip()


def test_a_key_is_printed_once_and_alone(mainspring: Commands) -> None:
    assert "no keys" in mainspring("keys", "ls", expect=0).err
    shown = mainspring("keys", "create", "bot", "--scopes", "submit, read", expect=0)
    text = shown.out.strip()
    assert parse(text).shown() == text
    assert "only time" in shown.err
    assert text not in shown.err
    for words in (("ls",), ("ls", "-o", "json"), ("get", "bot"), ("get", "bot", "-o", "yaml")):
        page = mainspring("keys", *words, expect=0)
        assert text[21:] not in page.out + page.err
    assert text[21:] not in mainspring("audit", "ls", "-o", "json", expect=0).out
    (row,) = mainspring("keys", "ls", "-o", "json", expect=0).json()
    assert (row["prefix"], row["scopes"], row["tenant"]) == (text[:20], ["submit", "read"], None)


def test_a_key_of_a_tenant_expires(mainspring: Commands) -> None:
    made(mainspring, "create", "bot", "--scopes", "work", "--tenant", "acme", "--expires", "90d")
    page = mainspring("keys", "ls", "--tenant", "acme", expect=0).out
    assert "in 89d" in page
    assert mainspring("keys", "ls", "--tenant", "zoo", "-o", "name", expect=0).out == ""
    assert mainspring("tenants", "ls", "-o", "name", expect=0).out == "acme\ndefault\n"


def test_rotation_leaves_both_and_names_the_new_one(mainspring: Commands) -> None:
    old = made(mainspring, "create", "bot", "--scopes", "submit")
    new = made(mainspring, "rotate", "bot", "--overlap", "1h")
    rows = mainspring("keys", "ls", "-o", "json", expect=0).json()
    assert {row["prefix"]: row["replaced_by"] for row in rows} == {
        old[:20]: new[8:20],
        new[:20]: None,
    }
    assert "replaced" in mainspring("keys", "ls", expect=0).out
    found = mainspring("keys", "get", "bot", "-o", "json", expect=0).json()
    assert found["prefix"] == new[:20]


def test_an_end_is_told_and_said_once(mainspring: Commands) -> None:
    text = made(mainspring, "create", "bot", "--scopes", "submit")
    dry = mainspring("keys", "end", "bot", "--dry-run", expect=0)
    assert "nothing was changed" in dry.err
    assert mainspring("keys", "end", "bot", expect=0).out == f"{text[:20]}  ended\n"
    again = mainspring("keys", "end", text[:20], expect=0).out
    assert "it was ended before" in again
    assert mainspring("keys", "ls", "-o", "name", expect=0).out == ""
    assert mainspring("keys", "ls", "--ended", "-o", "name", expect=0).out == f"{text[:20]}\n"


def test_slips_are_met_with_the_nearest(mainspring: Commands) -> None:
    made(mainspring, "create", "billing", "--scopes", "submit")
    assert "billing" in mainspring("keys", "get", "biling", expect=3).err
    assert "submit" in mainspring("keys", "create", "b", "--scopes", "sumbit", expect=2).err
    assert "default" in mainspring("tenants", "get", "defualt", expect=3).err
    mainspring("keys", "create", "billing", "--scopes", "submit", expect=6)
    mainspring("keys", "create", "b", "--scopes", "submit", "--expires", "soon", expect=2)
    mainspring("audit", "ls", "--limit", "0", expect=2)


def test_a_tenant_is_suspended_and_resumed(mainspring: Commands) -> None:
    mainspring("tenants", "create", "acme", "--note", "Acme Inc.", expect=0)
    assert "Acme Inc." in mainspring("tenants", "get", "acme", expect=0).out
    mainspring("tenants", "suspend", "acme", "--reason", "unpaid", expect=0)
    assert "unpaid" in mainspring("tenants", "ls", expect=0).out
    assert "so already" in mainspring("tenants", "suspend", "acme", expect=0).out
    mainspring("tenants", "resume", "acme", "-o", "json", expect=0)
    (row, _) = mainspring("tenants", "ls", "-o", "json", expect=0).json()
    assert (row["name"], row["is_suspended"]) == ("acme", False)


def test_the_audit_tells_before_and_after(mainspring: Commands) -> None:
    assert "nothing has been changed" in mainspring("audit", "ls", expect=0).err
    mainspring("queues", "pause", "mail", "--new", "--reason", "repair", expect=0)
    mainspring("queues", "resume", "mail", expect=0)
    made(mainspring, "create", "bot", "--scopes", "submit", "--tenant", "acme")
    page = mainspring("audit", "ls", "--action", "queue", expect=0).out
    assert "is_paused false \N{RIGHTWARDS ARROW} true, reason repair" in page
    lines = mainspring("audit", "ls", "--subject", "mail", "-o", "jsonl", expect=0).out
    resumed, paused = map(json.loads, lines.splitlines())
    assert paused["after"] == {"is_paused": True, "reason": "repair"}
    assert resumed["before"]["paused_reason"] == "repair"
    assert resumed["actor"].startswith("cli")
    assert resumed["source"]
    rows = mainspring("audit", "ls", "--tenant", "acme", "-o", "json", expect=0).json()
    assert [row["action"] for row in rows] == ["key.create", "tenant.create"]
    assert mainspring("audit", "ls", "--until", "1h", "-o", "json", expect=0).json() == []
    limited = mainspring("audit", "ls", "--limit", "1", expect=0)
    assert "there is more" in limited.err


def test_the_guide_runs_as_it_is_written(mainspring: Commands) -> None:
    page = (Path(__file__).parents[2] / "docs/guides/access.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words[0] == "mainspring"
        if words[1:3] == ["keys", "rotate"]:
            # The guide ended it above.
            again = ("keys", "create", words[3], "--scopes", "submit", "--tenant", "acme")
            mainspring(*again, expect=0)
        mainspring(*words[1:], expect=0)
    assert len(lines) > 10

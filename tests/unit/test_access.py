"""Rights add up from scopes, roles and single rights; a tenant is never left."""

from pathlib import Path

import pytest

from mainspring.domain.access import (
    ROLES,
    SCOPES,
    Actor,
    Principal,
    Right,
    rights_of,
    source_of,
)
from mainspring.domain.errors import Forbidden, InvalidInput


def test_an_administrator_may_do_everything_and_a_viewer_changes_nothing() -> None:
    assert rights_of(["admin"]) == frozenset(Right)
    assert {right.value.partition(".")[2] for right in ROLES["viewer"]} == {"read"}


def test_what_is_not_granted_is_denied() -> None:
    assert rights_of([]) == frozenset()
    assert Right.JOBS_CANCEL not in rights_of(["submit", "read", "work"])


def test_a_single_right_is_added_to_a_scope() -> None:
    assert rights_of(["submit", "jobs.cancel"]) == SCOPES["submit"] | {Right.JOBS_CANCEL}


def test_a_slip_gets_a_suggestion() -> None:
    with pytest.raises(InvalidInput, match="'reed'") as caught:
        rights_of(["reed"])
    assert caught.value.hint == "did you mean 'read'?"


def test_a_principal_insists_on_the_right_and_names_a_scope_that_has_it() -> None:
    principal = Principal(name="key bot", rights=rights_of(["read"]))
    principal.insist(Right.JOBS_READ)
    with pytest.raises(Forbidden, match=r"key bot has no right to jobs\.submit") as caught:
        principal.insist(Right.JOBS_SUBMIT)
    assert "submit or admin" in (caught.value.hint or "")


def test_a_principal_of_a_tenant_names_no_other() -> None:
    bound = Principal(name="key bot", rights=frozenset(Right), tenant="acme")
    assert bound.tenant_of(None, "default") == bound.tenant_of("acme", "default") == "acme"
    with pytest.raises(Forbidden, match="may not name another"):
        bound.tenant_of("globex", "default")
    free = Principal(name="key root", rights=frozenset(Right))
    assert (free.tenant_of(None, "default"), free.tenant_of("acme", "default")) == (
        "default",
        "acme",
    )


def test_an_actor_is_a_text_that_remembers_from_where() -> None:
    actor = Actor("key bot", "10.0.0.7")
    assert (actor, source_of(actor), source_of("cli")) == ("key bot", "10.0.0.7", "")


def test_the_guides_table_says_what_the_code_does() -> None:
    page = (Path(__file__).parents[2] / "docs/guides/access.md").read_text(encoding="utf-8")
    head, _, *rows = (line for line in page.splitlines() if line.startswith("| "))
    bundles = {f"scope `{name}`": rights for name, rights in SCOPES.items()}
    bundles |= {f"role `{name}`": rights for name, rights in ROLES.items() if name != "admin"}
    assert SCOPES["admin"] == ROLES["admin"]
    assert [cell.strip() for cell in head.split("|")[2:-1]] == list(bundles)
    told = {}
    for row in rows:
        right, *cells = (cell.strip() for cell in row.split("|")[1:-1])
        told[right.strip("`")] = [cell == "yes" for cell in cells]
    assert told == {
        right.value: [right in rights for rights in bundles.values()] for right in Right
    }

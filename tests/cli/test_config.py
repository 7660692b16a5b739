"""`mainspring config`, files and profiles, as typed."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Commands

USER = """
log_level = "warning"

[profiles.prod]
store = "postgresql://me:s3cret@127.0.0.1:1/prod"
"""


@pytest.fixture
def home(mainspring: Commands) -> dict[str, str]:
    folder = mainspring.folder / "home"
    (folder / "mainspring").mkdir(parents=True)
    (folder / "mainspring/config.toml").write_text(USER)
    return {"XDG_CONFIG_HOME": str(folder)}


def test_every_setting_names_its_source(mainspring: Commands, home: dict[str, str]) -> None:
    (mainspring.folder / "mainspring.toml").write_text("keep_dead_days = 30\n")
    env = home | {"MAINSPRING_INLINE_BYTES": "100"}
    rows = mainspring("config", "ls", "-o", "json", env=env, expect=0).json()
    found = {row["key"]: (row["value"], row["source"].split()[0]) for row in rows}
    assert found["keep_dead_days"] == (30, "project")
    assert found["inline_bytes"] == (100, "environment")
    assert found["log_level"] == ("warning", "user")
    assert found["keep_succeeded_days"] == (7, "default")
    shown = mainspring("config", "ls", env=env, expect=0).out
    assert "project file mainspring.toml" in shown


def test_explain_shows_all_places_the_winner_first(
    mainspring: Commands, home: dict[str, str]
) -> None:
    (mainspring.folder / "mainspring.toml").write_text('store = "sqlite:///p.db"\n')
    flags = ("--store", "sqlite:///f.db", "--profile", "prod")
    found = mainspring("config", "explain", "store", *flags, "-o", "json", env=home).json()
    assert found["value"] == "sqlite:///f.db"
    assert [place["source"].split(" ")[0] for place in found["places"]] == [
        "flag",
        "profile",
        "project",
        "default",
    ]
    done = mainspring("config", "explain", "store", *flags, env=home, expect=0)
    assert "s3cret" not in done.out
    assert "* flag --store" in done.out
    assert "MAINSPRING_STORE" in done.out


def test_a_profile_is_used_and_its_password_never_shown(
    mainspring: Commands, home: dict[str, str]
) -> None:
    for more in (["--profile", "prod"], []):
        env = home if more else home | {"MAINSPRING_PROFILE": "prod"}
        done = mainspring("jobs", "ls", *more, env=env)
        assert (done.code, done.error_code) == (9, "store_unreachable")
        assert "127.0.0.1:1/prod" in done.err
        assert "s3cret" not in done.err
    slip = mainspring("jobs", "ls", "--profile", "prdo", env=home)
    assert "did you mean prod?" in slip.err


def test_a_slip_in_the_project_is_told_by_every_command(mainspring: Commands) -> None:
    (mainspring.folder / "mainspring.toml").write_text('storre = "x"\n')
    for words in (["jobs", "ls"], ["submit", "greet"], ["config", "ls"], ["worker", "start", "x"]):
        done = mainspring(*words)
        assert (done.code, done.error_code) == (2, "invalid_setting"), done
        assert "mainspring.toml: there is no setting 'storre'" in done.err
        assert "did you mean store?" in done.err


def test_a_folder_inside_the_project_uses_its_store(mainspring: Commands) -> None:
    (mainspring.folder / "mainspring.toml").write_text("")
    name = mainspring("submit", "greet", expect=0).out.strip()
    inner = Commands(mainspring.folder / "a/b")
    inner.folder.mkdir(parents=True)
    assert inner("jobs", "ls", "-o", "name", expect=0).out.strip() == name
    assert not (inner.folder / ".mainspring").exists()


def test_a_file_that_may_not_be_read_is_told(mainspring: Commands) -> None:
    path = Path(mainspring.folder / "mainspring.toml")
    path.write_text("")
    path.chmod(0)
    done = mainspring("jobs", "ls")
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    assert (done.code, done.error_code) == (2, "invalid_setting")

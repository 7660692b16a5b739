"""Completion, in a real bash; and scripts for the other shells that name every command."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Commands

ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
_mainspring
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    path = folder / "mainspring.bash"
    path.write_text(Commands(folder)("completion", "bash", expect=0).out)
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["jo"], {"jobs"}),
        (["jobs", "ex"], {"explain"}),
        (["jobs", "ls", "--sta"], {"--state"}),
        (["jobs", "ls", "-o", "j"], {"json", "jsonl"}),
        (["db", "migrate", "--phase", ""], {"pre", "post", "all"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
        (["dlq", "replay", "--dr"], {"--dry-run"}),
        (["schedules", "tr"], {"trigger"}),
        (["schedules", "backfill", "--rep"], {"--reprocess"}),
        (["schedules", "create", "--dst-g"], {"--dst-gap"}),
        (["schedules", "create", "--dst-fold", ""], {"first", "second", "both"}),
        (["--prof"], {"--profile"}),
        (["config", ""], {"ls", "explain"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bash_completes(typed: list[str], offered: set[str], script: Path) -> None:
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "ask", str(script), "mainspring", *typed],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == offered
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_their_scripts(shell: str, tmp_path: Path) -> None:
    text = Commands(tmp_path)("completion", shell, expect=0).out
    for word in ("submit", "explain", "dry-run", "jsonl"):
        assert word in text


def test_another_shell_is_refused(tmp_path: Path) -> None:
    done = Commands(tmp_path)("completion", "bahs")
    assert (done.code, done.error_code) == (2, "invalid_input")
    assert "did you mean bash?" in done.err

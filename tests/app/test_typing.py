"""What type checkers make of the SDK: a call keeps parameters and result, in mypy and pyright."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

_CASES = Path(__file__).with_name("typing_cases.py")
_ROOT = _CASES.parents[2]
#: Programs as users write them: nothing at all is to be said about these.
_CLEAN = ("tests/client", "examples/orders", "examples/images", "examples/web")
#: Where everything lives that users hold in their hands.
_MET = ("mainspring.app.", "mainspring.client.", "mainspring.testing.snapshots.")
_PROGRAMS = tuple(
    path
    for folder in _CLEAN
    for path in sorted((_ROOT / folder).glob("*.py"))
    if folder != "tests/client" or path.name == "shop.py"
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty at first; what mypy has found out about the product and its own stubs stays there."""
    return tmp_path_factory.mktemp("mypy")


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_mypy_finds_exactly_what_is_expected(tmp_path: Path, cache: Path) -> None:
    # A copy: here the expected errors are wanted, in the gate they are switched off.
    copy = tmp_path / "cases.py"
    text = _CASES.read_text(encoding="utf-8").replace("# mypy: ignore-errors\n", "")
    copy.write_text(text, encoding="utf-8")
    expected = {
        number: set(re.findall(r"[a-z-]+", found[1]))
        for number, line in enumerate(text.splitlines(), 1)
        if (found := re.search(r"# E: (.*)$", line))
    }
    out, err, _ = api.run(
        [
            *("--strict", "--config-file=", "--no-error-summary", "--hide-error-context"),
            *("--follow-imports=silent", f"--cache-dir={cache}", "--no-pretty"),
            str(copy),
        ]
    )
    assert err == ""
    found_errors: dict[int, set[str]] = {}
    for number, words in re.findall(r"cases\.py:(\d+): error: (.*)$", out, re.MULTILINE):
        code = re.search(r"\[([a-z-]+)\]$", words)
        found_errors.setdefault(int(number), set()).add(code[1] if code else words)
    assert found_errors == expected, out
    assert len(expected) >= 15


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("folder", _CLEAN)
def test_mypy_finds_nothing_in_the_programs_of_users(folder: str, cache: Path) -> None:
    programs = [str(path) for path in _PROGRAMS if path.parent == _ROOT / folder]
    assert programs
    out, err, code = api.run(
        [
            *("--strict", "--config-file=", "--hide-error-context", "--follow-imports=silent"),
            *(f"--cache-dir={cache}", "--no-pretty", *programs),
        ]
    )
    assert (err, code) == ("", 0), out


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_type_that_users_meet_is_declared() -> None:
    """What is not declared is inferred, and by each type checker in its own way."""
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(sys.executable, "-m", "basedpyright", "--outputjson"),
            *("--verifytypes", "mainspring", "--ignoreexternal"),
        ],
        cwd=_ROOT,
        env=os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    met = {item["name"]: item for item in symbols if item["name"].startswith(_MET)}
    assert {"mainspring.app.declare.App.job", "mainspring.app.context.Context.log"} <= set(met)
    assert [name for name, item in met.items() if not item["isTypeKnown"]] == []


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_pyright_finds_exactly_what_is_expected(tmp_path: Path) -> None:
    text = _CASES.read_text(encoding="utf-8")
    (tmp_path / "cases.py").write_text(text, encoding="utf-8")
    for program in _PROGRAMS:
        place = tmp_path / program.parent.name / program.name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(program.read_bytes())
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(_ROOT)],
        # It is about contextlib, which is not ours.
        "reportDeprecated": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "basedpyright", "--outputjson"),
            *("--pythonpath", sys.executable, "--project", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert answer["summary"]["filesAnalyzed"] == 1 + len(_PROGRAMS), done.stderr
    found = {
        (Path(item["file"]).name, item["range"]["start"]["line"] + 1)
        for item in answer["generalDiagnostics"]
        if item["severity"] == "error"
    }
    expected = {
        ("cases.py", number) for number, line in enumerate(text.splitlines(), 1) if "# E: " in line
    }
    assert found == expected, [
        (item["file"], item["range"]["start"]["line"] + 1, item["message"])
        for item in answer["generalDiagnostics"]
    ]

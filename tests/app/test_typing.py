"""What type checkers make of the decorator: a call keeps parameters and result."""

import re
from pathlib import Path

import pytest
from mypy import api

_CASES = Path(__file__).with_name("typing_cases.py")


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_mypy_finds_exactly_what_is_expected(tmp_path: Path) -> None:
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
            *("--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}", "--no-pretty"),
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

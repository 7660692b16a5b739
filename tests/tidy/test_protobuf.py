"""The protocol of gRPC: its steps of the gate can fail, and pass on what is committed."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ModuleType]:
    """A copy of the protocol and its modules, and the tool that looks at the copy."""
    monkeypatch.syspath_prepend(str(_ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("protobuf_tool", _ROOT / "tools" / "protobuf.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    shutil.copytree(_ROOT / "proto", tmp_path / "proto")
    shutil.copytree(_ROOT / "mainspring" / "wire" / "protobuf", tmp_path / "modules")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "PROTO", tmp_path / "proto")
    monkeypatch.setattr(tool, "ACCEPTED", tmp_path / "proto" / "accepted.binpb")
    monkeypatch.setattr(tool, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(sys, "argv", ["protobuf.py"])
    return tmp_path, tool


def _change(folder: Path, old: str, new: str) -> None:
    path = folder / "proto" / "mainspring" / "v1" / "worker.proto"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "buf"), "lint", "proto"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_committed_modules_are_what_the_protocol_makes_of_them(
    planted: tuple[Path, ModuleType],
) -> None:
    folder, tool = planted
    assert tool.differing(tool.generated()) == []
    assert tool.breakage() == ""
    assert _lint(folder).returncode == 0


def test_a_new_field_is_accepted_and_written(planted: tuple[Path, ModuleType]) -> None:
    folder, tool = planted
    _change(
        folder, "string worker_id = 1;\n}", "string worker_id = 1;\n  // More.\n  bool more = 2;\n}"
    )
    found = tool.differing(tool.generated())
    assert "proto/accepted.binpb" in found
    assert "mainspring/wire/protobuf/worker_pb2.py" in found
    assert tool.main() == 0
    assert tool.differing(tool.generated()) == []


def test_what_would_break_others_is_refused(
    planted: tuple[Path, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, tool = planted
    before = (folder / "modules" / "worker_pb2.py").read_bytes()
    _change(folder, "int64 lease_ms = 1;", "int64 lease_ms = 7;")
    assert tool.main() == 1
    assert "lease_ms" in capsys.readouterr().err
    assert (folder / "modules" / "worker_pb2.py").read_bytes() == before
    monkeypatch.setattr(sys, "argv", ["protobuf.py", "--break"])
    assert tool.main() == 0
    assert tool.breakage() == ""


def test_a_field_without_words_is_found(planted: tuple[Path, ModuleType]) -> None:
    folder, _ = planted
    _change(folder, "string worker_id = 1;\n}", "string worker_id = 1;\n  bool more = 2;\n}")
    found = _lint(folder)
    assert found.returncode != 0
    assert "comment" in found.stdout


def test_a_module_that_was_edited_by_hand_is_found(planted: tuple[Path, ModuleType]) -> None:
    folder, tool = planted
    path = folder / "modules" / "job_pb2.pyi"
    path.write_text(path.read_text() + "\n")
    assert tool.differing(tool.generated()) == ["mainspring/wire/protobuf/job_pb2.pyi"]

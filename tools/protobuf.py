"""Makes the modules of `mainspring/wire/protobuf` from `proto/`.

Run it as `.venv/bin/python tools/protobuf.py`: protoc and buf come with the environment.

Before it writes anything it asks `buf` whether those who speak what was accepted last
(`proto/accepted.binpb`) would still be understood, and refuses where not. With `--check` it writes
nothing and tells what differs. `--break` accepts a change that breaks others: before a first
release, or with a new version of a package.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import bootstrap

ROOT = bootstrap.ROOT
PROTO = ROOT / "proto"
ACCEPTED = PROTO / "accepted.binpb"
MODULES = ROOT / "mainspring" / "wire" / "protobuf"
#: protoc writes one folder a package; ours lie side by side, under a name that is our own.
OWN_IMPORT = re.compile(r"^from (?:mainspring|database)\.[\w.]+ import (\w+_pb2)", re.MULTILINE)


def sources() -> list[str]:
    """All files of the protocol, relative to their root."""
    return sorted(path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto"))


def generated() -> dict[str, str]:
    """What the modules should be, by the name of their file."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}"),
                *(f"--python_out={folder}", f"--pyi_out={folder}", *sources()),
            ],
            check=True,
        )
        made = [path for path in Path(folder).rglob("*_pb2.py*") if path.is_file()]
        replaced = r"from mainspring.wire.protobuf import \1"
        return {path.name: OWN_IMPORT.sub(replaced, path.read_text()) for path in made}


def buf(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Run buf on the protocol; it needs no network."""
    command = [str(Path(sys.executable).parent / "buf"), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False)


def image() -> bytes:
    """The protocol as buf compares it: descriptors without places in files."""
    made = buf("build", "proto", "--exclude-source-info", "-o", "-#format=binpb")
    if made.returncode:
        raise SystemExit(f"protobuf: {made.stdout.decode()}{made.stderr.decode()}")
    return made.stdout


def differing(wanted: dict[str, str]) -> list[str]:
    """Files that are not what the protocol makes of them."""
    present = {path.name: path.read_text() for path in MODULES.glob("*_pb2.py*")}
    names = sorted(wanted.keys() | present.keys())
    found = [f"mainspring/wire/protobuf/{n}" for n in names if wanted.get(n) != present.get(n)]
    if not ACCEPTED.exists() or ACCEPTED.read_bytes() != image():
        found.append("proto/accepted.binpb")
    return found


def breakage() -> str:
    """What those would stumble over who speak what was accepted last."""
    if not ACCEPTED.exists():
        return ""
    compared = buf("breaking", "proto", "--against", str(ACCEPTED))
    return (compared.stdout + compared.stderr).decode() if compared.returncode else ""


def write(wanted: dict[str, str]) -> None:
    """Replace the modules and what is accepted."""
    for path in MODULES.glob("*_pb2.py*"):
        path.unlink()
    for name, text in wanted.items():
        (MODULES / name).write_text(text)
    ACCEPTED.write_bytes(image())


def main() -> int:
    """Check or write."""
    parser = argparse.ArgumentParser(description="Make the modules of the protocol.")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what differs")
    parser.add_argument("--break", action="store_true", dest="breaks", help="break others")
    arguments = parser.parse_args()
    wanted = generated()
    found = differing(wanted)
    if arguments.check:
        for name in found:
            print(f"{name} is not what proto/ makes of it: run tools/protobuf.py")
        return 1 if found else 0
    broken = breakage()
    if broken and not arguments.breaks:
        print(f"{broken}protobuf: this would break others; nothing was written", file=sys.stderr)
        return 1
    write(wanted)
    print("\n".join(found) or "nothing differs")
    return 0


if __name__ == "__main__":
    sys.exit(main())

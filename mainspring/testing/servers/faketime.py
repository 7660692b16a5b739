"""A library that gives a process another time than its host: no server, but to be had like one."""

from collections.abc import Mapping
from pathlib import Path

# Debian and its kin, Fedora and its kin, and what somebody built by hand.
_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")


def find_faketime() -> Path | None:
    """Give the library to be preloaded, or None."""
    for folder in _FOLDERS:
        for pattern in ("faketime/libfaketime.so.1", "*/faketime/libfaketime.so.1"):
            found = sorted(Path(folder).glob(pattern))
            if found:
                return found[0]
    return None


def how_to_install_faketime() -> str:
    """Why there is none, and the one command that changes it."""
    command = "apt-get install --no-install-recommends libfaketime"
    return f"libfaketime is not installed; to have it: {command}"


def wrong_by(library: str, offset: str) -> Mapping[str, str]:
    """Give the environment of a process whose host is wrong, `wrong_by(library, "+1h")`.

    What counts up from the machine's start goes on as it is: so it does on such a host.
    """
    return {"LD_PRELOAD": library, "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

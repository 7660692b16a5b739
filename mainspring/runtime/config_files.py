"""Finds and reads the files that hold settings: the project's and the user's.

The project's is the nearest ``mainspring.toml``, or ``pyproject.toml`` with ``[tool.mainspring]``,
from the current folder upwards. The user's is ``mainspring/config.toml`` in ``$XDG_CONFIG_HOME``
(``~/.config``); it alone may hold profiles.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from mainspring.domain.errors import ConfigError

PROJECT_FILE: Final = "mainspring.toml"
_SHARED_FILE: Final = "pyproject.toml"
_SHARED_TABLE: Final = b"tool.mainspring"


class ConfigFile(msgspec.Struct, frozen=True):
    """One file with settings; ``place`` is the file, and the table in it where it is not all."""

    path: Path
    place: str
    values: dict[str, Any]
    profiles: dict[str, Any] = {}


def find_project_file(folder: Path) -> ConfigFile | None:
    """Return the settings of the nearest project at or above this folder, if any."""
    for place in (folder, *folder.parents):
        own = place / PROJECT_FILE
        if own.is_file():
            return ConfigFile(own, _shown(own, folder), _read(own))
        shared = place / _SHARED_FILE
        if shared.is_file() and _SHARED_TABLE in _bytes_of(shared):
            table = _read(shared).get("tool", {}).get("mainspring")
            if table is not None:
                where = f"{_shown(shared, folder)} [tool.mainspring]"
                return ConfigFile(shared, where, _table(table, where))
    return None


def user_path(environment: Mapping[str, str]) -> Path | None:
    """Return where the user's file is, or would be."""
    if folder := environment.get("XDG_CONFIG_HOME"):
        return Path(folder) / "mainspring" / "config.toml"
    if home := environment.get("HOME"):
        return Path(home) / ".config" / "mainspring" / "config.toml"
    return None


def find_user_file(environment: Mapping[str, str]) -> ConfigFile | None:
    """Return the user's settings and profiles, if there is such a file."""
    path = user_path(environment)
    if path is None or not path.is_file():
        return None
    values = _read(path)
    profiles = _table(values.pop("profiles", {}), f"{path} [profiles]")
    return ConfigFile(path, str(path), values, profiles)


def _shown(path: Path, folder: Path) -> str:
    return path.name if path.parent == folder else str(path)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}", hint="make it readable, or remove it"
        ) from error


def _read(path: Path) -> dict[str, Any]:
    # Imported late: most folders have no such file.
    import tomllib

    try:
        return tomllib.loads(_bytes_of(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}", hint=f"correct {path}") from error


def _table(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{place} is no table", hint="write it as [name] with lines below it")
    return value

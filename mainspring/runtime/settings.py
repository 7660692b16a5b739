"""Every setting and where it comes from: one table, and the layers over it, strongest first.

A flag; a profile named by a flag; ``MAINSPRING_*``; a profile named by ``MAINSPRING_PROFILE``; the
project's file; the user's file; the default. What nobody knows is refused with a suggestion.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from mainspring.domain.errors import ConfigError, InvalidInput, NotFound
from mainspring.domain.states import FINAL, JobState
from mainspring.kinds.egress import Reach
from mainspring.runtime.config_files import ConfigFile, find_project_file, find_user_file
from mainspring.runtime.setting_table import (
    BY_KEY,
    OTHER_VARIABLES,
    PROFILE_VARIABLE,
    TABLE,
    SettingRow,
    Settings,
)

_LEVELS: Final = ("debug", "info", "warning", "error")


class Candidate(msgspec.Struct, frozen=True):
    """A value that a setting could have, and the place that says so, in words."""

    value: str | int
    source: str
    #: What to name when the value cannot be used.
    label: str
    #: The folder that a relative path in it is relative to, where that is not the current one.
    folder: Path | None = None


class Layers:
    """All that is said about the settings, strongest first for each of them."""

    def __init__(
        self,
        *,
        flags: Mapping[str, str | None],
        profile: str | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Read the environment and the files; raise ``ConfigError`` for what nobody knows."""
        env = os.environ if environment is None else environment
        here = Path.cwd() if folder is None else folder
        self._here = here
        self.project = find_project_file(here)
        self.user = find_user_file(env)
        self.profiles: Mapping[str, Any] = {} if self.user is None else self.user.profiles
        self.profile = profile or env.get(PROFILE_VARIABLE) or None
        self._found: dict[str, list[Candidate]] = {row.key: [] for row in TABLE}
        for key, text in flags.items():
            if text:
                self._found[key].append(Candidate(text, f"flag --{_dashed(key)}", _dashed(key)))
        if profile:
            self._add_profile(profile, f"profile {profile} (--profile)")
        for row in TABLE:
            if (text := env.get(row.environment, "")).strip():
                source = f"environment {row.environment}"
                self._found[row.key].append(Candidate(text, source, row.environment))
        if not profile and self.profile:
            self._add_profile(self.profile, f"profile {self.profile} ({PROFILE_VARIABLE})")
        for name, file in (("project file", self.project), ("user file", self.user)):
            if file is not None:
                self._add_file(file, f"{name} {file.place}")
        for name, values in self.profiles.items():
            # A slip in a profile is told before the day on which it is needed.
            _checked(values, f"{self.user.place if self.user else ''} [profiles.{name}]")

    def candidates(self, key: str) -> list[Candidate]:
        """Return what is said about a setting, strongest first; the default comes last."""
        row = BY_KEY[key]
        folder = None if self.project is None else self.project.path.parent
        return [*self._found[key], Candidate(row.default, "default", row.key, folder)]

    def value(self, key: str) -> str | int:
        """Return the value that wins, checked."""
        first = self.candidates(key)[0]
        if first.source == "default" and key == "blobs":
            return ""
        return _usable(BY_KEY[key], first, self._here)

    def settings(self) -> Settings:
        """Return the value of every setting."""
        return Settings(**{row.name: self.value(row.key) for row in TABLE})  # type: ignore[arg-type]  # by the table

    def app_folder(self) -> Path:
        """Return the folder that the app's module is found in."""
        first = self.candidates("app")[0]
        return self._here if first.folder is None else first.folder

    def _add_profile(self, name: str, source: str) -> None:
        if name not in self.profiles:
            raise _no_profile(name, self.profiles, self.user)
        place = f"{self.user.place if self.user else ''} [profiles.{name}]"
        for key, value in _checked(self.profiles[name], place):
            self._found[key].append(Candidate(value, source, f"{place}: {key}"))

    def _add_file(self, file: ConfigFile, source: str) -> None:
        folder = file.path.parent
        for key, value in _checked(file.values, file.place):
            label = f"{file.place}: {key}"
            self._found[key].append(Candidate(value, source, label, folder))


def read_settings(
    *,
    store: str | None = None,
    blobs: str | None = None,
    log_level: str | None = None,
    profile: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Return the settings: what was given, else what the layers below say."""
    flags = {"store": store, "blobs": blobs, "log_level": log_level}
    return Layers(flags=flags, profile=profile, environment=environment, folder=folder).settings()


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that look like settings and are none, each with a suggestion or nothing."""
    known = [*(row.environment for row in TABLE), *OTHER_VARIABLES]
    return {
        name: next(iter(difflib.get_close_matches(name, known, 1, 0.75)), "")
        for name in sorted(environment)
        if name.startswith("MAINSPRING_") and name not in known
    }


def known_key(word: str) -> str:
    """Return the key that a word names, or raise ``NotFound`` with a suggestion."""
    for row in TABLE:
        if word in (row.key, row.name, row.environment, _dashed(row.key)):
            return row.key
    raise NotFound(f"there is no setting {word!r}", hint=_suggestion(word, BY_KEY))


def _checked(values: object, place: str) -> list[tuple[str, str | int]]:
    """Return the settings of a table; refuse names that are none and values of other types."""
    if not isinstance(values, dict):
        raise ConfigError(f"{place} is no table", hint="write it as [name] with lines below it")
    for key, value in values.items():
        if key not in BY_KEY:
            raise ConfigError(
                f"{place}: there is no setting {key!r}", hint=_suggestion(key, BY_KEY)
            )
        wanted = str if BY_KEY[key].bounds is None else int
        if not isinstance(value, wanted) or isinstance(value, bool):
            kind = "text, in quotes" if wanted is str else "a whole number, without quotes"
            raise ConfigError(f"{place}: {key} is to be {kind}, not {value!r}")
    return list(values.items())


def _suggestion(word: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(word, known, 1, 0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"known: {', '.join(known)}" if known else "there are none"


def _no_profile(name: str, profiles: Mapping[str, Any], user: ConfigFile | None) -> ConfigError:
    if user is None or not profiles:
        return ConfigError(
            f"profile: there is no {name!r}, and no profiles at all",
            hint=f"write [profiles.{name}] into ~/.config/mainspring/config.toml",
        )
    return ConfigError(
        f"profile: there is no {name!r} in {user.place}", hint=_suggestion(name, profiles)
    )


def as_environment(settings: Settings) -> dict[str, str]:
    """Return settings as the environment in which a process reads the same ones."""
    found = {row.environment: str(getattr(settings, row.name)) for row in TABLE}
    return {name: text for name, text in found.items() if text}


def _usable(row: SettingRow, found: Candidate, here: Path) -> str | int:
    """Return a value that can be used, or raise ``ConfigError`` that names its place."""
    if row.bounds is not None:
        return _number(found, row.bounds)
    text = str(found.value)
    if row.key == "log_level":
        return _level(text)
    if row.key == "webhook_reach":
        return _reach(text, found.label)
    if row.key == "store":
        return _from_folder(text, found.folder, here)
    return text


def _level(text: str) -> str:
    level = text.lower()
    if level in _LEVELS:
        return level
    raise ConfigError(f"log level: there is no {level!r}", hint=f"use {', '.join(_LEVELS)}")


def _reach(text: str, label: str) -> str:
    try:
        Reach(reach_words(text))
    except InvalidInput as error:
        raise ConfigError(f"{label}: {error.message}", hint=error.hint) from None
    return text


def reach_words(text: str) -> tuple[str, ...]:
    """Return the networks and hosts of a list with commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _number(found: Candidate, bounds: tuple[int, int]) -> int:
    least, most = bounds
    text = str(found.value).strip()
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ConfigError(
            f"{found.label}: {found.value!r} is not a whole number from {least} to {most}"
        )
    return int(text)


def _from_folder(store: str, folder: Path | None, here: Path) -> str:
    """Return an address whose relative path means the same from here as from that folder."""
    path = sqlite_path(store) if folder not in (None, here) else None
    if path is None or path == ":memory:" or Path(path).is_absolute():
        return store
    assert folder is not None
    return f"sqlite:///{folder / path}"


def _dashed(key: str) -> str:
    return key.replace("_", "-")


def keep_days(settings: Settings) -> dict[JobState, int]:
    """Return how long final jobs are kept, by state."""
    found = {
        JobState.SUCCEEDED: settings.keep_succeeded_days,
        JobState.CANCELLED: settings.keep_cancelled_days,
        JobState.EXPIRED: settings.keep_expired_days,
        JobState.SKIPPED: settings.keep_skipped_days,
        JobState.DEAD: settings.keep_dead_days,
    }
    assert found.keys() == FINAL
    return found


def sqlite_path(store_url: str) -> str | None:
    """Return the file of a SQLite address (``:memory:`` for memory), or nothing if it is none."""
    for prefix in ("sqlite:///", "sqlite://"):
        if store_url.startswith(prefix):
            path = store_url.removeprefix(prefix)
            if not path:
                raise ConfigError(
                    f"store: {store_url!r} names no file",
                    hint="write sqlite:///jobs.db, or sqlite://:memory: for a store in memory",
                )
            return path
    return None


def blob_address(settings: Settings) -> str | None:
    """Return where large payloads go, or nothing."""
    if settings.blob_url == "none":
        return None
    if settings.blob_url:
        return settings.blob_url
    path = sqlite_path(settings.store_url)
    if path is None or path == ":memory:":
        return None
    return f"file://{Path(path).absolute().with_suffix('.blobs')}"

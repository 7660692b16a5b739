"""Every setting: flag, then ``MAINSPRING_*`` environment, then default. One table."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from mainspring.domain.errors import ConfigError
from mainspring.domain.limits import INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX
from mainspring.domain.states import FINAL, JobState

#: Where ``mainspring dev`` and every command look when nothing else is said.
DEV_STORE: Final = "sqlite:///.mainspring/dev.db"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a process needs to know to open its store and object store."""

    store_url: str = DEV_STORE
    #: ``file:///folder``, ``s3://bucket/prefix?endpoint=…`` or ``none``; by default a folder
    #: beside the SQLite file, and none with PostgreSQL.
    blob_url: str = ""
    log_level: str = "info"
    #: Payloads and results longer than this go to the object store, if there is one.
    inline_bytes: int = INLINE_BYTES_MAX
    #: Payloads longer than this are refused.
    payload_bytes: int = PAYLOAD_BYTES_MAX
    keep_succeeded_days: int = 7
    keep_dead_days: int = 90


class SettingRow(msgspec.Struct, frozen=True):
    """One line of the settings reference."""

    name: str
    environment: str
    default: str
    meaning: str


TABLE: Final = (
    SettingRow(
        "store_url",
        "MAINSPRING_STORE",
        DEV_STORE,
        "The store: sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE.",
    ),
    SettingRow(
        "blob_url",
        "MAINSPRING_BLOBS",
        "a folder beside the SQLite file",
        "Where payloads and results over 16 KiB go: file:///FOLDER, s3://BUCKET/PREFIX, or none.",
    ),
    SettingRow(
        "log_level",
        "MAINSPRING_LOG_LEVEL",
        "info",
        "debug, info, warning or error.",
    ),
    SettingRow(
        "inline_bytes",
        "MAINSPRING_INLINE_BYTES",
        str(INLINE_BYTES_MAX),
        "Payloads and results longer than this go to the object store, if there is one.",
    ),
    SettingRow(
        "payload_bytes",
        "MAINSPRING_PAYLOAD_BYTES",
        str(PAYLOAD_BYTES_MAX),
        "Payloads longer than this are refused.",
    ),
    SettingRow(
        "keep_succeeded_days",
        "MAINSPRING_KEEP_SUCCEEDED_DAYS",
        "7",
        "Days for which succeeded, cancelled, expired and skipped jobs are kept.",
    ),
    SettingRow(
        "keep_dead_days",
        "MAINSPRING_KEEP_DEAD_DAYS",
        "90",
        "Days for which dead letters, and attempts that failed, are kept.",
    ),
)

_GIB: Final = 1_073_741_824
_DAYS_MAX: Final = 3_650
_LEVELS: Final = ("debug", "info", "warning", "error")


def read_settings(
    *,
    store: str | None = None,
    blobs: str | None = None,
    log_level: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings: what was given, else the environment, else the default."""
    env = os.environ if environment is None else environment
    level = (log_level or env.get("MAINSPRING_LOG_LEVEL") or "info").lower()
    if level not in _LEVELS:
        raise ConfigError(f"log level: there is no {level!r}", hint=f"use {', '.join(_LEVELS)}")
    return Settings(
        store_url=store or env.get("MAINSPRING_STORE") or DEV_STORE,
        blob_url=blobs or env.get("MAINSPRING_BLOBS") or "",
        log_level=level,
        inline_bytes=_number(env, "MAINSPRING_INLINE_BYTES", INLINE_BYTES_MAX, 0, _GIB),
        payload_bytes=_number(env, "MAINSPRING_PAYLOAD_BYTES", PAYLOAD_BYTES_MAX, 2, _GIB),
        keep_succeeded_days=_number(env, "MAINSPRING_KEEP_SUCCEEDED_DAYS", 7, 1, _DAYS_MAX),
        keep_dead_days=_number(env, "MAINSPRING_KEEP_DEAD_DAYS", 90, 1, _DAYS_MAX),
    )


def as_environment(settings: Settings) -> dict[str, str]:
    """Return settings as the environment in which a process reads the same ones."""
    found = {row.environment: str(getattr(settings, row.name)) for row in TABLE}
    return {name: text for name, text in found.items() if text}


def keep_days(settings: Settings) -> dict[JobState, int]:
    """Return how long final jobs are kept, by state."""
    usual = settings.keep_succeeded_days
    return {state: settings.keep_dead_days if state is JobState.DEAD else usual for state in FINAL}


def _number(env: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = env.get(name)
    if text is None or not text.strip():
        return default
    if not text.strip().isdecimal() or not least <= int(text) <= most:
        raise ConfigError(f"{name}: {text!r} is not a whole number from {least} to {most}")
    return int(text)


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

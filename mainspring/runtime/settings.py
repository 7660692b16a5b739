"""Every setting: flag, then ``MAINSPRING_*`` environment, then default. One table."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from mainspring.domain.errors import InvalidSetting

#: Where ``mainspring dev`` and every command look when nothing else is said.
DEV_STORE: Final = "sqlite:///.mainspring/dev.db"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a process needs to know to open its store and object store."""

    store_url: str = DEV_STORE
    #: ``file:///folder``, ``s3://bucket/prefix?endpoint=…`` or ``none``; by default a folder
    #: beside the SQLite file, and none with PostgreSQL.
    blob_url: str = ""
    log_level: str = "info"


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
)

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
        raise InvalidSetting(f"log level: there is no {level!r}", hint=f"use {', '.join(_LEVELS)}")
    return Settings(
        store_url=store or env.get("MAINSPRING_STORE") or DEV_STORE,
        blob_url=blobs or env.get("MAINSPRING_BLOBS") or "",
        log_level=level,
    )


def sqlite_path(store_url: str) -> str | None:
    """Return the file of a SQLite address (``:memory:`` for memory), or nothing if it is none."""
    for prefix in ("sqlite:///", "sqlite://"):
        if store_url.startswith(prefix):
            path = store_url.removeprefix(prefix)
            return path or ":memory:"
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

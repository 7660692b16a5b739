from pathlib import Path

import pytest

from mainspring.domain.errors import ConfigError
from mainspring.domain.states import FINAL
from mainspring.maintenance.retention import KEEP_DAYS
from mainspring.runtime.setting_table import DEV_STORE, TABLE, Settings
from mainspring.runtime.settings import blob_address, keep_days, read_settings, sqlite_path

_ENVIRONMENT = {
    "MAINSPRING_STORE": "postgresql://there/db",
    "MAINSPRING_BLOBS": "s3://bucket",
    "MAINSPRING_LOG_LEVEL": "WARNING",
}


def test_without_anything_the_defaults_hold() -> None:
    found = read_settings(environment={})
    assert found == Settings(store_url=DEV_STORE, blob_url="", log_level="info")
    assert sqlite_path(found.store_url) == ".mainspring/dev.db"


def test_the_environment_comes_before_the_defaults() -> None:
    found = read_settings(environment=_ENVIRONMENT)
    assert found == Settings(
        store_url="postgresql://there/db", blob_url="s3://bucket", log_level="warning"
    )


def test_what_was_given_comes_before_the_environment() -> None:
    found = read_settings(
        store="sqlite:///a.db", blobs="none", log_level="Debug", environment=_ENVIRONMENT
    )
    assert found == Settings(store_url="sqlite:///a.db", blob_url="none", log_level="debug")


def test_one_by_one() -> None:
    found = read_settings(blobs="none", environment={"MAINSPRING_STORE": "sqlite:///b.db"})
    assert found == Settings(store_url="sqlite:///b.db", blob_url="none", log_level="info")


def test_an_empty_variable_is_none_at_all() -> None:
    empty = dict.fromkeys(_ENVIRONMENT, "")
    assert read_settings(environment=empty) == read_settings(environment={})


def test_the_process_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINSPRING_STORE", "sqlite:///c.db")
    assert read_settings().store_url == "sqlite:///c.db"


@pytest.mark.parametrize("level", ["loud", "critical", "10", " info"])
def test_an_unknown_level_is_refused_with_the_known(level: str) -> None:
    for options in ({"log_level": level}, {"environment": {"MAINSPRING_LOG_LEVEL": level}}):
        with pytest.raises(ConfigError, match="log level: there is no ") as caught:
            read_settings(**{"environment": {}, **options})  # type: ignore[arg-type]  # by name
        assert caught.value.hint == "use debug, info, warning, error"
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("sqlite:///rel.db", "rel.db"),
        ("sqlite:///a/rel.db", "a/rel.db"),
        ("sqlite:////abs.db", "/abs.db"),
        ("sqlite://:memory:", ":memory:"),
        ("sqlite:///:memory:", ":memory:"),
        ("postgresql://u@h/db", None),
        ("sqlite", None),
        ("sqlite:rel.db", None),
        ("", None),
    ],
)
def test_paths_of_sqlite_addresses(address: str, path: str | None) -> None:
    assert sqlite_path(address) == path


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///"])
def test_an_address_without_a_file_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="names no file"):
        sqlite_path(address)


@pytest.mark.parametrize(
    ("store", "blobs", "address"),
    [
        ("sqlite:////x/dev.db", "", "file:///x/dev.blobs"),
        ("sqlite:////x/dev", "", "file:///x/dev.blobs"),
        ("sqlite:////x/dev.db", "none", None),
        ("sqlite:////x/dev.db", "s3://b", "s3://b"),
        ("sqlite://:memory:", "", None),
        ("postgresql://h/db", "", None),
        ("postgresql://h/db", "file:///x", "file:///x"),
    ],
)
def test_where_large_payloads_go(store: str, blobs: str, address: str | None) -> None:
    assert blob_address(Settings(store_url=store, blob_url=blobs)) == address


def test_a_relative_store_has_its_objects_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        blob_address(Settings(store_url="sqlite:///a/dev.db")) == f"file://{tmp_path}/a/dev.blobs"
    )


_NUMBERS = {
    "inline_bytes": (0, 1_073_741_824),
    "payload_bytes": (2, 1_073_741_824),
    **{f"keep_{state}_days": (1, 3_650) for state in sorted(FINAL)},
}


@pytest.mark.parametrize("name", list(_NUMBERS))
def test_numbers_have_bounds(name: str) -> None:
    variable = {row.name: row.environment for row in TABLE}[name]
    least, most = _NUMBERS[name]
    for good in (least, most):
        found = read_settings(environment={variable: f" {good} "})
        assert getattr(found, name) == good
    for bad in (str(least - 1), str(most + 1), "many", "1.5", "1e3", "+5", "0x10", "1_000"):
        with pytest.raises(ConfigError, match=f"{variable}: .* is not a whole number") as caught:
            read_settings(environment={variable: bad})
        assert str(caught.value).endswith(f"from {least} to {most}")
    assert read_settings(environment={variable: " "}) == read_settings(environment={})


def test_days_to_keep_by_state() -> None:
    assert keep_days(Settings()) == KEEP_DAYS
    for state in FINAL:
        changed = read_settings(environment={f"MAINSPRING_KEEP_{state.upper()}_DAYS": "30"})
        assert keep_days(changed) == {**KEEP_DAYS, state: 30}


def test_the_reference_names_every_setting() -> None:
    assert [row.name for row in TABLE] == list(Settings.__struct_fields__)
    assert len({row.environment for row in TABLE}) == len(TABLE)
    assert all(row.environment.startswith("MAINSPRING_") for row in TABLE)
    assert all(row.meaning.endswith(".") for row in TABLE)
    defaults = Settings()
    for row in TABLE:
        if row.name != "blob_url":
            assert str(getattr(defaults, row.name)) == row.default

"""Settings come from many places; the strongest wins, and slips are told."""

from pathlib import Path

import pytest

from mainspring.domain.errors import ConfigError, NotFound
from mainspring.runtime.setting_table import DEV_STORE
from mainspring.runtime.settings import Layers, known_key, read_settings, unknown_variables

PROFILES = """
log_level = "warning"
keep_dead_days = 7

[profiles.prod]
store = "postgresql://prod/jobs"

[profiles.stage]
store = "postgresql://stage/jobs"
"""


class Place:
    """A project below a home folder, with the files that a test writes."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.inner = self.project / "src" / "shop"
        self.inner.mkdir(parents=True)
        (self.home / ".config/mainspring").mkdir(parents=True)
        self.environment = {"HOME": str(self.home)}

    def user(self, text: str) -> None:
        (self.home / ".config/mainspring/config.toml").write_text(text)

    def toml(self, text: str) -> None:
        (self.project / "mainspring.toml").write_text(text)

    def pyproject(self, text: str) -> None:
        (self.project / "pyproject.toml").write_text(text)

    def layers(self, folder: Path | None = None, **options: str) -> Layers:
        flags = {key: options.get(key) for key in ("store", "blobs", "log_level")}
        return Layers(
            flags=flags,
            profile=options.get("profile"),
            environment=self.environment,
            folder=folder or self.project,
        )

    def source(self, key: str, **options: str) -> str:
        return self.layers(None, **options).candidates(key)[0].source


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_each_layer_wins_over_those_below(place: Place) -> None:
    sources = []
    assert place.source("store") == "default"
    place.user('store = "sqlite:////u.db"\n[profiles.prod]\nstore = "postgresql://prod/jobs"\n')
    sources.append(place.layers().value("store"))
    place.toml('store = "sqlite:////p.db"')
    sources.append(place.layers().value("store"))
    place.environment["MAINSPRING_PROFILE"] = "prod"
    sources.append(place.layers().value("store"))
    place.environment["MAINSPRING_STORE"] = "sqlite:////e.db"
    sources.append(place.layers().value("store"))
    sources.append(place.layers(profile="prod").value("store"))
    sources.append(place.layers(profile="prod", store="sqlite:////f.db").value("store"))
    assert sources == [
        "sqlite:////u.db",
        "sqlite:////p.db",
        "postgresql://prod/jobs",
        "sqlite:////e.db",
        "postgresql://prod/jobs",
        "sqlite:////f.db",
    ]
    found = place.layers(profile="prod", store="sqlite:////f.db").candidates("store")
    assert [item.source.split()[0] for item in found] == [
        "flag",
        "profile",
        "environment",
        "project",
        "user",
        "default",
    ]


def test_the_sources_are_named(place: Place) -> None:
    place.user(PROFILES)
    place.toml("keep_dead_days = 3")
    assert place.source("keep_dead_days") == "project file mainspring.toml"
    assert place.source("log_level") == f"user file {place.home}/.config/mainspring/config.toml"
    assert place.source("store", profile="prod") == "profile prod (--profile)"
    assert place.source("log_level", log_level="debug") == "flag --log-level"
    place.environment["MAINSPRING_PROFILE"] = "stage"
    assert place.source("store") == "profile stage (MAINSPRING_PROFILE)"
    place.environment["MAINSPRING_STORE"] = "sqlite:///x.db"
    assert place.source("store") == "environment MAINSPRING_STORE"


def test_the_nearest_project_counts_and_its_paths_are_relative_to_it(place: Place) -> None:
    place.toml('store = "sqlite:///jobs.db"\napp = "shop:app"')
    assert place.layers().value("store") == "sqlite:///jobs.db"
    inner = place.layers(place.inner)
    assert inner.value("store") == f"sqlite:///{place.project}/jobs.db"
    assert inner.app_folder() == place.project
    (place.inner / "mainspring.toml").write_text("keep_dead_days = 2\n")
    assert place.layers(place.inner).value("store") == DEV_STORE


def test_the_default_store_belongs_to_the_project(place: Place) -> None:
    place.toml("")
    assert place.layers().value("store") == DEV_STORE
    expected = f"sqlite:///{place.project}/.mainspring/dev.db"
    assert place.layers(place.inner).value("store") == expected


def test_a_pyproject_counts_only_with_our_table(place: Place) -> None:
    place.pyproject('[project]\nname = "shop"\n')
    assert place.layers().project is None
    place.pyproject('[tool.mainspring]\napp = "shop:app"\n')
    found = place.layers().candidates("app")[0]
    assert (found.value, found.source) == (
        "shop:app",
        "project file pyproject.toml [tool.mainspring]",
    )
    place.toml('app = "own:app"')
    assert place.layers().value("app") == "own:app"


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ('storre = "x"', "there is no setting 'storre'", "did you mean store?"),
        ("nothing_like_it = 1", "there is no setting", "known: store, blobs"),
        ("store = 5", "store is to be text, in quotes, not 5", ""),
        ('keep_dead_days = "5"', "keep_dead_days is to be a whole number, without quotes", ""),
        ("keep_dead_days = true", "keep_dead_days is to be a whole number", ""),
        ("keep_dead_days = 0", "mainspring.toml: keep_dead_days: 0 is not a whole number from", ""),
        ('log_level = "loud"', "log level: there is no 'loud'", "use debug"),
        ("store = ", "is not TOML", "mainspring.toml"),
        ("[profiles.x]", "there is no setting 'profiles'", ""),
    ],
)
def test_slips_in_a_file_are_told_with_their_place(
    place: Place, text: str, said: str, hint: str
) -> None:
    place.toml(text)
    with pytest.raises(ConfigError) as caught:
        place.layers().settings()
    assert said in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_slips_in_a_profile_that_nobody_chose_are_told_too(place: Place) -> None:
    place.user('[profiles.prod]\nstorre = "x"')
    with pytest.raises(ConfigError, match=r"\[profiles.prod\]: there is no setting 'storre'"):
        place.layers()
    for text in ("profiles = 3", "profiles.prod = 3"):
        place.user(text)
        with pytest.raises(ConfigError, match="is no table"):
            place.layers()


def test_a_profile_that_is_not_there_is_told(place: Place) -> None:
    with pytest.raises(ConfigError, match="no profiles at all"):
        place.layers(profile="prod")
    place.user(PROFILES)
    with pytest.raises(ConfigError, match="there is no 'prdo'") as caught:
        place.layers(profile="prdo")
    assert caught.value.hint == "did you mean prod?"
    place.environment["MAINSPRING_PROFILE"] = "else"
    with pytest.raises(ConfigError) as caught:
        place.layers()
    assert caught.value.hint == "known: prod, stage"


def test_the_folder_for_settings_can_be_moved(place: Place) -> None:
    other = place.home / "other"
    (other / "mainspring").mkdir(parents=True)
    (other / "mainspring/config.toml").write_text('log_level = "error"')
    place.environment["XDG_CONFIG_HOME"] = str(other)
    assert place.layers().value("log_level") == "error"


def test_a_file_that_cannot_be_read_is_told(place: Place) -> None:
    (place.project / "mainspring.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not TOML"):
        place.layers()


def test_every_name_of_a_setting_finds_it() -> None:
    for word in ("store", "store_url", "MAINSPRING_STORE"):
        assert known_key(word) == "store"
    assert known_key("log-level") == "log_level"
    with pytest.raises(NotFound, match="'storre'") as caught:
        known_key("storre")
    assert caught.value.hint == "did you mean store?"


def test_variables_that_are_no_settings_are_noticed() -> None:
    found = unknown_variables({"MAINSPRING_STORRE": "x", "MAINSPRING_STORE": "y", "PATH": "z"})
    assert found == {"MAINSPRING_STORRE": "MAINSPRING_STORE"}


def test_settings_can_be_read_from_another_folder(place: Place) -> None:
    place.toml("keep_dead_days = 3")
    found = read_settings(environment=place.environment, folder=place.project)
    assert found.keep_dead_days == 3

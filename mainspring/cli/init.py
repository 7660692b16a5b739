"""``mainspring init``: a project that runs, in a folder of its own; nothing is ever replaced."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

from mainspring.cli.options import FLAG, Given
from mainspring.cli.output import out, show_one, tell_dry_run
from mainspring.domain.errors import Conflict, InvalidInput, StoreNotWritable

FILES: Final = ("app.py", "test_app.py", "mainspring.toml", "compose.yaml")
#: It is a test of the project, and none of ours.
_RESOURCES: Final = {"test_app.py": "test_app.txt"}
_NAME_CHARACTERS_MAX: Final = 40


def init(
    folder: Path = Path(),
    /,
    *,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Write a starter project: an app, a test of it, settings, and a compose file.

    Parameters
    ----------
    folder
        Where to; it is made if it is not there. By default here.
    dry_run
        Only say what would be written.
    """
    try:
        _check(folder)
        if not dry_run:
            _write(folder)
    except OSError as error:
        raise StoreNotWritable(
            f"{error.filename or folder} cannot be written: {error.strerror}",
            hint="name a folder where you may write: mainspring init FOLDER",
        ) from error
    show_one(
        options,
        {"folder": str(folder), "files": list(FILES), "created": not dry_run},
        name=str(folder),
        people=lambda: _people(folder, dry_run=dry_run),
    )
    if dry_run:
        tell_dry_run()


def _people(folder: Path, *, dry_run: bool) -> None:
    is_here = folder.resolve() == Path.cwd()
    place = "here" if is_here else f"{folder}/"
    out(f"{'Would create' if dry_run else 'Created'} {place}: {', '.join(FILES)}")
    if not dry_run:
        out("Next: " + ("" if is_here else f"cd {folder} && ") + "mainspring dev")


def _check(folder: Path) -> None:
    if folder.is_file():
        raise InvalidInput(
            f"{folder} is a file; nothing was written",
            hint="name a folder: mainspring init FOLDER",
        )
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise Conflict(
            f"{folder / there[0]} is there already; nothing was written",
            hint="name another folder: mainspring init FOLDER",
        )


def _write(folder: Path) -> None:
    starter = files("mainspring.cli.starter")
    texts = {name: starter.joinpath(_RESOURCES.get(name, name)).read_text() for name in FILES}
    texts["app.py"] = texts["app.py"].replace('App("starter")', f'App("{_name_of(folder)}")')
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with (folder / name).open("x", encoding="utf-8") as file:
            file.write(text)


def _name_of(folder: Path) -> str:
    """Return a name for the app: the folder's, as far as a name may look so."""
    words = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-")
    return words[:_NAME_CHARACTERS_MAX] or "app"

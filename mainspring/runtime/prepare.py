"""Makes a store ready where nobody else would: in development, in tests, in embedded workers."""

from pathlib import Path

from mainspring.domain.errors import InvalidInput, StoreNotWritable
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import sqlite_path


async def prepare_store(settings: Settings) -> None:
    """Make the folder of a SQLite file, and the tables of any store; safe to repeat, and at once.

    A store in memory is refused: other processes would have another one.
    """
    path = sqlite_path(settings.store_url)
    if path == ":memory:":
        raise InvalidInput(
            "a store in memory cannot be shared by processes", hint="name a file: sqlite:///FILE"
        )
    if path is not None:
        _make_folder(path)
    store = await open_store(settings)
    try:
        await store.migrate(phase="all")
        await store.check_ready()
    finally:
        await store.close()


def _make_folder(path: str) -> None:
    folder = Path(path).absolute().parent
    try:
        if folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        if folder.name == ".mainspring":
            # What is in it belongs to this machine, not to anybody's repository.
            (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise StoreNotWritable(
            f"the folder {folder} cannot be made: {error.strerror}",
            hint="run where you may write, or name another file: --store sqlite:///FILE",
        ) from error

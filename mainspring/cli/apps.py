"""Which app a command is about: the one that was named, else the project's."""

import os
import sys

from mainspring.cli.options import Options
from mainspring.domain.errors import InvalidInput


def project_app(options: Options) -> str | None:
    """Return the project's app, importable from here and in every process below; or nothing."""
    layers = options.layers()
    reference = str(layers.value("app"))
    if not reference:
        return None
    folder = str(layers.app_folder())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # The worker's processes are started from here, wherever here is.
    paths = os.environ.get("PYTHONPATH", "")
    if folder not in paths.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(part for part in (folder, paths) if part)
    return reference


def needed_app(given: str | None, options: Options, command: str) -> str:
    """Return the app that was named, else the project's; raise when there is neither."""
    found = given or project_app(options)
    if found:
        return found
    raise InvalidInput(
        "which app? none was named, and the project names none",
        hint=f'mainspring {command} MODULE:APP, or write app = "MODULE:APP" into mainspring.toml',
    )

"""Finds an app by ``module:attribute``: named by the operator, never by a payload."""

import importlib
import sys
from pathlib import Path

from mainspring.app.declare import App
from mainspring.domain.errors import AppNotLoaded


def load_app(reference: str) -> App:
    """Import the module from the current folder or the path, and return its app.

    With no attribute (``shop`` for ``shop:app``) the only ``App`` of the module is taken.
    """
    module_name, _, attribute = reference.partition(":")
    if not module_name:
        raise AppNotLoaded(f"{reference!r} names no module")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise AppNotLoaded(
                f"there is no module {module_name!r} in {here} or on the path",
                hint="run from the folder that holds it, or install it",
            ) from error
        raise AppNotLoaded(f"{module_name} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise AppNotLoaded(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}",
            hint=f"python -c 'import {module_name}' shows the traceback",
        ) from error
    return _pick(module_name, vars(module), attribute)


def _pick(module_name: str, names: dict[str, object], attribute: str) -> App:
    if attribute:
        found = names.get(attribute)
        if isinstance(found, App):
            return found
        raise AppNotLoaded(f"{module_name}:{attribute} is not a Mainspring App")
    apps = {id(value): value for value in names.values() if isinstance(value, App)}
    if len(apps) == 1:
        return next(iter(apps.values()))
    raise AppNotLoaded(
        f"{module_name} holds {len(apps)} apps, one is needed",
        hint=f"name it: {module_name}:app",
    )

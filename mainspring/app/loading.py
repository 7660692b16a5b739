"""Finds an app by ``module:attribute``: named by the operator, never by a payload."""

import difflib
import importlib
import sys
import traceback
from pathlib import Path
from typing import Final

from mainspring.app.declare import App
from mainspring.domain.errors import AppNotLoaded, MainspringError

_OWN_FOLDER: Final = str(Path(__file__).parent.parent)


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
    except MainspringError as error:
        raise AppNotLoaded(
            f"{module_name} cannot be imported: {error}{_where(error)}", hint=error.hint
        ) from error
    except (Exception, SystemExit) as error:
        raise AppNotLoaded(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}{_where(error)}",
            hint=f"python -c 'import {module_name}' shows the traceback",
        ) from error
    return _pick(module_name, vars(module), attribute)


def _where(error: BaseException) -> str:
    """Return `` (app.py:31)``, the innermost line of a user's file; a syntax error has its own."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(("<frozen", _OWN_FOLDER))]
    if not users or isinstance(error, SyntaxError):
        return ""
    return f" ({Path(users[-1].filename).name}:{users[-1].lineno})"


def _pick(module_name: str, names: dict[str, object], attribute: str) -> App:
    if attribute:
        found = names.get(attribute)
        if isinstance(found, App):
            return found
        known = [name for name, value in names.items() if isinstance(value, App)]
        near = difflib.get_close_matches(attribute, known, 1, 0.5) or known[:1]
        hint = f"did you mean {module_name}:{near[0]}?" if near else None
        raise AppNotLoaded(f"{module_name}:{attribute} is not a Mainspring App", hint=hint)
    apps = {id(value): value for value in names.values() if isinstance(value, App)}
    if len(apps) == 1:
        return next(iter(apps.values()))
    raise AppNotLoaded(
        f"{module_name} holds {len(apps)} apps, one is needed",
        hint=f"name it: {module_name}:app",
    )

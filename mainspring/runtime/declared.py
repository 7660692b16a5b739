"""What an app declares, asked in a process of its own: user code never runs beside a keeper.

Run as ``python -m mainspring.runtime.declared MODULE:APP``; answers with one line of JSON.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final, Self

import msgspec

from mainspring.app.declare import App
from mainspring.app.loading import load_app
from mainspring.domain.errors import AppNotLoaded
from mainspring.domain.job import HandlerInfo
from mainspring.kinds import Kinds
from mainspring.ports.scheduling import Application, CalendarDraft, ScheduleDraft

_TIMEOUT_SECONDS: Final = 120.0
_MARK: Final = "mainspring-declared:"


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What an app declares."""

    name: str = ""
    handlers: tuple[HandlerInfo, ...] = ()
    schedules: tuple[ScheduleDraft, ...] = ()
    calendars: tuple[CalendarDraft, ...] = ()

    @classmethod
    def by(cls, app: App) -> Self:
        """Return what an app in this process declares."""
        return cls(
            name=app.name,
            handlers=tuple(handler.info for handler in app.handlers.values()),
            schedules=tuple(app.schedules.values()),
            calendars=tuple(app.calendars.values()),
        )

    def application(self, *, prune: bool = False, adopt: bool = False) -> Application:
        """Return what a deployment of the app wants to be there.

        Kinds of the app are known, whether or not a worker of it has ever been up.
        """
        known = {info.kind: info for info in self.handlers}
        return Application(
            schedules=tuple(_with_handler(draft, known) for draft in self.schedules),
            calendars=self.calendars,
            owner=f"app:{self.name}",
            prune=prune,
            adopt=adopt,
        )


def _with_handler(draft: ScheduleDraft, known: Mapping[str, HandlerInfo]) -> ScheduleDraft:
    if draft.work.declared is not None or draft.work.kind not in known:
        return draft
    work = msgspec.structs.replace(draft.work, declared=known[draft.work.kind])
    return msgspec.structs.replace(draft, work=work)


class _Answer(msgspec.Struct, frozen=True):
    """Either what is declared, or why nobody knows."""

    declared: Declared = Declared()
    message: str = ""
    hint: str = ""


def declared_by(reference: str) -> tuple[HandlerInfo, ...]:
    """Return the handlers of the app at ``module:attribute``, or raise ``AppNotLoaded``."""
    return declarations(reference).handlers


def handlers_with(reference: str, kinds: Kinds) -> tuple[HandlerInfo, ...]:
    """Return the handlers of an app, if one is named, and those of the chosen kinds."""
    own = declared_by(reference) if reference else ()
    builtin = [handler.info for handler in kinds.added_to(None).handlers.values()]
    for info in builtin:
        if any(info.kind == each.kind for each in own):
            raise AppNotLoaded(
                f"{reference} has a handler of the kind {info.kind!r} itself",
                hint=f"give it another kind, or leave out --{info.kind}",
            )
    return (*own, *builtin)


def declarations(reference: str) -> Declared:
    """Return all that the app at ``module:attribute`` declares, or raise ``AppNotLoaded``."""
    command = (sys.executable, "-m", "mainspring.runtime.declared", reference)
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter; the reference is an argument
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_TIMEOUT_SECONDS,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
    except subprocess.TimeoutExpired:
        raise AppNotLoaded(
            f"importing {reference} took longer than {_TIMEOUT_SECONDS:g} s",
            hint="a module that declares an app must not connect, wait or start anything",
        ) from None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    answers = [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)]
    if not answers:
        raise AppNotLoaded(
            f"importing {reference} ended the process (exit status {done.returncode})",
            hint=f"try: python -c 'import {reference.partition(':')[0]}'",
        )
    answer = msgspec.json.decode(answers[-1], type=_Answer)
    if answer.message:
        raise AppNotLoaded(answer.message, hint=answer.hint)
    return answer.declared


def main(reference: str) -> None:
    """Load the app and print what it declares."""
    try:
        answer = _Answer(Declared.by(load_app(reference)))
    except AppNotLoaded as error:
        answer = _Answer(message=error.message, hint=error.hint)
    sys.stdout.write(f"{_MARK}{msgspec.json.encode(answer).decode()}\n")


if __name__ == "__main__":
    main(sys.argv[1])

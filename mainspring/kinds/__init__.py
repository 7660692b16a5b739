"""Kinds that need no handler of anybody's: ``http`` calls a URL, ``command`` runs a program.

``webhook`` delivers notifications, for the product's own worker beside the store. The others are
ordinary async handlers; a worker has them when its operator says so, with an app of its own or
without one. Imports ``app`` and what lies below it; the HTTP client is brought when the first call
is made.

Invariants
----------
* A payload chooses among what the operator allowed, and never widens it: which networks a call may
  reach and which programs may run is said when the worker starts.
* A name is resolved once, every address is judged, and the connection goes to a judged address:
  also after a redirect, and whatever the name server says the second time.
* A command is a list of arguments; no shell ever sees it. It gets an environment of its own, never
  the worker's.
* A secret that signs webhooks is asked for when it is needed, and named nowhere.
* What comes back is bounded, and what was left out is said.
* A program dies with its attempt, and with the worker.
"""

import msgspec

from mainspring.app.declare import App

_NAME = "mainspring"


class Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """Which of these a worker has, and what they may do."""

    http: bool = False
    #: Networks (``10.1.0.0/16``) and hosts that ``http`` may reach although they are not public.
    reachable: tuple[str, ...] = ()
    #: Programs that ``command`` may run: names on the path, or absolute paths. Empty: no commands.
    programs: tuple[str, ...] = ()

    def added_to(self, app: App | None) -> App:
        """Return the app with these kinds; without one, an app that has nothing else."""
        app = App(_NAME) if app is None else app
        if self.http:
            from mainspring.kinds.http import http

            http(app, self.reachable)
        if self.programs:
            from mainspring.kinds.command import command

            command(app, self.programs)
        return app

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return self.http or bool(self.programs)

"""The routes of REST, one module a kind of thing; ``TABLE`` is all of them."""

from typing import Final

from mainspring.server.http.routes import about, jobs, submitting
from mainspring.server.http.routing import Table

TABLE: Final = Table([*submitting.routes.all, *jobs.routes.all, *about.routes.all])

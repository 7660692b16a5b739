"""The routes of REST, one module a kind of thing; ``TABLE`` is all of them."""

from typing import Final

from mainspring.server.http.routes import (
    about,
    access,
    calendars,
    control,
    dead_letters,
    events,
    fleet,
    jobs,
    ledger,
    operations,
    runs,
    schedules,
    submitting,
    webhooks,
)
from mainspring.server.http.routing import Table

TABLE: Final = Table(
    [
        *submitting.routes.all,
        *jobs.routes.all,
        *control.routes.all,
        *operations.routes.all,
        *dead_letters.routes.all,
        *runs.routes.all,
        *schedules.routes.all,
        *ledger.routes.all,
        *calendars.routes.all,
        *webhooks.routes.all,
        *fleet.queues.all,
        *fleet.workers.all,
        *fleet.handlers.all,
        *fleet.files.all,
        *access.keys.all,
        *access.tenants.all,
        *access.audit.all,
        *events.routes.all,
        *about.routes.all,
    ]
)

"""``mainspring scheduler``: fire schedules without running jobs."""

import logging
from typing import Final

from cyclopts import App

from mainspring.cli.options import COMMANDS, Given

_log: Final = logging.getLogger("mainspring.cli")
app: Final = App(name="scheduler", help="Fire schedules.", group_commands=COMMANDS)


@app.command
async def start(*, log_level: str | None = None, maintenance: bool = True, options: Given) -> int:
    """Fire schedules until a signal ends it; run no jobs.

    Every worker fires schedules as well, unless it was started with --no-scheduler: one of these is
    needed only where workers come and go. Any number may run; none of them fires anything twice.

    Parameters
    ----------
    log_level
        debug, info, warning or error.
    maintenance
        Also recover what workers lost, and drop old history.
    """
    from mainspring.runtime.node import Duties, Moments, run_scheduler
    from mainspring.telemetry.logs import set_up_logging

    settings = options.settings(log_level=log_level)
    set_up_logging(settings.log_level)
    moments = Moments(
        on_start=lambda: _log.info("scheduler on %s", options.shown_store),
        on_stop=lambda: _log.info("stopping"),
    )
    await run_scheduler(settings, duties=Duties(maintains=maintenance), moments=moments)
    _log.info("stopped")
    return 0

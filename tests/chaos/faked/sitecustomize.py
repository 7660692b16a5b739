"""Lets Python sleep beside libfaketime, which takes the instant of ``clock_nanosleep`` for a wrong
one and has it refused, although it leaves the monotonic clock alone.
"""

import select
import time


def _sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


setattr(time, "sleep", _sleep)  # noqa: B010 - no type fits

"""How much is measured."""

import msgspec

from benchmarks.pace import Pace


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one run; the defaults are those of the published results."""

    rounds: int = 5
    #: Inserted and drained in each round, by floor and product.
    jobs: int = 100_000
    #: Calls in one ``submit_many``.
    bulk: int = 1_000
    #: Slots a child process.
    slots: int = 1_000
    pickups_per_second: int = 200
    pickup_seconds: float = 5.0

    @property
    def pace(self) -> Pace:
        """Return the pace of the pickups."""
        jobs = round(self.pickups_per_second * self.pickup_seconds)
        return Pace(jobs, self.pickups_per_second)

"""How much is measured."""

import msgspec


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

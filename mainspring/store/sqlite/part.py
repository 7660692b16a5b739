"""What every part of the store has."""

from mainspring.store.sqlite.engine import Engine


class Part:
    """A part of the store: its methods, on the database that all parts share."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

"""What was last seen of things that are waited for, with the server's tag of it."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_ITEMS_MAX: Final = 1_000


class Seen(Generic[T]):
    """Remembers so many things, those that were seen last.

    >>> seen = Seen[str]()
    >>> seen.keep(b"1", '"tag"', "a job")
    >>> seen.tag(b"1", "a job"), seen.tag(b"1", "as it was before")
    ('"tag"', None)
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._items: OrderedDict[bytes, tuple[str, T]] = OrderedDict()

    def keep(self, name: bytes, tag: str, view: T) -> None:
        """Remember what something looked like under a tag."""
        self._items[name] = (tag, view)
        self._items.move_to_end(name)
        if len(self._items) > _ITEMS_MAX:
            self._items.popitem(last=False)

    def tag(self, name: bytes, view: T | None) -> str | None:
        """Return the tag of it as it was seen; ``None``: it was never seen so, or not lately."""
        tag, known = self._items.get(name, ("", None))
        return tag if view is not None and known == view and tag else None

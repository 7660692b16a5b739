"""What kinds there are, as each tenant knows them."""

from collections.abc import Iterable, Mapping

from mainspring.domain.job import DEFAULT_TENANT, HandlerInfo


class Declared:
    """Every declared kind: a tenant knows its own, and those of workers that are bound to none.

    Of two declarations of a kind a tenant's own one counts for it, and for nobody else.
    """

    def __init__(self, handlers: Iterable[HandlerInfo] = ()) -> None:
        """Sort what was declared by who may know it."""
        self._own: dict[str, dict[str, HandlerInfo]] = {}
        for handler in handlers:
            self._own.setdefault(handler.tenant, {})[handler.kind] = handler
        self._shared = self._own.get(DEFAULT_TENANT, {})

    def of(self, tenant: str | None) -> Mapping[str, HandlerInfo]:
        """Return what a tenant knows, by kind; without one what all know."""
        own = self._own.get(tenant or DEFAULT_TENANT, self._shared)
        return own if own is self._shared or not self._shared else self._shared | own

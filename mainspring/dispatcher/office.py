"""Gateways for workers elsewhere: one for each of their processes, all on one store."""

from collections.abc import Callable
from typing import Protocol

from mainspring.dispatcher.adoption import Adoption, AdoptionStore
from mainspring.dispatcher.gateway import LocalGateway, WorkerStore
from mainspring.dispatcher.judgement import Dice
from mainspring.domain.limits import INLINE_BYTES_MAX
from mainspring.ports.blobs import BlobStore


class OfficeStore(WorkerStore, AdoptionStore, Protocol):
    """The part of a store that workers elsewhere need."""


class Office:
    """Makes them. The store and the object store stay whose they are."""

    def __init__(
        self,
        store: OfficeStore,
        *,
        blobs: BlobStore | None,
        dice: Dice,
        monotonic: Callable[[], float],
        inline_bytes: int = INLINE_BYTES_MAX,
    ) -> None:
        """Sit on this store."""
        self._store = store
        self._blobs = blobs
        self._dice = dice
        self._monotonic = monotonic
        self._inline_bytes = inline_bytes

    def gateway(self, worker_id: bytes) -> LocalGateway:
        """Return a gateway for a process of this worker."""
        return LocalGateway(
            self._store,
            blobs=self._blobs,
            dice=self._dice,
            monotonic=self._monotonic,
            inline_bytes=self._inline_bytes,
            adoption=Adoption(self._store, worker_id),
        )

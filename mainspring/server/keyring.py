"""Who stands before a door, by an API key; and how often each may ask.

A key that was good is believed for a few seconds without asking the store again, so that a busy
key costs nothing; one that was ended is refused after that at the latest, and at once by the server
that ended it. Each key has a bucket of
requests, each address one of failures. Both are of this process: several servers allow several.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from math import ceil
from typing import Final, NamedTuple, Protocol

from mainspring.domain.access import Principal, rights_of
from mainspring.domain.errors import (
    Forbidden,
    KeyExpired,
    RateLimited,
    TenantSuspended,
    Unauthenticated,
)
from mainspring.domain.keys import FoundKey, KeyState, KeyText, parse
from mainspring.domain.limits import KEY_FAILURES_MAX, KEY_TRUST_SECONDS
from mainspring.ports.access import KeyStore

_SCHEME: Final = "bearer "
_REMEMBERED_MAX: Final = 10_000
_FAILURE_SECONDS: Final = 60.0
_FLUSH_SECONDS: Final = 30.0


class OtherKeeper(Protocol):
    """Knows people by other tokens than keys."""

    async def principal(self, token: str) -> Principal:
        """Return who it is, or raise ``Unauthenticated``."""
        ...


class Bucket:
    """Fills up with time and is emptied by requests.

    >>> bucket = Bucket(per_second=2.0, size=1.0, now=0.0)
    >>> bucket.take(0.0), bucket.take(0.0), bucket.take(0.5)
    (0.0, 0.5, 0.0)
    """

    __slots__ = ("_at", "_left", "_per_second", "_size")

    def __init__(self, *, per_second: float, size: float, now: float) -> None:
        """Begin full."""
        self._per_second = per_second
        self._size = size
        self._left = size
        self._at = now

    def take(self, now: float) -> float:
        """Take one; return after how many seconds there is one, where there is none now."""
        self._left = min(self._size, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._per_second


class _Known(NamedTuple):
    principal: Principal
    until: float
    bucket: Bucket


class Keyring:
    """A ``Doorkeeper`` that knows API keys."""

    def __init__(
        self,
        store: KeyStore,
        *,
        monotonic: Callable[[], float],
        wall: Callable[[], datetime],
        rate: int,
        other: OtherKeeper | None = None,
        certificates: tuple[str, ...] = (),
    ) -> None:
        """Look keys up in ``store``; each may ask ``rate`` times a second.

        ``other`` knows what is no key of ours; ``certificates`` are the scopes of whoever shows a
        client certificate and nothing else.
        """
        self._store = store
        self._monotonic = monotonic
        self._wall = wall
        self._rate = rate
        self._other = other
        self._certificate_rights = rights_of(certificates)
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._failures: OrderedDict[str, Bucket] = OrderedDict()
        self._used: dict[str, datetime] = {}
        self._doubts = 0

    def known(self, authorization: str) -> Principal | None:
        """Return who that is, if it was found a moment ago."""
        found = self._known.get(authorization)
        if found is None:
            return None
        now = self._monotonic()
        if now >= found.until:
            return None
        self._charge(found, now)
        return found.principal

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        """Return who it is, or raise what says why nobody is let in."""
        if authorization is None:
            if certificate is not None and self._certificate_rights:
                return Principal(name=f"certificate {certificate}", rights=self._certificate_rights)
            raise Unauthenticated("no key was given")
        self._check_failures(peer)
        try:
            found = await self._look_up(authorization)
        except (Unauthenticated, Forbidden):
            self._note_failure(peer)
            raise
        self._charge(found, self._monotonic())
        return found.principal

    def doubt(self) -> None:
        """Ask the store again about everybody: a key or a tenant was changed here."""
        self._doubts += 1
        for authorization, found in self._known.items():
            # The bucket stays: whoever asks too often does not get a full one by it.
            self._known[authorization] = found._replace(until=self._monotonic())

    async def step(self) -> float:
        """Write down when keys were last used; return when to do so again."""
        await self.flush()
        return _FLUSH_SECONDS

    async def flush(self) -> None:
        """Write down when keys were last used."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._store.note_uses(used)
        except BaseException:
            # A later use is as good; an earlier one must not be lost with the attempt.
            self._used = used | self._used
            raise

    async def _look_up(self, authorization: str) -> _Known:
        if not authorization[: len(_SCHEME)].lower() == _SCHEME:
            raise Unauthenticated(
                "the header Authorization is of a kind that is not taken here",
                hint="write: Authorization: Bearer ms_live_...",
            )
        token = authorization[len(_SCHEME) :].strip()
        if self._other is not None and token.count(".") > 1:
            principal = await self._other.principal(token)
            return self._remember(authorization, principal, KEY_TRUST_SECONDS)
        key = parse(token)
        doubts = self._doubts
        found = await self._store.find_key(key.id)
        principal = _principal(key, found)
        assert found is not None, "a principal comes from a key that was found"
        left = KEY_TRUST_SECONDS if found.left_ms is None else found.left_ms / 1_000
        # What was read before a change may be what it was before that.
        trust = KEY_TRUST_SECONDS if doubts == self._doubts else 0
        return self._remember(authorization, principal, min(trust, left))

    def _remember(self, authorization: str, principal: Principal, seconds: float) -> _Known:
        now = self._monotonic()
        before = self._known.pop(authorization, None)
        bucket = (
            Bucket(per_second=self._rate, size=self._rate, now=now)
            if before is None
            else before.bucket
        )
        found = self._known[authorization] = _Known(principal, now + seconds, bucket)
        while len(self._known) > _REMEMBERED_MAX:
            self._known.popitem(last=False)
        if principal.key_id is not None:
            self._used[principal.key_id] = self._wall()
        return found

    def _charge(self, found: _Known, now: float) -> None:
        wait = found.bucket.take(now)
        if wait:
            seconds = max(1, ceil(wait))
            raise RateLimited(
                f"{found.principal.name} asks more than {self._rate:,} times a second",
                hint=f"wait {seconds} s, or submit many jobs in one request",
                details={"retry_after": seconds, "rate": self._rate},
            )

    def _check_failures(self, peer: str) -> None:
        bucket = self._failures.get(peer)
        if bucket is None:
            return
        wait = bucket.take(self._monotonic())
        if wait:
            seconds = max(1, ceil(wait))
            raise RateLimited(
                f"{peer} showed too many keys that nobody has",
                hint=f"wait {seconds} s, then show one that is good",
                details={"retry_after": seconds},
            )

    def _note_failure(self, peer: str) -> None:
        now = self._monotonic()
        if peer not in self._failures:
            per_second = KEY_FAILURES_MAX / _FAILURE_SECONDS
            self._failures[peer] = Bucket(per_second=per_second, size=KEY_FAILURES_MAX - 1, now=now)
        while len(self._failures) > _REMEMBERED_MAX:
            self._failures.popitem(last=False)


def _principal(key: KeyText, found: FoundKey | None) -> Principal:
    """Return who holds a key, or raise; whoever has the wrong secret learns nothing of the id."""
    if found is None or not key.fits(found.secret_hash):
        raise Unauthenticated(
            "nobody has this key", hint="copy it again, or ask an administrator for a new one"
        )
    view = found.view
    if view.state is not KeyState.ACTIVE:
        when = view.ended_at or view.expires_at
        shown = "" if when is None else f" {when:%Y-%m-%d %H:%M} UTC"
        what = "expired" if view.state is KeyState.EXPIRED else "was ended"
        raise KeyExpired(f"the key {view.prefix} ({view.name}) {what}{shown}")
    if found.suspended_reason is not None:
        raise TenantSuspended(
            f"the tenant {view.tenant} is suspended: {found.suspended_reason or 'no reason given'}"
        )
    return Principal(
        name=f"key {view.name}",
        rights=rights_of(view.scopes),
        tenant=view.tenant,
        key_id=view.id,
    )

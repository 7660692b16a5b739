"""People by OpenID Connect: bearer tokens of one issuer, checked here, never by asking around.

Only what the issuer signed with a key of its own counts: the algorithms are a fixed list without
any that a shared secret could forge, and issuer, audience and times are checked each time. Keys are
fetched when they are first needed, kept for an hour, and looked for anew when a token names one
that is not known, but not more often than once in a while, whoever asks.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import jwt
import msgspec

from mainspring.domain.access import Principal, rights_of
from mainspring.domain.errors import InvalidInput, Unauthenticated
from mainspring.domain.limits import TENANT_CHARACTERS_MAX
from mainspring.domain.names import check_name

#: Signed with a private key that only the issuer has.
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
                      "ES512", "EdDSA")  # fmt: skip
_KEYS_SECONDS: Final = 3_600.0
_COOL_SECONDS: Final = 30.0
_LEEWAY_SECONDS: Final = 30
_TOKEN_CHARACTERS_MAX: Final = 16_384
#: The tenant of whoever may reach all of them.
EVERY_TENANT: Final = "*"
_DISCOVERY: Final = "/.well-known/openid-configuration"

Fetch = Callable[[str], Awaitable[bytes]]


class Issuer(msgspec.Struct, frozen=True, kw_only=True):
    """Whose tokens are taken, and what their claims mean."""

    url: str
    audience: str
    #: The claim with roles, scopes or rights: a list, or words in a text.
    roles_claim: str = "roles"
    #: The claim with the tenant; ``*`` in it stands for the whole installation.
    tenant_claim: str = "tenant"


class _Discovered(msgspec.Struct):
    issuer: str
    jwks_uri: str


class OpenId:
    """Knows people by the tokens of an issuer: ``keyring.OtherKeeper``."""

    def __init__(self, issuer: Issuer, fetch: Fetch, monotonic: Callable[[], float]) -> None:
        """Take tokens of ``issuer``; ``fetch`` gets a document by its address."""
        self._issuer = issuer
        self._fetch = fetch
        self._monotonic = monotonic
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._keys_until = float("-inf")
        self._cool_until = float("-inf")

    async def principal(self, token: str) -> Principal:
        """Return who it is, or raise ``Unauthenticated`` saying what is wrong with the token."""
        if len(token) > _TOKEN_CHARACTERS_MAX:
            raise Unauthenticated("the token is too long to be one")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise Unauthenticated("this is neither a key of ours nor a token") from None
        if header.get("alg") not in _ALGORITHMS:
            raise Unauthenticated("the token is signed in a way that is not taken here")
        key = await self._key(str(header.get("kid", "")))
        try:
            claims = jwt.decode(
                token,
                key=key,
                algorithms=[key.algorithm_name],
                audience=self._issuer.audience,
                issuer=self._issuer.url,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"], "strict_aud": False},
            )
        except jwt.InvalidTokenError as error:
            raise Unauthenticated(
                f"the token is not good: {error}", hint="sign in again to get a new one"
            ) from None
        return self._of(claims)

    def _of(self, claims: Mapping[str, Any]) -> Principal:
        given = claims.get(self._issuer.roles_claim, ())
        words = given.split() if isinstance(given, str) else given
        known: set[str] = set()
        for word in words if isinstance(words, list | tuple) else ():
            try:
                rights_of([str(word)])
            except InvalidInput:
                # Issuers put roles of other applications there as well.
                continue
            known.add(str(word))
        tenant = claims.get(self._issuer.tenant_claim)
        if not isinstance(tenant, str):
            raise Unauthenticated(
                f"the token names no tenant: its claim {self._issuer.tenant_claim!r} is missing",
                hint=f"have the issuer add it; {EVERY_TENANT} stands for the whole installation",
            )
        if tenant != EVERY_TENANT:
            try:
                check_name("tenant", tenant, TENANT_CHARACTERS_MAX)
            except InvalidInput as error:
                raise Unauthenticated(f"the token's claim is no tenant: {error.message}") from None
        return Principal(
            name=f"user {claims.get('email') or claims['sub']}",
            rights=rights_of(known),
            tenant=None if tenant == EVERY_TENANT else tenant,
        )

    async def _key(self, key_id: str) -> jwt.PyJWK:
        now = self._monotonic()
        known = self._keys.get(key_id)
        if (known is None or now > self._keys_until) and now > self._cool_until:
            self._cool_until = now + _COOL_SECONDS
            self._keys = await self._fetched()
            self._keys_until = now + _KEYS_SECONDS
            known = self._keys.get(key_id)
        if known is None:
            raise Unauthenticated("the token is signed with a key that its issuer does not publish")
        return known

    async def _fetched(self) -> Mapping[str, jwt.PyJWK]:
        """Return the keys that the issuer publishes now; those of other uses are left out."""
        try:
            text = await self._fetch(self._issuer.url.rstrip("/") + _DISCOVERY)
            found = msgspec.json.decode(text, type=_Discovered)
            if found.issuer != self._issuer.url:
                raise Unauthenticated(
                    f"the issuer calls itself {found.issuer[:200]!r}, not {self._issuer.url!r}"
                )
            published = msgspec.json.decode(await self._fetch(found.jwks_uri), type=dict[str, Any])
            keys = [
                jwt.PyJWK(each)
                for each in published.get("keys", ())
                if each.get("use", "sig") == "sig" and each.get("kty") != "oct"
            ]
        except (OSError, msgspec.MsgspecError, jwt.PyJWKError) as error:
            raise Unauthenticated(
                f"the issuer's keys cannot be read: {error}",
                hint="try again soon; an API key works meanwhile",
            ) from None
        return {str(key.key_id): key for key in keys if key.algorithm_name in _ALGORITHMS}

"""Tokens of an issuer: what is good, and every way of forging or misusing one that we know of."""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from mainspring.domain.access import SCOPES, Right
from mainspring.domain.errors import Unauthenticated
from mainspring.server.openid import Issuer, OpenId
from tests.server.conftest import Watch

ISSUER = "https://login.example"
RSA_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
STRANGERS = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def jwk(key: Any, key_id: str, **more: str) -> dict[str, Any]:
    algorithm = (
        jwt.algorithms.RSAAlgorithm
        if hasattr(key, "key_size") and isinstance(key, rsa.RSAPrivateKey)
        else jwt.algorithms.ECAlgorithm
    )
    found: dict[str, Any] = msgspec.json.decode(algorithm.to_jwk(key.public_key()))
    return found | {"kid": key_id, **more}


class Web:
    """What the issuer publishes, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.documents: dict[str, bytes] = {}
        self.publish({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"})
        self.keys = [
            jwk(RSA_KEY, "r1", alg="RS256"),
            jwk(EC_KEY, "e1", alg="ES256"),
            {"kty": "oct", "kid": "o1", "k": "c2VjcmV0"},
        ]

    def publish(self, discovered: Mapping[str, str]) -> None:
        self.documents[f"{ISSUER}/.well-known/openid-configuration"] = msgspec.json.encode(
            discovered
        )

    async def fetch(self, url: str) -> bytes:
        self.asked.append(url)
        if url == f"{ISSUER}/keys":
            return msgspec.json.encode({"keys": self.keys})
        if url not in self.documents:
            raise OSError("no route to host")
        return self.documents[url]


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture
def openid(web: Web, watch: Watch) -> OpenId:
    return OpenId(Issuer(url=ISSUER, audience="mainspring"), web.fetch, watch)


def claims(**changes: Any) -> dict[str, Any]:
    found = {
        "iss": ISSUER,
        "aud": "mainspring",
        "sub": "u-17",
        "email": "ada@example.com",
        "exp": int(time.time()) + 600,
        "roles": ["viewer", "jobs.cancel", "payroll-clerk"],
        "tenant": "acme",
    } | changes
    return {name: value for name, value in found.items() if value is not None}


def token(key: Any = RSA_KEY, algorithm: str = "RS256", kid: str = "r1", **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm, headers={"kid": kid})


async def test_a_good_token_names_somebody(openid: OpenId) -> None:
    for good in (token(), token(EC_KEY, "ES256", "e1")):
        found = await openid.principal(good)
        assert (found.name, found.tenant, found.key_id) == ("user ada@example.com", "acme", None)
        assert found.rights == SCOPES["read"] | {Right.JOBS_CANCEL}


async def test_a_star_stands_for_the_whole_installation(openid: OpenId) -> None:
    assert (await openid.principal(token(tenant="*"))).tenant is None


async def test_roles_come_as_words_too_and_those_of_others_give_nothing(openid: OpenId) -> None:
    assert (await openid.principal(token(roles="submit other"))).rights == SCOPES["submit"]
    for none in (None, [], {"viewer": True}, 7, ["everything"]):
        assert (await openid.principal(token(roles=none))).rights == frozenset()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exp": int(time.time()) - 600}, "expired"),
        ({"exp": None}, 'missing the "exp" claim'),
        ({"nbf": int(time.time()) + 600}, "not yet valid"),
        ({"aud": "payroll"}, "Audience"),
        ({"aud": None}, 'missing the "aud" claim'),
        ({"iss": "https://login.example.evil"}, "issuer"),
        ({"sub": None}, 'missing the "sub" claim'),
        ({"tenant": None}, "names no tenant"),
        ({"tenant": "a b"}, "is no tenant"),
        ({"tenant": ["acme"]}, "names no tenant"),
    ],
)
async def test_claims_that_do_not_hold(openid: OpenId, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        await openid.principal(token(**changes))
    assert said.lower() in caught.value.message.lower()


def part(value: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()


def signed_with_the_public_key() -> str:
    """Return what fools whoever lets the token choose between public and shared keys."""
    public = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    text = f"{part({'alg': 'HS256', 'kid': 'r1'})}.{part(claims())}"
    mac = hmac.new(public, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


@pytest.mark.parametrize(
    "forged",
    [
        token(STRANGERS),
        token(STRANGERS, kid="x9"),
        token(EC_KEY, "ES256", "r1"),
        f"{part({'alg': 'none', 'kid': 'r1'})}.{part(claims())}.",
        jwt.encode(claims(), "secret" * 8, "HS256", headers={"kid": "o1"}),
        signed_with_the_public_key(),
        token()[:-4] + "AAAA",
        "a.b.c",
        "..",
        "x" * 20_000,
    ],
)
async def test_forgeries(openid: OpenId, forged: str) -> None:
    with pytest.raises(Unauthenticated):
        await openid.principal(forged)


async def test_keys_are_asked_for_once_an_hour(openid: OpenId, web: Web, watch: Watch) -> None:
    for _ in range(5):
        await openid.principal(token())
    assert len(web.asked) == 2
    watch.now += 3_601
    await openid.principal(token())
    assert len(web.asked) == 4


async def test_a_new_key_is_found_and_strangers_cannot_have_us_ask_all_the_time(
    openid: OpenId, web: Web, watch: Watch
) -> None:
    await openid.principal(token())
    web.keys.append(jwk(STRANGERS, "r2", alg="RS256"))
    watch.now += 31
    await openid.principal(token(STRANGERS, kid="r2"))
    asked = len(web.asked)
    for number in range(10):
        with pytest.raises(Unauthenticated, match="does not publish"):
            await openid.principal(token(kid=f"x{number}"))
    assert len(web.asked) == asked


async def test_an_issuer_that_cannot_be_asked_is_told(openid: OpenId, web: Web) -> None:
    web.documents.clear()
    with pytest.raises(Unauthenticated, match="keys cannot be read: no route to host"):
        await openid.principal(token())


async def test_an_issuer_by_another_name_is_none(openid: OpenId, web: Web) -> None:
    web.publish({"issuer": "https://evil.example", "jwks_uri": f"{ISSUER}/keys"})
    with pytest.raises(Unauthenticated, match="calls itself"):
        await openid.principal(token())

"""Signatures by the rules of Standard Webhooks: HMAC-SHA256 over id, instant and body."""

import base64
import hashlib
import hmac
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from mainspring.domain.webhooks import SECRET_PREFIX, Secret

SECRET_BYTES: Final = 32


def secret_of(random: bytes) -> str:
    """Return random bytes as a secret is shown: ``whsec_`` and base 64."""
    assert len(random) == SECRET_BYTES
    return SECRET_PREFIX + base64.b64encode(random).decode()


def valid_secrets(secrets: Iterable[Secret], now: datetime) -> list[Secret]:
    """Return those that sign now: all but the ones whose time has run out."""
    return [secret for secret in secrets if secret.until is None or now < secret.until]


def signature_headers(
    webhook_id: str, now: datetime, body: bytes, secrets: Iterable[Secret]
) -> dict[str, str]:
    """Return the headers that prove where a body comes from, signed by every secret."""
    timestamp = str(int(now.timestamp()))
    signed = b".".join((webhook_id.encode(), timestamp.encode(), body))
    signatures = " ".join(f"v1,{_signature(secret, signed)}" for secret in secrets)
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signatures,
    }


def _signature(secret: Secret, signed: bytes) -> str:
    key = base64.b64decode(secret.value.removeprefix(SECRET_PREFIX))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()

"""Just enough of S3 to make a bucket and to see that objects can be written."""

import hashlib
import hmac
import http.client
from dataclasses import dataclass
from urllib.parse import urlsplit

from mainspring.ports.clock import utc_now

_SECONDS_MAX = 10.0
_SIGNED_HEADERS = "host;x-amz-content-sha256;x-amz-date"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Access:
    """What a client needs to use a bucket."""

    endpoint: str
    access_key_id: str
    secret_access_key: str
    region: str
    bucket: str


def accepts_objects(access: S3Access) -> bool:
    """Make the bucket unless it exists, write and delete an object; False while that fails."""
    try:
        if _call(access, "PUT", f"/{access.bucket}") not in {200, 409}:
            return False
        probe = f"/{access.bucket}/.ready"
        is_written = _call(access, "PUT", probe, b"ready") == 200
        return is_written and _call(access, "DELETE", probe) in {200, 204}
    except (OSError, http.client.HTTPException):
        return False


def _call(access: S3Access, method: str, path: str, body: bytes = b"") -> int:
    """The status of one signed request."""
    where = urlsplit(access.endpoint).netloc
    connection = http.client.HTTPConnection(where, timeout=_SECONDS_MAX)
    try:
        headers = _signed(access, f"{method}\n{path}\n\nhost:{where}\n", body)
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def _signed(access: S3Access, head: str, body: bytes) -> dict[str, str]:
    """The headers of AWS signature version 4. `head` is the request up to the host's line."""
    moment = utc_now().strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    signed = f"x-amz-content-sha256:{digest}\nx-amz-date:{moment}\n"
    canonical = f"{head}{signed}\n{_SIGNED_HEADERS}\n{digest}"
    scope = [moment[:8], access.region, "s3", "aws4_request"]
    key = b"AWS4" + access.secret_access_key.encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    canonical_digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{moment}\n{'/'.join(scope)}\n{canonical_digest}"
    signature = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    credential = f"{access.access_key_id}/{'/'.join(scope)}"
    return {
        "x-amz-content-sha256": digest,
        "x-amz-date": moment,
        "Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, "
        f"SignedHeaders={_SIGNED_HEADERS}, Signature={signature}",
    }

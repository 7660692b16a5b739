"""Objects in S3 and what speaks like it (SeaweedFS, MinIO, Ceph), in GCS and Azure.

The address is ``s3://bucket/prefix``; ``?endpoint=http://host:port&region=…`` names a server other
than the provider's. Keys come from the environment or the machine's role, never from the address.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError
from obstore.store import AzureStore, GCSStore, S3Store

from mainspring.domain.errors import ConfigError, ConnectionFailed, NotFound
from mainspring.domain.references import parse_reference, reference_of, verified

if TYPE_CHECKING:
    from obstore.store import RetryConfig

_OPTIONS: Final = ("endpoint", "region")
_TIMEOUT: Final = timedelta(seconds=30)
# The client's own default is ten tries over three minutes, in which nobody learns what is wrong.
_RETRY: Final["RetryConfig"] = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}

#: As many as S3 takes; the client splits them further where a provider takes less.
_KEYS_A_REQUEST: Final = 1_000

_Remote = S3Store | GCSStore | AzureStore


class ObjectBlobs:
    """A ``BlobStore`` in a bucket."""

    def __init__(self, remote: _Remote, address: str) -> None:
        """Use this bucket; ``address`` is named in messages."""
        self._remote = remote
        self._address = address

    async def put(self, key: str, body: bytes) -> str:
        """Put the object; the provider answers when it is durable."""
        try:
            await obstore.put_async(self._remote, key, body)
        except (BaseError, OSError) as error:
            raise self._explain(error) from error
        return reference_of(key, body)

    async def get(self, reference: str) -> bytes:
        """Return the checked bytes."""
        wanted = parse_reference(reference)
        try:
            found = await obstore.get_async(self._remote, wanted.key)
            body = bytes(await found.bytes_async())
        except FileNotFoundError:
            raise NotFound(f"the object {wanted.key} is not in {self._address}") from None
        except (BaseError, OSError) as error:
            raise self._explain(error) from error
        return verified(wanted, body)

    async def delete(self, references: list[str]) -> None:
        """Remove objects; missing ones are no error."""
        await self.delete_keys([parse_reference(reference).key for reference in references])

    async def list_keys(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Ask for one page; the provider lists in order of the keys."""
        stream = obstore.list(
            self._remote, prefix=prefix, offset=after or None, chunk_size=limit, return_arrow=False
        )
        try:
            async for page in stream:
                return [str(found["path"]) for found in page]
        except (BaseError, OSError) as error:
            raise self._explain(error) from error
        return []

    async def delete_keys(self, keys: list[str]) -> None:
        """Remove objects, many in one request where the provider can; missing ones are no error."""
        left = list(dict.fromkeys(keys))
        for start in range(0, len(left), _KEYS_A_REQUEST):
            part = left[start : start + _KEYS_A_REQUEST]
            if not await self._remove(part):
                # Some providers stop at one that is missing.
                for key in part:
                    await self._remove([key])

    async def _remove(self, keys: list[str]) -> bool:
        """Remove objects; False when one of them was not there."""
        try:
            await obstore.delete_async(self._remote, keys)
        except FileNotFoundError:
            return False
        except (BaseError, OSError) as error:
            raise self._explain(error) from error
        return True

    async def close(self) -> None:
        """Connections end with the process; the client offers no earlier way."""

    def _explain(self, error: BaseError | OSError) -> ConnectionFailed:
        # The client's text is long and repeats the request; its first line names the cause.
        first = str(error).strip().partition("\n")[0][:300]
        hint = None
        if isinstance(error, PermissionDeniedError):
            hint = "check the keys and the rights on the bucket"
        elif isinstance(error, FileNotFoundError):  # the client's word for 404, here the bucket's
            hint = "make the bucket, or correct its name"
        return ConnectionFailed(f"the object store {self._address}: {first}", hint=hint)


def open_blobs(address: str) -> ObjectBlobs:
    """Open the bucket that the address names; nothing is sent yet."""
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ConfigError(
            f"blobs: there is no option {unknown[0]!r}", hint=f"use {' and '.join(_OPTIONS)}"
        )
    if "@" in parts.netloc:
        raise ConfigError(
            "blobs: the address holds keys",
            hint="give them in the environment (AWS_ACCESS_KEY_ID and so on) and replace them",
        )
    if not parts.netloc:
        raise ConfigError(
            f"blobs: {address!r} names no bucket",
            hint="write s3://BUCKET/PREFIX, file:///FOLDER or none",
        )
    plain = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    return ObjectBlobs(_remote(parts.scheme, parts.netloc, parts.path.strip("/"), options), plain)


def _remote(scheme: str, bucket: str, prefix: str, options: dict[str, str]) -> _Remote:
    inside = prefix or None
    endpoint = options.get("endpoint", "")
    if scheme == "s3":
        # Left out rather than empty: then the environment and the client's defaults count.
        given: dict[str, str] = {"endpoint": endpoint} if endpoint else {}
        region = options.get("region") or ("us-east-1" if endpoint else None)
        if region:
            given["region"] = region
        return S3Store(
            bucket,
            prefix=inside,
            client_options={"allow_http": endpoint.startswith("http://"), "timeout": _TIMEOUT},
            retry_config=_RETRY,
            **given,  # type: ignore[arg-type]  # the stub wants a TypedDict literal
        )
    if scheme == "gs":
        return GCSStore(
            bucket, prefix=inside, client_options={"timeout": _TIMEOUT}, retry_config=_RETRY
        )
    if scheme == "az":
        return AzureStore(
            bucket, prefix=inside, client_options={"timeout": _TIMEOUT}, retry_config=_RETRY
        )
    raise ConfigError(
        f"blobs: {scheme!r} is no kind of object store", hint="use file://, s3://, gs:// or az://"
    )

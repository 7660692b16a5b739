"""Documents of other servers that the operator named: small ones, and not for long."""

from typing import Final

import httpcore

_SECONDS: Final = 10.0
_BYTES_MAX: Final = 1_048_576
_OK: Final = 200


async def fetch(url: str) -> bytes:
    """Return what is at an address, or raise ``OSError`` saying why not."""
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), _SECONDS)
    try:
        async with (
            httpcore.AsyncConnectionPool() as pool,
            pool.stream("GET", url, extensions={"timeout": timeout}) as response,
        ):
            if response.status != _OK:
                raise OSError(f"{url} answered {response.status}")
            body = b""
            async for chunk in response.aiter_stream():
                body += chunk
                if len(body) > _BYTES_MAX:
                    raise OSError(f"{url} answers with more than {_BYTES_MAX:,} bytes")
            return body
    except (
        httpcore.NetworkError,
        httpcore.TimeoutException,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise OSError(f"{url} cannot be read: {str(error) or type(error).__name__}") from None

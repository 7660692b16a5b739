"""Which URLs may be called at all. Says nothing of where their hosts are: that is ``egress``."""

from urllib.parse import SplitResult, urlsplit


class Refused(Exception):
    """The call is not made, now or ever: its address, its headers, or where it was led to."""


def checked_url(text: str) -> SplitResult:
    """Return the parts of a URL that may be called, its host in the form that is resolved."""
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise Refused(f"url: {text!r} cannot be read: {error}") from None
    if url.scheme not in ("http", "https"):
        raise Refused(f"url: {text!r} is not of http or https")
    if not host or url.username is not None or url.password is not None:
        raise Refused("url: it needs a host, and a user or password belongs into a header")
    if any(ord(character) <= 0x20 for character in text):
        raise Refused("url: it holds a space or a control character; write %20")
    try:
        name = host if ":" in host else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise Refused(f"url: {host!r} is not the name of a host") from None
    place = f"[{name}]" if ":" in name else name
    place += "" if port is None else f":{port}"
    return SplitResult(url.scheme, place, url.path or "/", url.query, "")

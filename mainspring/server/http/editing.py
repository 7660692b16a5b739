"""What may be edited has an ETag: who changes it can say which one was seen.

``"3-5f0c2a9e"``: the version, and a hash of the document. ``If-Match`` is about the version alone,
because what a clock or a fire changes of a document contradicts nobody's edit; ``If-None-Match`` is
about every byte of it.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar, cast

import msgspec

from mainspring.domain.errors import Changed
from mainspring.server.http.calls import Answer, Call

T = TypeVar("T")
_HASH_CHARACTERS: Final = 16
_TAG: Final = re.compile(r'\s*(?:W/)?"([^"]*)"\s*(?:,|$)|\s*(\*)\s*$')
_NUMBER: Final = re.compile(r"[1-9]\d{0,8}", re.ASCII)
_NOT_MODIFIED: Final = 304


def with_tag(
    call: Call,
    document: T,
    version: int,
    *,
    status: int | None = None,
    location: str | None = None,
) -> Answer[T]:
    """Return an answer with its ETag; a reader who has just that gets 304 and nothing else."""
    digest = hashlib.sha256(msgspec.json.encode(document)).hexdigest()[:_HASH_CHARACTERS]
    tag = f"{version}-{digest}"
    headers = [("etag", f'"{tag}"')]
    if location is not None:
        headers.append(("location", location))
    if call.request.method == "GET" and _is_known(call, tag):
        return Answer(cast("Any", None), status=_NOT_MODIFIED, headers=headers)
    return Answer(document, status=status, headers=headers)


def check_version(call: Call, what: str, version: int) -> int | None:
    """Return the version that a change is meant for, if it is for one: the present one.

    Raises ``Changed`` when the ETags in ``If-Match`` are of others.
    """
    given = call.request.headers.get("if-match")
    if given is None:
        return None
    for tag in _tags(given):
        if tag == "*" or tag.partition("-")[0] == str(version):
            return version
    raise Changed(
        f"{what} was changed meanwhile: it is at version {version}, and If-Match says {given[:80]}",
        details={"version": version},
    )


def version_meant(call: Call) -> int | None:
    """Return the one version that ``If-Match`` names, if it names just one.

    Whoever is handed it can tell a change that was made already from one that comes too late.
    """
    tags = [tag.partition("-")[0] for tag in _tags(call.request.headers.get("if-match", ""))]
    return int(tags[0]) if len(tags) == 1 and _NUMBER.fullmatch(tags[0]) else None


def _is_known(call: Call, tag: str) -> bool:
    given = call.request.headers.get("if-none-match", "")
    return any(each in (tag, "*") for each in _tags(given))


def _tags(given: str) -> Iterator[str]:
    at = 0
    while found := _TAG.match(given, at):
        yield found[1] if found[1] is not None else found[2]
        at = found.end()

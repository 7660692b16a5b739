"""Zone files (RFC 9636) made by hand, for rules that no government has."""

import struct

from mainspring.timetable.zones import ZoneData


def zone_file(first: int, changes: list[tuple[int, int]], footer: str = "") -> bytes:
    """Return a file of version 2: the first offset, then instants with the offset that begins."""
    offsets = [first, *sorted({offset for _, offset in changes} - {first})]
    names = b"LMT\x00"
    header = struct.pack(">4sc15x6L", b"TZif", b"2", 0, 0, 0, 0, 1, len(names))
    empty = struct.pack(">lbb", 0, 0, 0) + names
    sizes = (0, 0, 0, len(changes), len(offsets), len(names))
    second = struct.pack(">4sc15x6L", b"TZif", b"2", *sizes)
    second += b"".join(struct.pack(">q", instant) for instant, _ in changes)
    second += bytes(offsets.index(offset) for _, offset in changes)
    second += b"".join(struct.pack(">lbb", offset, 0, 0) for offset in offsets) + names
    return header + empty + second + b"\n" + footer.encode() + b"\n"


def zone_data(version: str, content: dict[str, bytes]) -> ZoneData:
    """Return a release of zone data with these files."""
    return ZoneData(version, content, content.__getitem__)

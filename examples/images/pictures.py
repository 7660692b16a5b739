"""Pictures of the Mandelbrot set: work that fills a core, in processes that can be stopped.

``isolated=True`` gives each attempt a process of its own. A picture that takes longer than its
timeout is really ended, whatever it computes, and its process replaced; the others go on.
"""

import struct
import zlib
from pathlib import Path

from mainspring import App, Context, Retry

app = App("pictures")
SHADES = 48


@app.job(isolated=True, queue="cores", timeout="60s", retry=Retry(max_attempts=2))
def render(ctx: Context, path: str, x: float, y: float, width: float, pixels: int = 160) -> int:
    """Write one picture as a PNG; return how many bytes it has."""
    step = width / pixels
    rows: list[bytes] = []
    for row in range(pixels):
        ctx.raise_if_cancelled()
        ctx.progress(row + 1, pixels, "rows")
        imaginary = y - width / 2 + row * step
        rows.append(bytes(_shade(x - width / 2 + at * step, imaginary) for at in range(pixels)))
    picture = _png(rows, pixels)
    Path(path).write_bytes(picture)
    ctx.log.info("written", path=path, bytes=len(picture))
    return len(picture)


@app.job(isolated=True, queue="cores", timeout="1s", retry=Retry(max_attempts=1))
def render_for_ever(seed: int) -> int:
    """Never come to an end: the timeout kills its process."""
    value = seed
    while True:
        value = (value * 1_103_515_245 + 12_345) % 2_147_483_648


def _shade(real: float, imaginary: float) -> int:
    point = complex(real, imaginary)
    value = 0j
    for step in range(SHADES):
        value = value * value + point
        if abs(value) > 2:
            return 255 - step * 255 // SHADES
    return 0


def _png(rows: list[bytes], pixels: int) -> bytes:
    """Return a grey picture in the simplest form that every viewer reads."""
    header = struct.pack(">IIBBBBB", pixels, len(rows), 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )

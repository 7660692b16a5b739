"""Rates as people write them: ``"20/s"``, ``"600/m"``, ``"5/h"``."""

import re
from typing import Final

from mainspring.domain.errors import InvalidInput

_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*([smhd])")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def per_second(text: object, *, name: str = "rate") -> float:
    """Return how many a second, or raise saying how a rate is written."""
    found = _RATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or float(found[1]) <= 0:
        raise InvalidInput(f"{name}: {text!r} is no rate", hint='write it as "20/s" or "600/m"')
    return float(found[1]) / _SECONDS[found[2]]

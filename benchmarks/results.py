"""Results as data, and the table of the README made from them."""

from pathlib import Path
from typing import Any, Final

import msgspec

FOLDER: Final = Path(__file__).parent / "results"
README: Final = Path(__file__).parent / "README.md"
_BEGIN: Final = "<!-- results: written by python -m benchmarks --table -->"
_END: Final = "<!-- end of results -->"
_THROUGHPUT: Final = (
    *("store", "what", "floor jobs/s", "product jobs/s", "ratio"),
    *("CPU µs a job, product", "CPU µs a job, floor"),
)
_PICKUP: Final = ("p50 ms", "p95 ms", "p99 ms", "max ms", "CPU µs a job")
_STORES: Final = {"postgres": "PostgreSQL", "sqlite": "SQLite"}


def write(result: dict[str, Any], path: Path) -> None:
    """Write one result file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")


def read(path: Path) -> dict[str, Any]:
    """Read one result file."""
    found: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return found


def newest() -> dict[str, Any]:
    """Return the latest result; files are named by their date."""
    return read(max(FOLDER.glob("*.json")))


def readme_with(result: dict[str, Any], text: str) -> str:
    """Return the README with the table of this result."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n{table(result)}\n\n{_END}{after}"


def table(result: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    machine, sizes = result["machine"], result["sizes"]
    told = (
        f"{result['taken_on']}, commit `{result['commit']}`, {machine['cores']} cores of "
        f"{machine['processor']}, PostgreSQL {result['postgres']}, SQLite "
        f"{machine['sqlite']}, Python {machine['python']}; {sizes['jobs']:,} jobs, medians of "
        f"{sizes['rounds']} rounds, least and most in brackets."
    )
    lines = [told, "", _row(*_THROUGHPUT), _row(*["---"] * len(_THROUGHPUT))]
    stores = [name for name in _STORES if name in result["figures"]]
    for store in stores:
        figures = result["figures"][store]
        lines += [
            _throughput_row(_STORES[store], "bulk insert", figures["bulk_insert"]),
            _throughput_row(_STORES[store], "drain", figures["drain"]),
        ]
    asked = f"pickup at {sizes['pickups_per_second']} jobs/s"
    lines += ["", _row(asked, *_PICKUP), _row(*["---"] * (len(_PICKUP) + 1))]
    for store in stores:
        pickup = result["figures"][store]["pickup"]
        for side in ("floor", "product"):
            if pickup[side] is not None:
                lines.append(_pickup_row(f"{_STORES[store]}, {side}", pickup[side]))
    return "\n".join(lines)


def _throughput_row(store: str, what: str, figures: dict[str, Any]) -> str:
    floor, product = figures["floor"], figures["product"]
    return _row(
        store,
        what,
        _shown(floor["jobs_per_second"], 0),
        _shown(product["jobs_per_second"], 0),
        _shown(figures["ratio"], 2),
        _cpu(product),
        _cpu(floor),
    )


def _pickup_row(who: str, figures: dict[str, Any]) -> str:
    cells = [_shown(figures[f"{name}_ms"], 2) for name in ("p50", "p95", "p99", "max")]
    return _row(who, *cells, _cpu(figures))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _shown(spread: dict[str, float], digits: int) -> str:
    middle, least, most = (f"{spread[name]:,.{digits}f}" for name in ("median", "least", "most"))
    return f"{middle} ({least} to {most})"


def _cpu(figures: dict[str, Any]) -> str:
    told = [
        f"{name} {figures[f'{name}_cpu_us']['median']:.1f}"
        for name in ("client", "worker", "server")
        if f"{name}_cpu_us" in figures
    ]
    return ", ".join(told)

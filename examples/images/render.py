"""Renders four pictures on all cores, and shows that one that never ends harms none of them."""

import os
from pathlib import Path

from pictures import app, render, render_for_ever

from mainspring import JobDead

PLACES = {
    "whole": (-0.6, 0.0, 3.0),
    "seahorses": (-0.75, 0.11, 0.05),
    "elephants": (0.28, 0.01, 0.05),
    "needle": (-1.76, 0.0, 0.08),
}


def main() -> None:
    cores = os.cpu_count() or 1
    folder = Path("pictures")
    folder.mkdir(exist_ok=True)
    with app.embedded_sync("sqlite:///pictures.db", queues={"cores": cores}) as client:
        stuck = render_for_ever.submit(seed=1)
        handles = {
            name: render.submit(str(folder / f"{name}.png"), *place)
            for name, place in PLACES.items()
        }
        names = {handle.id: name for name, handle in handles.items()}
        for handle in client.as_completed(handles.values(), timeout="2m"):
            print(f"{names[handle.id]}: {handle.result():,} bytes")
        try:
            stuck.result(timeout="1m")
        except JobDead as error:
            print(f"the one that never ends: {error.error.type if error.error else error.message}")


if __name__ == "__main__":
    main()

"""A caller that is killed: between the insert and the commit, or right after the commit.

``python -m tests.transactions.crash_main WAY URL MOMENT`` writes a line there, then waits.
"""

import sys

from tests.transactions.shop import charge
from tests.transactions.ways import WAYS, prepare_django


def main(kind: str, url: str, moment: str) -> None:
    if kind.startswith("django"):
        prepare_django()
    way = WAYS[kind](url)
    way.open()
    way.begin()
    way.add_order(1)
    way.submit(charge, 1)
    if moment == "after":
        way.commit()
    print("there", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])

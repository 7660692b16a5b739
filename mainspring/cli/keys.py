"""Single keys, typed at a terminal while a command runs; none where nobody sits."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def listening(actions: Mapping[str, Callable[[], None]]) -> Iterator[bool]:
    """Call the action of each key that is typed; True when somebody may type at all."""
    if not can_listen():
        yield False
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def read() -> None:
        typed = os.read(descriptor, 64).decode("utf-8", "replace")
        if not typed:
            loop.remove_reader(descriptor)
        for letter in typed.lower():
            if action := actions.get(letter):
                action()

    # Ctrl-C and Ctrl-Z keep their meaning; only lines and echo are off.
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, read)
    try:
        yield True
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def can_listen() -> bool:
    """Tell whether stdin is a terminal whose foreground this process has."""
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stdout.isatty():
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False

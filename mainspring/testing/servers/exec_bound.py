"""Become a server that does not outlive the thread which started it. A program, not a module.

    python -I -S exec_bound.py DEATH_SIGNAL PARENT_PID UID GID COMMAND [ARGUMENT ...]

UID and GID of -1 mean "stay who you are". A program of its own because both shorter ways are wrong:
a `preexec_fn` runs Python in a forked copy of a process that may have threads, which can hang for
ever, and the kernel forgets the parent-death signal when the uid changes, so it must be asked for
after that.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1
_EXIT_ORPHANED = 125
_EXIT_NOT_EXECUTABLE = 126


def main(arguments: list[str]) -> int:
    """Change identity, tie this process to its parent, replace it; returns only on failure."""
    death_signal, parent_pid, uid, gid = (int(text) for text in arguments[:4])
    command = arguments[4:]
    if uid != -1:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":  # elsewhere the server ends by stop() only
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent_pid:  # it died before the line above could take effect
        return _EXIT_ORPHANED
    try:
        os.execv(command[0], command)  # noqa: S606 - a shell is what we do not want here
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]}: {error}\n")
    return _EXIT_NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

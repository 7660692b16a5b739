"""Sets limits on itself and becomes a program: ``launcher.py MB SECONDS PARENT PATH ARGV...``.

A file of its own that imports nothing of the product: it is run by path, in a bare interpreter, so
that it costs little, and so that no thread of the worker lives between fork and exec.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_FAILED = 126


def main(words: list[str]) -> None:
    """Do what the words say; return only if that failed."""
    memory_mb, cpu_seconds, parent = (int(word) for word in words[:3])
    path, argv = words[3], words[4:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_mb:
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    if cpu_seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    os.execve(path, argv, os.environ)  # noqa: S606 - a list of arguments and no shell, on purpose


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"it cannot be started: {error}\n")
    sys.exit(_FAILED)

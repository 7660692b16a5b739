"""The kind ``command``: a program that the operator allowed, run with limits."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Annotated, Final, Self

import msgspec

from mainspring.app.context import Context
from mainspring.app.declare import App, Job
from mainspring.app.signals import Fail
from mainspring.domain.errors import InvalidInput

KIND: Final = "command"
_LAUNCHER: Final = str(Path(__file__).with_name("launcher.py"))
_ARGUMENTS_MAX: Final = 1_000
_ARGUMENT_CHARACTERS_MAX: Final = 32_768
_VARIABLES_MAX: Final = 200
_OUTPUT_BYTES: Final = 64 * 1024
_OUTPUT_BYTES_MAX: Final = 1024 * 1024
_READ_BYTES: Final = 65_536
#: From SIGTERM to SIGKILL, when the attempt is to stop.
_GRACE_SECONDS: Final = 5.0
_SHOWN_CHARACTERS: Final = 2_000
#: What a program needs of this machine to run at all. Nothing else of the worker's is passed on:
#: its own settings hold addresses and passwords.
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "TZ")
_LAUNCHER_FAILED: Final = 126

Argument = Annotated[str, msgspec.Meta(max_length=_ARGUMENT_CHARACTERS_MAX)]
_Arguments = Annotated[list[Argument], msgspec.Meta(min_length=1, max_length=_ARGUMENTS_MAX)]
_Variables = Annotated[dict[str, str], msgspec.Meta(max_length=_VARIABLES_MAX)]
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=_OUTPUT_BYTES_MAX)]
_Codes = Annotated[list[Annotated[int, msgspec.Meta(ge=0, le=255)]], msgspec.Meta(max_length=256)]
_Megabytes = Annotated[int, msgspec.Meta(ge=16, le=1_048_576)]
_Seconds = Annotated[int, msgspec.Meta(ge=1, le=604_800)]


class UnexpectedExit(Exception):
    """The program ended, and not as was expected."""


class Ran(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the program ended; the result of the job."""

    exit_code: int
    #: The last of what it wrote.
    stdout: str = ""
    stderr: str = ""
    #: There was more before that.
    is_cut: bool = False


def command(app: App, programs: Iterable[str]) -> Job[..., Ran]:
    """Add the kind to an app; only these programs are run."""
    allowed = _Programs(programs)

    @app.job(kind=KIND)
    async def run(  # noqa: PLR0913 - what a program is started with, all by name
        ctx: Context,
        *,
        argv: _Arguments,
        env: _Variables = {},  # noqa: B006 - a default of the schema
        folder: str | None = None,
        stdin: str | None = None,
        expect: _Codes = [],  # noqa: B006 - likewise
        memory_mb: _Megabytes | None = None,
        cpu_seconds: _Seconds | None = None,
        output_bytes: _Bytes = _OUTPUT_BYTES,
    ) -> Ran:
        """Run a program with these arguments, and no shell; exit status 0 is a success."""
        program = allowed.path_of(argv[0])
        with tempfile.TemporaryDirectory(prefix="mainspring-command-") as own:
            place = _folder(folder, own)
            environment = _environment(env, ctx, own)
            limits = (str(memory_mb or 0), str(cpu_seconds or 0))
            words = [*limits, str(os.getpid()), program, *argv]
            out, err = _Tail(output_bytes), _Tail(output_bytes)
            with _input(stdin, own) as given, out, err:
                process = await asyncio.create_subprocess_exec(
                    # The launcher sets the limits in the new process and becomes the program.
                    *(sys.executable, "-I", "-S", _LAUNCHER, *words),
                    cwd=place,
                    env=environment,
                    stdin=given,
                    stdout=out.writing,
                    stderr=err.writing,
                    start_new_session=True,
                )
                ctx.log.info("started", pid=process.pid, program=program)
                code = await _followed(process, out, err)
            ran = Ran(code, out.text(), err.text(), out.is_cut or err.is_cut)
        return _judged(argv[0], ran, expect)

    return run


class _Programs:
    """What may be run: names on this worker's path, and absolute paths."""

    def __init__(self, names: Iterable[str]) -> None:
        self._paths: dict[str, str] = {}
        for name in names:
            path = which(name)
            if path is None or (os.sep in name and not Path(name).is_absolute()):
                raise InvalidInput(
                    f"command: there is no program {name!r} on this machine's path",
                    hint="name one on PATH, or the absolute path of one",
                )
            self._paths[name] = os.path.realpath(path) if os.sep in name else path

    def path_of(self, name: str) -> str:
        path = self._paths.get(name)
        if path is None:
            known = ", ".join(sorted(self._paths))
            raise Fail(f"argv: {name!r} is not among the programs of this worker: {known}")
        return path


def _folder(given: str | None, own: str) -> str:
    if given is None:
        return own
    if "\0" in given or not Path(given).is_absolute() or not Path(given).is_dir():
        raise Fail(f"folder: {given!r} is not the absolute path of a folder on this worker")
    return given


def _environment(given: dict[str, str], ctx: Context, own: str) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"HOME": own, "TMPDIR": own}
    for name, value in given.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise Fail(f"env: {name!r} cannot be the name or its value the value of a variable")
        environment[name] = value
    environment["MAINSPRING_JOB_ID"] = ctx.job_id
    environment["MAINSPRING_ATTEMPT"] = str(ctx.attempt)
    environment["MAINSPRING_IDEMPOTENCY_KEY"] = ctx.idempotency_key
    return environment


@contextmanager
def _input(text: str | None, own: str) -> Iterator[int]:
    """Give the descriptor of what the program reads."""
    if text is None:
        yield asyncio.subprocess.DEVNULL
        return
    file = Path(own, "stdin")
    file.write_text(text, encoding="utf-8")
    with file.open("rb") as reading:
        yield reading.fileno()


async def _followed(process: asyncio.subprocess.Process, out: "_Tail", err: "_Tail") -> int:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(out.read())
            group.create_task(err.read())
            code = await process.wait()
            # What it left behind holds its output open, and would for ever.
            _signal(process, signal.SIGKILL)
    finally:
        await _ended(process)
    return code


async def _ended(process: asyncio.subprocess.Process) -> None:
    """See to it that nothing is left of the program and its children: asked first, then killed."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await asyncio.shield(process.wait())
    _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Tail:
    """The last bytes of a stream; the rest is read and dropped, so that nobody waits for us.

    A pipe of our own: asyncio's would let nobody know of the program's end before its own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = bytearray()
        self._reading, self.writing = os.pipe()
        self._ours = {self._reading, self.writing}
        self.is_cut = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in tuple(self._ours):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        self._ours.discard(descriptor)
        os.close(descriptor)

    async def read(self) -> None:
        self._close(self.writing)
        pipe = os.fdopen(self._reading, "rb", buffering=0)
        self._ours.discard(self._reading)
        stream = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        try:
            while chunk := await stream.read(_READ_BYTES):
                self._bytes += chunk
                if len(self._bytes) > self._most:
                    self.is_cut = True
                    del self._bytes[: len(self._bytes) - self._most]
        finally:
            transport.close()

    def text(self) -> str:
        return self._bytes.decode("utf-8", "replace")


def _judged(name: str, ran: Ran, expect: Sequence[int]) -> Ran:
    is_expected = ran.exit_code in expect if expect else ran.exit_code == 0
    if is_expected:
        return ran
    said = (ran.stderr or ran.stdout).strip()[-_SHOWN_CHARACTERS:]
    ended = _how(ran.exit_code)
    what = f"{name} {ended}" + (f": {said}" if said else "")
    if ran.exit_code == _LAUNCHER_FAILED:
        raise Fail(what)
    raise UnexpectedExit(what)


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"

"""The tour of ``mainspring dev --tour``: one of each example job, with a sentence for each."""

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from mainspring.cli.asking import actor
from mainspring.cli.output import out
from mainspring.cli.text import styled
from mainspring.domain.errors import MainspringError, ResultTimeout
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobView
from mainspring.domain.states import FINAL
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import ClientGateway, Submission
from mainspring.runtime.setting_table import DEV_STORE, Settings

_JOB_SECONDS: Final = 30.0
_ASK_SECONDS: Final = 0.5

Told = Callable[[JobView, asyncio.Event], Awaitable[None]]


class Guide:
    """Submits the example jobs one after the other, and says what one sees."""

    def __init__(
        self,
        gateway: ClientGateway,
        settings: Settings,
        stopping: asyncio.Event,
        *,
        color: bool,
    ) -> None:
        """Speak on stdout, between the lines of the log."""
        self._gateway = gateway
        self._settings = settings
        self._stopping = stopping
        self._color = color
        self._program = program()
        self._flaky = self._doomed = b""

    async def show_around(self, *, told: Told) -> None:
        """Give the tour; ends early when the node is stopping."""
        self._told = told
        for part in (self._greet, self._refuse, self._retry, self._die, self._stop, self._crunch):
            if self._stopping.is_set():
                return
            await part()

    def say_goodbye(self, *, stays: bool) -> None:
        """Say what to type next."""
        self._say(
            "That was the tour." + (" In a second terminal, here:" if stays else " To go on:")
        )
        if not stays:
            out(f"  {self._program} dev")
        for words in (
            "submit greet name=You --wait",
            "submit doomed order:=42 --wait",
            "jobs ls",
            f"jobs get {show_job(self._flaky)}",
            "dlq ls",
            "--help",
        ):
            out(f"  {self._program} {words}")
        if self._settings.store_url != DEV_STORE:
            out(f"  (with --store {self._settings.store_url}, or MAINSPRING_STORE set to it)")
        out("")
        sys.stdout.flush()

    async def _greet(self) -> None:
        self._say("A job is submitted, claimed by the worker, run, and its result kept.")
        await self._run("greet", {"name": "Ada"})

    async def _refuse(self) -> None:
        self._say("Input that the handler's types do not allow is refused; nothing is stored.")
        self._command("add", {"a": 2, "b": "three"})
        try:
            await self._gateway.submit([Submission(kind="add", payload=b'{"a":2,"b":"three"}')])
        except MainspringError as error:
            out(f"error: {error}  [{error.code}]")
        await self._run("add", {"a": 2, "b": 3})

    async def _retry(self) -> None:
        self._say("A failure is retried, each time after a longer pause.")
        self._flaky = await self._run("flaky", {})

    async def _die(self) -> None:
        self._say("When its tries are used up it rests as a dead letter, and can be replayed.")
        self._doomed = await self._run("doomed", {})
        self._show(f"dlq replay {show_job(self._doomed)} works:=true")
        await self._gateway.replay(
            [self._doomed], payload=b'{"order":13,"works":true}', actor=actor()
        )
        await self._until_told(self._doomed)

    async def _stop(self) -> None:
        self._say("A long job shows its progress, and stops when it is cancelled.")
        job_id = await self._submit("slow", {"steps": 100})
        until = monotonic() + _JOB_SECONDS
        job = await self._gateway.get_job(job_id)
        while not job.progress_done and job.state not in FINAL and monotonic() < until:
            job = await self._gateway.wait_for_change(job_id, job, _ASK_SECONDS)
        self._show(f"jobs cancel {show_job(job_id)}")
        await self._gateway.cancel([job_id], reason="the tour goes on", actor=actor())
        await self._until_told(job_id)

    async def _crunch(self) -> None:
        self._say("Heavy work gets a process of its own, which is really killed on timeout.")
        await self._run("crunch", {"n": 300_000})

    async def _run(self, kind: str, payload: Mapping[str, object]) -> bytes:
        job_id = await self._submit(kind, payload)
        await self._until_told(job_id)
        return job_id

    async def _submit(self, kind: str, payload: Mapping[str, object]) -> bytes:
        self._command(kind, payload)
        wanted = Submission(kind=kind, payload=msgspec.json.encode(payload))
        return (await self._gateway.submit([wanted]))[0].job_id

    async def _until_told(self, job_id: bytes) -> None:
        """Wait for the job's end, and until the log has told it."""
        until = monotonic() + _JOB_SECONDS
        job = await self._gateway.get_job(job_id)
        while job.state not in FINAL and not self._stopping.is_set():
            if monotonic() > until:
                raise ResultTimeout(f"the tour's {job.kind} is still {job.state.value}")
            job = await self._gateway.wait_for_change(job_id, job, _ASK_SECONDS)
        await self._told(job, self._stopping)

    def _say(self, text: str) -> None:
        out(f"\n{styled('# ' + text, 'bold', color=self._color)}")
        sys.stdout.flush()

    def _command(self, kind: str, payload: Mapping[str, object]) -> None:
        words = [
            f"{name}={value}" if isinstance(value, str) else f"{name}:={value}"
            for name, value in payload.items()
        ]
        self._show(" ".join(["submit", kind, *words]))

    def _show(self, words: str) -> None:
        out(styled(f"$ {self._program} {words}", "cyan", color=self._color))
        sys.stdout.flush()


def program() -> str:
    """Return what to type for this program: its name where the shell finds it, else its path."""
    if shutil.which("mainspring"):
        return "mainspring"
    beside = Path(sys.executable).parent / "mainspring"
    if beside.exists():
        here = Path.cwd()
        return str(beside.relative_to(here)) if beside.is_relative_to(here) else str(beside)
    return f"{Path(sys.executable).name} -m mainspring"

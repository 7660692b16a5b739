"""``mainspring submit``: one job, from the command line."""

from typing import Annotated

from cyclopts import Group, Parameter

from mainspring.app.durations import milliseconds
from mainspring.cli.asking import open_gateway
from mainspring.cli.options import Given, Options
from mainspring.cli.output import out, show_one, tell
from mainspring.cli.payloads import payload_of
from mainspring.cli.records import job_record
from mainspring.cli.watching import ended_badly, watch
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobView
from mainspring.domain.states import JobState
from mainspring.ports.gateway import Accepted, Submission

_WAIT = Group("Waiting", sort_key=50)
#: A value may begin with a dash, so that ``--delay -5s`` is answered by what is wrong with it.
_Value = Parameter(allow_leading_hyphen=True)


async def submit(  # noqa: PLR0913 - a command's options are its arguments
    kind: str,
    /,
    *payload: Annotated[str, Parameter(name="PAYLOAD", allow_leading_hyphen=False)],
    json: Annotated[str | None, _Value] = None,
    queue: str | None = None,
    priority: Annotated[str | None, _Value] = None,
    delay: Annotated[str | None, _Value] = None,
    at: str | None = None,
    key: str | None = None,
    effect_key: str | None = None,
    max_attempts: int | None = None,
    timeout: Annotated[str | None, _Value] = None,
    wait: Annotated[bool, Parameter(group=_WAIT, negative="")] = False,
    follow: Annotated[bool, Parameter(group=_WAIT, negative="")] = False,
    wait_timeout: Annotated[str | None, Parameter(group=_WAIT, allow_leading_hyphen=True)] = None,
    options: Given,
) -> int:
    """Submit a job, and print its id.

    Parameters
    ----------
    kind
        Which handler is to run.
    payload
        Members of the payload: name=text, or name:=JSON for numbers, lists and the like.
    json
        The whole payload as JSON: TEXT, @FILE, or - for stdin.
    queue
        Another queue than the handler's own.
    priority
        critical, high, normal or low.
    delay
        Not before this long from now: 90s, 15m, 2h, 1d.
    at
        Not before this instant, with its zone: 2027-01-31T09:00:00+01:00.
    key
        A submission key: the same key with the same body names the same job for a day.
    effect_key
        What the handler hands on as its idempotency key; the job's id if not given.
    max_attempts
        How often it may be tried.
    timeout
        How long one attempt may take.
    wait
        Stay until the job ends and print its result; exit 5 when it ends without success.
    follow
        As --wait, and show its log and progress.
    wait_timeout
        As --wait, but leave with exit 7 after this long; the job goes on.
    """
    wanted = Submission(
        kind=kind,
        payload=payload_of(payload, json, bytes_max=options.settings().payload_bytes),
        queue=queue,
        priority=int(priority) if priority is not None and priority.isdecimal() else priority,
        delay_ms=None if delay is None else milliseconds(delay, name="delay"),
        due_at=at,
        max_attempts=max_attempts,
        timeout_ms=None if timeout is None else milliseconds(timeout, name="timeout"),
        key=key,
        effect_key=effect_key,
    )
    patience = None
    if wait_timeout is not None:
        patience = milliseconds(wait_timeout, name="wait-timeout") / 1_000
    stays = wait or follow or patience is not None
    return await _submit(wanted, options, stays=stays, follow=follow, patience=patience)


async def _submit(
    wanted: Submission, options: Options, *, stays: bool, follow: bool, patience: float | None
) -> int:
    async with open_gateway(options) as gateway:
        accepted = (await gateway.submit([wanted]))[0]
        if not stays:
            _show_accepted(options, accepted)
            return 0
        if options.is_for_people:
            out(show_job(accepted.job_id))
        job = await watch(
            gateway,
            accepted.job_id,
            options,
            follow=follow,
            timeout_seconds=patience,
            after_attempt=0 if accepted.created else None,
        )
    show_end(options, job)
    return 0


def _show_accepted(options: Options, accepted: Accepted) -> None:
    name = show_job(accepted.job_id)
    record = {"id": name, "created": accepted.created}
    show_one(options, record, name=name, people=lambda: out(name))


def show_end(options: Options, job: JobView) -> None:
    """Print the result of a job that was awaited, or raise ``JobFailed``."""
    if not options.is_for_people:
        show_one(options, job_record(job), name=show_job(job.id), people=lambda: None)
    elif job.result is not None:
        out(job.result.decode())
    elif job.result_is_away:
        tell(f"its result was not read from the object store: {job.result_ref}")
    if job.state is not JobState.SUCCEEDED:
        raise ended_badly(job)

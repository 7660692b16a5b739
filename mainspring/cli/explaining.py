"""``mainspring jobs explain``: gathers the facts that ``policies.waiting`` judges, and shows it."""

from textwrap import wrap
from typing import Final

from mainspring.cli.fires import Fired, fire_of, fire_record, fire_sentence
from mainspring.cli.options import Options
from mainspring.cli.output import out, show_one
from mainspring.cli.tables import terminal_width
from mainspring.cli.text import printable, state_style, styled
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.states import CLAIMABLE, JobState
from mainspring.policies.waiting import Situation, Why, why
from mainspring.ports.gateway import ClientGateway

#: Jobs of the queue that are looked at to find the place in line.
_LOOK_PAGES: Final = 10

Explained = tuple[JobView, list[Why], Fired | None]


async def explain_job(gateway: ClientGateway, job_id: bytes) -> Explained:
    """Return the job, and why it is where it is."""
    job = await gateway.get_job(job_id)
    workers = await gateway.list_workers()
    queues = {queue.name: queue for queue in await gateway.list_queues()}
    ahead, is_least = 0, False
    if job.state in CLAIMABLE:
        ahead, is_least = await _ahead_of(gateway, job)
    situation = Situation(
        job=job,
        now=await gateway.now(),
        queue=queues.get(job.queue),
        workers=workers,
        ahead=ahead,
        ahead_is_least=is_least,
    )
    return job, why(situation), await fire_of(gateway, job)


async def _ahead_of(gateway: ClientGateway, job: JobView) -> tuple[int, bool]:
    """Count the ready jobs that a claim takes first; True when there are too many to count."""
    wanted = JobFilter(states=frozenset({JobState.READY}), queues=frozenset({job.queue}))
    mine = (job.priority, job.due_at, job.id)
    count, before = 0, None
    for _ in range(_LOOK_PAGES):
        page = await gateway.list_jobs(wanted, limit=PAGE_ITEMS_MAX, before=before)
        count += sum((item.priority, item.due_at, item.id) < mine for item in page.items)
        before = page.next_before
        if before is None:
            return count, False
    return count, True


def show_explanation(options: Options, found: Explained) -> None:
    """Show the decisive cause as a sentence, and what would come after it."""
    job, causes, fired = found
    name = show_job(job.id)
    record = {
        "id": name,
        "kind": job.kind,
        "state": job.state.value,
        "why": [
            {"code": cause.code, "sentence": cause.sentence, "hint": cause.hint} for cause in causes
        ],
        "fire": fire_record(fired, job),
    }
    show_one(options, record, name=causes[0].code, people=lambda: _people(options, found))


def _people(options: Options, found: Explained) -> None:
    job, causes, fired = found
    color = options.colors_data
    kind = styled(printable(job.kind), "bold", color=color)
    state = styled(job.state.value, state_style(job.state.value), color=color)
    out(f"{show_job(job.id)}  {kind}  {state}\n")
    for place, cause in enumerate(causes):
        lead = "It" if place == 0 else "Then it"
        out(f"  {lead} {printable(cause.sentence)}.")
        if cause.hint:
            out(styled(f"  next: {printable(cause.hint)}", "dim", color=color))
    if fired is not None:
        text = f"It is {printable(fire_sentence(fired, job))}."
        for line in wrap(text, terminal_width() - 2):
            out(f"  {line}")
        hint = f"mainspring schedules get {printable(fired.schedule.name)}"
        out(styled(f"  next: {hint}", "dim", color=color))

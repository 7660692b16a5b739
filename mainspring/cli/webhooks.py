"""``mainspring webhooks``: tell other systems what becomes of jobs and schedules."""

from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from cyclopts import App, Parameter

from mainspring.app.durations import milliseconds
from mainspring.cli.asking import actor, confirm, open_gateway
from mainspring.cli.job_tables import job_columns
from mainspring.cli.options import COMMANDS, FLAG, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_one,
    tell,
    tell_dry_run,
)
from mainspring.cli.records import job_record
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import absolute, printable, relative, styled
from mainspring.domain.ids import parse_job
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.webhooks import EndpointState, WebhookView
from mainspring.ports.clock import utc_now
from mainspring.ports.webhooks import Made, WebhookDraft, WebhookEdit
from mainspring.wire.documents.webhooks import webhook_document

app: Final = App(
    name="webhooks",
    help="Tell other systems what becomes of jobs and schedules.",
    group_commands=COMMANDS,
)
_WORDS: Final = Parameter(negative="")
Words = Annotated[tuple[str, ...], _WORDS]


@app.command
async def create(  # noqa: PLR0913 - a command's options are its arguments
    url: str,
    /,
    *,
    event: Words = (),
    job: str | None = None,
    schedule: str | None = None,
    kind: Words = (),
    queue: Words = (),
    description: Annotated[str, VALUE] = "",
    tenant: str | None = None,
    options: Given,
) -> None:
    """Make an endpoint and print its secret, which is never shown again.

    Parameters
    ----------
    url
        Where it listens: https://example.org/hooks.
    event
        What it is told of: job.succeeded, job.failed, job.dead, schedule.misfired; repeatable.
    job
        Only of this job.
    schedule
        Only of this schedule (its id) and its jobs.
    kind
        Only of jobs of this kind; repeatable.
    queue
        Only of jobs in this queue; repeatable.
    description
        What it is for.
    tenant
        Whose jobs it is told of.
    """
    draft = WebhookDraft(
        url=url,
        events=_joined(event),
        description=description,
        job=job,
        schedule=schedule,
        kinds=_joined(kind),
        queues=_joined(queue),
        tenant=tenant,
    )
    async with open_gateway(options) as gateway:
        made = await gateway.webhooks.create(draft, actor=actor())
    _show_made(options, made)


@app.command
async def ls(*, tenant: str | None = None, limit: int = 50, options: Given) -> None:
    """List endpoints, oldest first.

    Parameters
    ----------
    tenant
        Only this one's.
    limit
        How many at most.
    """
    async with open_gateway(options) as gateway:
        found = await gateway.webhooks.list(tenant, limit=min(limit, PAGE_ITEMS_MAX))
    show_list(
        options,
        found,
        columns=_columns(utc_now()),
        record=webhook_record,
        name=lambda hook: hook.webhook_id,
        empty="nobody is told of anything: mainspring webhooks create URL --event job.dead",
    )


@app.command
async def get(webhook: str, /, *, options: Given) -> None:
    """Show one endpoint, without its secret.

    Parameters
    ----------
    webhook
        Its id: whk_….
    """
    async with open_gateway(options) as gateway:
        found = await gateway.webhooks.get(webhook)
    show_one(
        options,
        webhook_record(found),
        name=found.webhook_id,
        people=lambda: _people(options, found),
    )


@app.command
async def edit(  # noqa: PLR0913 - a command's options are its arguments
    webhook: str,
    /,
    *,
    url: str | None = None,
    event: Words = (),
    kind: Words = (),
    queue: Words = (),
    description: Annotated[str | None, VALUE] = None,
    options: Given,
) -> None:
    """Change an endpoint; what is not given stays.

    Parameters
    ----------
    webhook
        Its id: whk_….
    url
        Where it listens from now on.
    event
        What it is told of from now on; repeatable.
    kind
        Only of jobs of this kind; repeatable.
    queue
        Only of jobs in this queue; repeatable.
    description
        What it is for.
    """
    wanted = WebhookEdit(
        url=url,
        events=_joined(event) or None,
        description=description,
        kinds=_joined(kind) or None,
        queues=_joined(queue) or None,
    )
    async with open_gateway(options) as gateway:
        found = await gateway.webhooks.edit(webhook, wanted, actor=actor())
    show_one(
        options,
        webhook_record(found),
        name=found.webhook_id,
        people=lambda: _people(options, found),
    )


@app.command(name="rotate-secret")
async def rotate_secret(
    webhook: str, /, *, keep: Annotated[str, VALUE] = "24h", options: Given
) -> None:
    """Make a new secret and print it; the one before signs as well for a while.

    Parameters
    ----------
    webhook
        Its id: whk_….
    keep
        How long deliveries carry a signature of the old one beside the new.
    """
    seconds = milliseconds(keep, name="keep") // 1_000
    async with open_gateway(options) as gateway:
        made = await gateway.webhooks.rotate(webhook, keep_seconds=seconds, actor=actor())
    _show_made(options, made)


@app.command
async def disable(webhook: str, /, *, reason: Annotated[str, VALUE] = "", options: Given) -> None:
    """Tell an endpoint nothing more; deliveries that wait become dead letters.

    Parameters
    ----------
    webhook
        Its id: whk_….
    reason
        Shown wherever somebody wonders.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        changed = await gateway.webhooks.disable(webhook, reason=reason, actor=actor())
    show_changes(options, [Change(webhook, "disabled", changed)], unchanged="it was already")


@app.command
async def enable(webhook: str, /, *, options: Given) -> None:
    """Tell an endpoint again, of what happens from now on.

    Parameters
    ----------
    webhook
        Its id: whk_….
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        changed = await gateway.webhooks.enable(webhook, actor=actor())
    show_changes(options, [Change(webhook, "active", changed)], unchanged="it was already")


@app.command
async def delete(
    webhook: str,
    /,
    *,
    yes: Annotated[bool, FLAG] = False,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Delete an endpoint and its secret for good.

    Parameters
    ----------
    webhook
        Its id: whk_….
    yes
        Do not ask.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        found = await gateway.webhooks.get(webhook)
        if not dry_run:
            confirm(1, "delete", yes=yes, noun="webhook")
            await gateway.webhooks.delete(found.webhook_id, actor=actor())
    show_changes(options, [Change(webhook, "deleted")])
    if dry_run:
        tell_dry_run()


@app.command
async def deliveries(webhook: str, /, *, limit: int = 50, options: Given) -> None:
    """List what was sent to an endpoint, newest first: jobs, so jobs get shows their attempts.

    Parameters
    ----------
    webhook
        Its id: whk_….
    limit
        How many at most.
    """
    async with open_gateway(options) as gateway:
        page = await gateway.webhooks.deliveries(webhook, limit=min(limit, PAGE_ITEMS_MAX))
    show_list(
        options,
        list(page),
        columns=job_columns(utc_now()),
        record=job_record,
        name=lambda job: job.job_id,
        empty="nothing was sent to it",
    )


@app.command
async def redeliver(job_id: str, /, *, options: Given) -> None:
    """Deliver again under the same webhook-id, so that the receiver can tell.

    Parameters
    ----------
    job_id
        The delivery: job_….
    """
    check_change_columns(options)
    wanted = parse_job(job_id)
    async with open_gateway(options) as gateway:
        job = await gateway.webhooks.redeliver(wanted, actor=actor())
    show_changes(options, [Change(job.job_id, job.state)])


@app.command
async def test(webhook: str, /, *, options: Given) -> None:
    """Have a webhook.test delivered, and print the job that does it.

    Parameters
    ----------
    webhook
        Its id: whk_….
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        job = await gateway.webhooks.send_test(webhook, actor=actor())
    show_changes(options, [Change(job.job_id, job.state)])


# --- showing ----------------------------------------------------------------------------------


def webhook_record(hook: WebhookView) -> dict[str, Any]:
    """Return an endpoint for machines."""
    return msgspec.structs.asdict(webhook_document(hook))


def _joined(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for word in words for part in word.split(",") if part)


def _show_made(options: Options, made: Made) -> None:
    def people() -> None:
        _people(options, made.webhook)
        label = styled(f"{'secret':<13}", "dim", color=options.colors_data)
        out(f"  {label}{made.secret}")
        tell("keep the secret now: it is not shown again")

    record = webhook_record(made.webhook) | {"secret": made.secret}
    show_one(options, record, name=made.webhook.webhook_id, people=people)


def _people(options: Options, hook: WebhookView) -> None:
    color = options.colors_data
    now = utc_now()
    out(f"{styled(hook.webhook_id, 'bold', color=color)}  {_state(hook).text}\n")
    record = webhook_record(hook)
    facts = [("url", hook.wanted.url), ("events", ", ".join(hook.wanted.events))]
    plain = ("description", "tenant", "job", "schedule")
    facts += [(name, str(record[name])) for name in plain if record[name]]
    facts += [(name, ", ".join(record[name])) for name in ("kinds", "queues") if record[name]]
    instants = ("created_at", "last_success_at", "last_failure_at", "failing_since")
    facts += [
        (name.removesuffix("_at").replace("_", " "), _when(record[name], now))
        for name in instants
        if record[name] is not None
    ]
    for label, value in facts:
        out(f"  {styled(f'{label:<13}', 'dim', color=color)}{printable(value)}")


def _when(instant: datetime, now: datetime) -> str:
    return f"{absolute(instant)}  ({relative(instant, now)})"


def _columns(now: datetime) -> list[Column[WebhookView]]:
    return [
        Column("ID", lambda hook: hook.webhook_id),
        Column("STATE", _state),
        Column("EVENTS", lambda hook: ", ".join(hook.wanted.events), shrinks=True),
        Column("LAST SUCCESS", lambda hook: _ago(hook.last_success_at, now)),
        Column("FAILING SINCE", lambda hook: _ago(hook.failing_since, now)),
        Column("URL", lambda hook: hook.wanted.url, shrinks=True),
    ]


def _ago(instant: datetime | None, now: datetime) -> str:
    return "-" if instant is None else relative(instant, now)


def _state(hook: WebhookView) -> Cell:
    if hook.state is EndpointState.ACTIVE:
        return Cell("active", "green")
    return Cell(f"disabled: {printable(hook.reason)}" if hook.reason else "disabled", "yellow")

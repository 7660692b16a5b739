"""The doctor's checks of a server: is it there, whom does it take us for, and who does the work."""

from mainspring import __version__
from mainspring.cli.checkup import (
    LATENCY_MS_MAX,
    Finding,
    StoreFacts,
    ask_clock,
    ask_waiting_kinds,
    judge_served,
)
from mainspring.cli.text import span
from mainspring.domain.errors import Forbidden, MainspringError
from mainspring.ports.store import Diagnosis, SchemaStatus
from mainspring.remote.desk import RemoteDesk
from mainspring.runtime.assemble import open_remote_desk
from mainspring.runtime.setting_table import Settings
from mainspring.wire.documents.server import ServerDocument


async def examine_server(settings: Settings) -> list[Finding]:
    """Return what there is to say of the server at the store's address, and of the key."""
    try:
        desk = open_remote_desk(settings)
    except MainspringError as error:
        return [Finding("server", "fail", error.message, error.hint)]
    try:
        about = await desk.about()
        facts = await _ask(desk)
    except Forbidden as error:
        return [Finding("key", "fail", error.message, error.hint)]
    except MainspringError as error:
        return [Finding("server", "fail", error.message, error.hint)]
    finally:
        await desk.close()
    return [
        _server(about, facts, settings.store_url),
        _key(about, is_in_the_open=desk.is_in_the_open),
        *judge_served(facts),
    ]


async def _ask(desk: RemoteDesk) -> StoreFacts:
    latency_ms, skew, now = await ask_clock(desk)
    return StoreFacts(
        schema=SchemaStatus((), (), (), too_new=False),
        diagnosis=Diagnosis(product="a server"),
        latency_ms=latency_ms,
        skew=skew,
        now=now,
        queues=await desk.list_queues(),
        workers=await desk.list_workers(),
        waiting_kinds=await ask_waiting_kinds(desk),
    )


def _server(about: ServerDocument, facts: StoreFacts, address: str) -> Finding:
    answered = f"Mainspring {about.version} at {address} answers in {span(facts.latency_ms)}"
    if about.version != __version__:
        hint = f"this is {__version__}: use the same version here when something is missing"
        return Finding("server", "warn", answered, hint)
    if facts.latency_ms > LATENCY_MS_MAX:
        return Finding("server", "warn", answered, "move closer to it: every command waits for it")
    return Finding("server", "ok", answered)


def _key(about: ServerDocument, *, is_in_the_open: bool) -> Finding:
    whose = "every tenant" if about.tenant is None else f"the tenant {about.tenant}"
    known = f"{about.principal}, for {whose}, with {len(about.rights)} rights"
    if is_in_the_open:
        return Finding("key", "warn", f"{known}; it travels in the open", "use https://")
    return Finding("key", "ok", known)

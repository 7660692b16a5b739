"""The client's door to the endpoints of webhooks."""

import ipaddress
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Protocol

import msgspec

from mainspring.domain.errors import (
    Changed,
    Conflict,
    InvalidInput,
    LimitReached,
    NotFound,
)
from mainspring.domain.ids import JOB, SCHEDULE, WEBHOOK, parse, show, show_job
from mainspring.domain.job import DEFAULT_TENANT, JobView, Page
from mainspring.domain.limits import (
    KIND_CHARACTERS_MAX,
    PAGE_ITEMS_MAX,
    QUEUE_CHARACTERS_MAX,
    TENANT_CHARACTERS_MAX,
    WEBHOOKS_MAX,
)
from mainspring.domain.names import check_name, check_note, check_range
from mainspring.domain.states import FINAL, JobState
from mainspring.domain.webhooks import (
    KIND,
    QUEUE,
    EndpointState,
    Event,
    Message,
    NewWebhook,
    Recipient,
    Secret,
    Wanted,
    WebhookView,
    check_url,
    events_of,
    filter_of,
)
from mainspring.kinds.egress import Reach
from mainspring.kinds.signing import SECRET_BYTES, secret_of
from mainspring.kinds.urls import Refused, checked_url
from mainspring.policies.notices import delivery
from mainspring.ports.store import ControlStore, QueryStore, SubmissionStore, Wakeups
from mainspring.ports.webhooks import (
    Made,
    WebhookChange,
    WebhookDraft,
    WebhookEdit,
    WebhookStore,
)
from mainspring.registry import finding, repeating
from mainspring.registry.walls import refuse_other
from mainspring.wire.settling import settled

_HINT: Final = "list the endpoints to see whether it was made"
_KEEP_SECONDS_MAX: Final = 30 * 86_400
#: Others change it at the same moment: so often it is tried anew.
_ROUNDS: Final = 5
_TOPIC: Final = "webhooks"
list_ = list


class EndpointStore(WebhookStore, SubmissionStore, QueryStore, ControlStore, Protocol):
    """The part of a store that this desk needs."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...


class WebhookDesk:
    """A ``WebhookGateway`` on a store."""

    def __init__(
        self,
        store: EndpointStore,
        *,
        new_id: Callable[[], bytes],
        random_bytes: Callable[[int], bytes],
        reachable: Sequence[str] = (),
        only: str | None = None,
    ) -> None:
        """Make secrets of ``random_bytes``; what is not public is refused unless ``reachable``.

        With ``only`` it serves this tenant, and knows no other.
        """
        self._only = only
        self._store = store
        self._new_id = new_id
        self._random_bytes = random_bytes
        self._reach = Reach(reachable)

    # --- making and changing ------------------------------------------------------------------

    async def create(self, draft: WebhookDraft, *, key: str | None = None, actor: str) -> Made:
        """Check it, then make it."""
        tenant = self._home(draft.tenant)
        named: bytes | None = None
        if key is not None:
            named, made = await self._under(key, draft, tenant)
            if made is not None:
                return made
        secret = secret_of(self._random_bytes(SECRET_BYTES))
        new = NewWebhook(
            id=named or self._new_id(),
            tenant=tenant,
            wanted=self._wanted(draft),
            secrets=(Secret(secret),),
        )

        async def ask() -> bool:
            return await self._store.create_webhook(new, most=WEBHOOKS_MAX, actor=actor)

        if not await settled(ask, ask, hint=_HINT):
            raise LimitReached(
                f"the tenant {new.tenant} has {WEBHOOKS_MAX:,} endpoints, which is as many as fit",
                hint="delete some; one endpoint may listen to several events",
            )
        self._store.wakeups.announce({_TOPIC})
        return Made(await self._view(new.id), secret)

    async def _under(self, key: str, draft: WebhookDraft, tenant: str) -> tuple[bytes, Made | None]:
        """Return the id that a key names, and what it named already if there is such."""
        body = msgspec.msgpack.encode(msgspec.structs.replace(draft, tenant=tenant))
        now = await self._store.now()
        named = repeating.id_of(now, f"webhooks of {tenant}", key, body)
        after = repeating.first_id(now - repeating.DAY)
        while True:
            page = await self._store.list_webhooks(tenant, limit=PAGE_ITEMS_MAX, after=after)
            for view in page:
                if repeating.is_same(view.id, named, key):
                    return named, await self._made_before(view)
            if len(page) < PAGE_ITEMS_MAX:
                return named, None
            after = page[-1].id

    async def _made_before(self, view: WebhookView) -> Made:
        """Return an endpoint as it was made, with its first secret, while it is as it was."""
        found = await self._recipient(view.webhook_id, view.tenant)
        if found.view.version != 1:
            raise Conflict(
                f"{view.webhook_id} was made under this key, and changed since",
                hint="rotate its secret to be shown one",
            )
        return Made(found.view, found.secrets[0].value)

    async def get(self, webhook: str, *, tenant: str | None = None) -> WebhookView:
        """Return an endpoint."""
        return (await self._recipient(webhook, tenant)).view

    async def list(
        self, tenant: str | None = None, *, limit: int = PAGE_ITEMS_MAX, after: bytes | None = None
    ) -> list_[WebhookView]:
        """Return endpoints by id, oldest first."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        wanted = self._only if tenant is None else self._meant(tenant)
        return await self._store.list_webhooks(wanted, limit=limit, after=after)

    async def edit(
        self,
        webhook: str,
        wanted: WebhookEdit,
        *,
        version: int | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> WebhookView:
        """Change what is given."""

        def change(found: Recipient) -> WebhookChange | None:
            view = found.view
            edited = self._edited(view.wanted, wanted)
            # What is so already may be this very change, whose answer was lost.
            if edited == view.wanted:
                return None
            _check_version(view, version)
            detail = msgspec.json.encode({"changed": _changed(view.wanted, edited)}).decode()
            return WebhookChange(wanted=edited, action="webhook.edit", detail=detail)

        await self._change(webhook, tenant, change, actor)
        return await self.get(webhook, tenant=tenant)

    async def rotate(
        self,
        webhook: str,
        *,
        keep_seconds: int = 86_400,
        version: int | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> Made:
        """Make a new secret; the one before signs as well for a while."""
        check_range("keep_seconds", keep_seconds, 0, _KEEP_SECONDS_MAX)
        until = await self._store.now() + timedelta(seconds=keep_seconds)
        secret = secret_of(self._random_bytes(SECRET_BYTES))

        def change(found: Recipient) -> WebhookChange:
            _check_version(found.view, version)
            old = () if not keep_seconds else (Secret(found.secrets[0].value, until),)
            return WebhookChange(secrets=(Secret(secret), *old), action="webhook.rotate_secret")

        await self._change(webhook, tenant, change, actor)
        return Made(await self.get(webhook, tenant=tenant), secret)

    async def disable(
        self, webhook: str, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> bool:
        """Tell it nothing more."""
        check_note("reason", reason)
        detail = msgspec.json.encode({"reason": reason}).decode()

        def change(found: Recipient) -> WebhookChange | None:
            if found.view.state is EndpointState.DISABLED:
                return None
            return WebhookChange(
                state=EndpointState.DISABLED,
                reason=reason,
                action="webhook.disable",
                detail=detail,
            )

        return await self._change(webhook, tenant, change, actor)

    async def enable(self, webhook: str, *, tenant: str | None = None, actor: str) -> bool:
        """Tell it again."""

        def change(found: Recipient) -> WebhookChange | None:
            if found.view.state is EndpointState.ACTIVE:
                return None
            return WebhookChange(state=EndpointState.ACTIVE, action="webhook.enable")

        changed = await self._change(webhook, tenant, change, actor)
        self._store.wakeups.announce({_TOPIC})
        return changed

    async def delete(self, webhook: str, *, tenant: str | None = None, actor: str) -> bool:
        """Delete it for good."""
        found = await self.get(webhook, tenant=tenant)
        return await self._store.delete_webhook(found.id, actor=actor)

    # --- deliveries ---------------------------------------------------------------------------

    async def deliveries(
        self,
        webhook: str,
        *,
        limit: int = 50,
        before: bytes | None = None,
        tenant: str | None = None,
    ) -> Page:
        """Return its delivery jobs, newest first."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        found = await self.get(webhook, tenant=tenant)
        query = f"kind:{KIND} tenant:{found.tenant} args.endpoint:{found.webhook_id}"
        return await finding.find(self._store, query, limit=limit, before=before)

    async def redeliver(self, job_id: bytes, *, tenant: str | None = None, actor: str) -> JobView:
        """Deliver again under the same ``webhook-id``."""
        job = await self._store.get_job(job_id)
        if job is None or job.kind != KIND or not self._is_met(job.tenant, tenant):
            raise NotFound(f"there is no delivery {show_job(job_id)}")
        if job.state not in FINAL:
            raise Conflict(
                f"{show_job(job_id)} is {job.state}: it is delivered without being asked",
                hint="mainspring jobs run-now makes a waiting one due at once",
            )
        message = msgspec.json.decode(job.payload, type=Message)
        # Says why where the endpoint is gone.
        await self.get(message.endpoint, tenant=job.tenant)
        if job.state is JobState.DEAD:
            await self._store.replay([job_id], payload=None, actor=actor)
            return await self._told(job_id)
        if message.at is None:
            message = msgspec.structs.replace(message, at=job.created_at)
        return await self._deliver(message, job.tenant, job.effect_key or show_job(job_id))

    async def send_test(self, webhook: str, *, tenant: str | None = None, actor: str) -> JobView:
        """Have a test delivered."""
        found = await self.get(webhook, tenant=tenant)
        message = Message(
            endpoint=found.webhook_id, event=Event.TEST, info={"asked_by": str(actor)}
        )
        return await self._deliver(message, found.tenant, None)

    async def _deliver(self, message: Message, tenant: str, effect_key: str | None) -> JobView:
        job_id = self._new_id()
        key = effect_key or f"{show_job(job_id)}_test"
        job = delivery(message, job_id=job_id, tenant=tenant, effect_key=key)

        async def ask() -> object:
            return await self._store.submit([job])

        async def again() -> object:
            return await self._store.submit([job], repeated=True)

        await settled(ask, again, hint="ask for the deliveries to see whether it was made")
        return await self._told(job_id)

    async def _told(self, job_id: bytes) -> JobView:
        self._store.wakeups.announce({_TOPIC, f"queue:{QUEUE}"})
        found = await self._store.get_job(job_id)
        assert found is not None
        return found

    # --- finding ------------------------------------------------------------------------------

    async def _recipient(self, webhook: str, tenant: str | None) -> Recipient:
        found = await self._store.get_recipient(parse(WEBHOOK, webhook))
        if found is None or not self._is_met(found.view.tenant, tenant):
            raise NotFound(f"there is no webhook {webhook}", details={"webhook": webhook})
        return found

    def _is_met(self, tenant: str, wanted: str | None) -> bool:
        """Say whether something of a tenant is there for who asks."""
        return wanted in (None, tenant) and self._only in (None, tenant)

    def _home(self, tenant: str | None) -> str:
        """Return whose an endpoint is to be: as named, else the one of who asks."""
        if tenant is None:
            return self._only or DEFAULT_TENANT
        return self._meant(check_name("tenant", tenant, TENANT_CHARACTERS_MAX))

    def _meant(self, tenant: str) -> str:
        """Return the tenant that is meant, unless it is none of who asks."""
        if self._only is None:
            return tenant
        refuse_other(self._only, tenant)
        return self._only

    async def _view(self, webhook_id: bytes) -> WebhookView:
        return await self.get(show(WEBHOOK, webhook_id))

    async def _change(
        self,
        webhook: str,
        tenant: str | None,
        make: Callable[[Recipient], WebhookChange | None],
        actor: str,
    ) -> bool:
        """Change it as it is now; begin anew when somebody else does so at the same moment."""
        for _ in range(_ROUNDS):
            found = await self._recipient(webhook, tenant)
            change = make(found)
            if change is None:
                return False
            view = found.view
            if await self._store.change_webhook(view.id, change, version=view.version, actor=actor):
                return True
        raise Changed(f"others change {webhook} all the time", hint="try again")

    # --- checking -----------------------------------------------------------------------------

    def _wanted(self, draft: WebhookDraft) -> Wanted:
        return Wanted(
            url=self._url(draft.url),
            events=events_of(draft.events),
            description=check_note("description", draft.description),
            job_id=None if draft.job is None else parse(JOB, draft.job.partition(":")[0]),
            schedule_id=None if draft.schedule is None else parse(SCHEDULE, draft.schedule),
            kinds=filter_of("kinds", draft.kinds, KIND_CHARACTERS_MAX),
            queues=filter_of("queues", draft.queues, QUEUE_CHARACTERS_MAX),
        )

    def _edited(self, now: Wanted, edit: WebhookEdit) -> Wanted:
        fields: dict[str, object] = {}
        if edit.url is not None:
            fields["url"] = self._url(edit.url)
        if edit.events is not None:
            fields["events"] = events_of(edit.events)
        if edit.description is not None:
            fields["description"] = check_note("description", edit.description)
        if edit.kinds is not None:
            fields["kinds"] = filter_of("kinds", edit.kinds, KIND_CHARACTERS_MAX)
        if edit.queues is not None:
            fields["queues"] = filter_of("queues", edit.queues, QUEUE_CHARACTERS_MAX)
        return msgspec.structs.replace(now, **fields)

    def _url(self, text: str) -> str:
        """Return an address that may be called, as far as that can be said without asking."""
        try:
            host = checked_url(check_url(text)).hostname or ""
        except Refused as error:
            raise InvalidInput(str(error), hint="write https://example.org/path") from None
        refused = self._reach.refuses(host, _addresses(host))
        if refused is not None:
            raise InvalidInput(
                f"url: {host} is not in the public internet",
                hint="the operator may allow it: webhook_reach, MAINSPRING_WEBHOOK_REACH",
            )
        return text


def _addresses(host: str) -> list_[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the addresses that a host names by itself; names are looked up at each delivery."""
    if host.lower().rstrip(".").rpartition(".")[2] == "localhost":
        return [ipaddress.ip_address("127.0.0.1")]
    try:
        return [ipaddress.ip_address(host)]
    except ValueError:
        return []


def _check_version(view: WebhookView, version: int | None) -> None:
    if version is not None and version != view.version:
        raise Changed(
            f"{view.webhook_id} has version {view.version} by now, not {version}",
            hint="look at it again, and repeat what is still wanted",
        )


def _changed(before: Wanted, after: Wanted) -> dict[str, object]:
    """Return what was before, for the audit; of an address only that it was another one."""
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return {name: "" if name == "url" else old.get(name) for name in names}

"""Who did what: every change leaves its line, ``AuditStore`` finds it, and age takes it away."""

import json
from datetime import timedelta
from typing import Any

from mainspring.agenda.changes import remove, skip_next
from mainspring.agenda.judge import resume
from mainspring.domain.access import Actor
from mainspring.domain.ids import BACKFILL, SCHEDULE, WORKER, show, show_job
from mainspring.domain.limits import AUDIT_BYTES_MAX
from mainspring.domain.schedule import ScheduleState
from mainspring.domain.trail import AuditEntry, AuditFilter
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import CalendarChange
from mainspring.ports.store import Store
from mainspring.testing.builders import new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_backfills import new_backfill
from mainspring.testing.conformance.schedules_named import editing, pausing
from mainspring.testing.conformance.schedules_steps import (
    creating,
    make_schedule,
    ruling,
    seconds,
    spec,
)
from mainspring.testing.conformance.steps import (
    Suite,
    make_dead,
    open_worker,
    start,
    submit_one,
)

ADA = Actor("ada", "10.0.0.7")
#: A month's partition may outlive its oldest line by a month.
_SLACK_DAYS = 32


async def _lines(store: Store, **wanted: Any) -> list[AuditEntry]:
    """Return entries, oldest first."""
    return list(reversed(await store.list_audit(AuditFilter(**wanted), limit=100)))


async def _line(store: Store, **wanted: Any) -> AuditEntry:
    """Return the newest entry."""
    return (await _lines(store, **wanted))[-1]


def _told(entry: AuditEntry) -> tuple[Any, Any, Any]:
    """Return detail, before and after."""
    texts = (entry.detail, entry.before, entry.after)
    detail, before, after = (None if text is None else json.loads(text) for text in texts)
    return detail, before, after


class AuditOfJobsSuite(Suite):
    """Jobs, queues and workers."""

    async def test_a_cancel(self, store: Store, clock: SettableClock) -> None:
        running = await start(store)
        waiting = await submit_one(store, tenant="acme")
        await store.cancel([waiting, running.job_id], reason="wrong", force=False, actor=ADA)
        entry = await _line(store, subject=show_job(waiting))
        assert (entry.at, entry.actor, entry.source) == (clock.now(), "ada", "10.0.0.7")
        assert (entry.action, entry.tenant) == ("job.cancel", "acme")
        detail = {"reason": "wrong", "force": False}
        assert _told(entry) == (detail, {"state": "ready"}, {"state": "cancelled"})
        entry = await _line(store, subject=show_job(running.job_id))
        assert _told(entry) == (detail, {"state": "running"}, {"state": "cancelling"})
        # What changes nothing leaves nothing.
        await store.cancel([waiting, running.job_id], reason="", force=False, actor=ADA)
        assert len(await _lines(store, action="job.cancel")) == 2

    async def test_a_job_that_is_run_now(self, store: Store, clock: SettableClock) -> None:
        due_at = clock.now() + timedelta(hours=1)
        job_id = await submit_one(store, tenant="acme", due_at=due_at)
        await store.run_now([job_id], actor=ADA)
        entry = await _line(store, action="job.run_now")
        assert (entry.subject, entry.tenant) == (show_job(job_id), "acme")
        _, before, after = _told(entry)
        assert (before["state"], after) == ("scheduled", {"state": "ready"})
        assert before["due_at"] == due_at.isoformat().replace("+00:00", "Z")

    async def test_a_replay_keeps_the_payload_that_it_replaces(self, store: Store) -> None:
        kept, replaced = await make_dead(store), await make_dead(store, payload=b'{"to":"eve"}')
        await store.replay([kept.job_id], payload=None, actor=ADA)
        _, before, after = _told(await _line(store))
        assert (before["state"], after) == ("dead", {"state": "ready"})
        assert (before["tries"], "payload" in before) == (1, False)
        await store.replay([replaced.job_id], payload=b'{"to":"bob"}', actor=ADA)
        entry = await _line(store)
        assert (entry.action, entry.subject) == ("job.replay", show_job(replaced.job_id))
        assert _told(entry)[1]["payload"] == {"to": "eve"}

    async def test_a_purge(self, store: Store) -> None:
        dead = await make_dead(store, tenant="acme")
        await store.purge([dead.job_id], actor=ADA)
        entry = await _line(store, action="job.purge")
        assert (entry.subject, entry.tenant) == (show_job(dead.job_id), "acme")
        _, before, after = _told(entry)
        assert (before["state"], before["kind"], after) == ("dead", dead.kind, None)

    async def test_a_queue_that_is_paused_and_resumed(self, store: Store) -> None:
        await store.pause_queue("mail", reason="repair", actor=ADA)
        await store.resume_queue("mail", actor=Actor("bob", "10.0.0.8"))
        paused, resumed = await _lines(store, subject="mail")
        assert (paused.action, resumed.action) == ("queue.pause", "queue.resume")
        assert (paused.tenant, resumed.source) == (None, "10.0.0.8")
        assert _told(paused)[1:] == ({"is_paused": False}, {"is_paused": True, "reason": "repair"})
        _, before, after = _told(resumed)
        assert (before["paused_reason"], before["paused_by"]) == ("repair", "ada")
        assert after == {"is_paused": False}

    async def test_a_worker_that_is_asked_to_drain_is_told_once(self, store: Store) -> None:
        worker = await open_worker(store, name="w1")
        for _ in range(2):
            assert await store.ask_drain(worker, actor=ADA)
        (entry,) = await _lines(store, action="worker")
        assert (entry.action, entry.subject) == ("worker.drain", show(WORKER, worker))
        assert _told(entry) == (
            {"name": "w1"},
            {"state": "alive"},
            {"state": "alive", "drain_asked": True},
        )

    async def test_an_actor_without_a_source(self, store: Store) -> None:
        job = await submit_one(store)
        await store.cancel([job], reason="", force=False, actor="ada\0\ud800")
        entry = await _line(store)
        assert (entry.actor, entry.source) == ("ada\N{REPLACEMENT CHARACTER}?", "")

    async def test_what_is_too_long_to_keep_is_recognised_by_its_hash(self, store: Store) -> None:
        long = b'{"x":"' + b"a" * AUDIT_BYTES_MAX + b'"}'
        dead = await make_dead(store, payload=long)
        await store.replay([dead.job_id], payload=b"{}", actor=ADA)
        _, before, _ = _told(await _line(store))
        assert before["bytes"] > AUDIT_BYTES_MAX
        assert len(before["sha256"]) == 64


class AuditOfSchedulesSuite(Suite):
    """Schedules, calendars and backfills."""

    async def test_a_schedule_from_its_beginning_to_its_end(
        self, store: Store, clock: SettableClock
    ) -> None:
        first, second = spec("0 * * * *"), spec("30 * * * *")
        schedule = await make_schedule(store, creating, spec=first, tenant="acme")
        for judge in (
            editing(second),
            pausing,
            lambda standing: resume(standing, new_job_id),
            lambda standing: skip_next(standing, new_job_id, 2),
            lambda standing: remove(standing, new_job_id),
        ):
            clock.advance(1)
            await store.judge_named([schedule], judge, actor=ADA)
        lines = await _lines(store, subject=show(SCHEDULE, schedule))
        assert [entry.action.removeprefix("schedule.") for entry in lines] == [
            "create", "edited", "pause", "resume", "skip_next", "remove",
        ]  # fmt: skip
        assert {entry.tenant for entry in lines} == {"acme"}
        assert {entry.source for entry in lines[1:]} == {"10.0.0.7"}
        created, edited, paused, resumed, skipped, removed = map(_told, lines)
        assert created[0] == {"name": "hourly"}
        assert created[1] is None
        assert (created[2]["version"], created[2]["spec"]) == (1, json.loads(first))
        assert (edited[1]["version"], edited[1]["spec"]) == (1, json.loads(first))
        assert (edited[2]["version"], edited[2]["spec"]) == (2, json.loads(second))
        assert (paused[1]["state"], paused[2]["state"]) == ("active", "paused")
        assert paused[2]["reason"] == "repair"
        assert (resumed[1]["state"], resumed[2]["state"]) == ("paused", "active")
        assert (skipped[1]["skip_next"], skipped[2]["skip_next"]) == (0, 2)
        assert (removed[1]["spec"], removed[2]["state"]) == (json.loads(second), "deleted")

    async def test_what_the_scheduler_does_by_itself_is_not_told(
        self, store: Store, clock: SettableClock
    ) -> None:
        await make_schedule(store, creating)
        await store.judge_due(ruling(state=ScheduleState.ACTIVE), zones=999_999, limit=10)
        assert [entry.action for entry in await _lines(store)] == ["schedule.create"]

    async def test_a_calendar(self, store: Store) -> None:
        for definition in (b'{"entries":["a"]}', b'{"entries":["b"]}', b'{"entries":["b"]}', None):
            change = CalendarChange(tenant="acme", name="holidays", definition=definition)
            await store.judge_named([], ruling(), actor=ADA, calendar=change)
        lines = await _lines(store, subject="holidays", tenant="acme")
        assert [entry.action for entry in lines] == [
            "calendar.write",
            "calendar.write",
            "calendar.remove",
        ]
        one, other = {"definition": {"entries": ["a"]}}, {"definition": {"entries": ["b"]}}
        assert [_told(entry)[1:] for entry in lines] == [(None, one), (one, other), (other, None)]

    async def test_a_backfill(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store, tenant="acme")
        begin = seconds(clock.now()) // 3_600 * 3_600
        new = new_backfill(schedule, begin - 3_600, begin)
        await store.create_backfill(new, actor=ADA)
        await store.create_backfill(new, actor=ADA)
        assert await store.cancel_backfill(new.id, actor=ADA)
        created, cancelled = await _lines(store, action="backfill")
        assert (created.subject, created.tenant) == (show(SCHEDULE, schedule), "acme")
        detail, before, after = _told(created)
        assert (detail, before) == ({"backfill": show(BACKFILL, new.id)}, None)
        assert (after["fires"], after["from_ms"]) == (2, (begin - 3_600) * 1_000)
        assert (cancelled.action, cancelled.tenant) == ("backfill.cancel", "acme")
        assert _told(cancelled)[1:] == ({"state": "active"}, {"state": "cancelled"})


class AuditListSuite(Suite):
    """Entries are found by what they say, page by page, and dropped by age."""

    async def test_every_member_finds_its_own(self, store: Store, clock: SettableClock) -> None:
        begin = clock.now()
        job = await submit_one(store, tenant="acme")
        await store.pause_queue("mail", reason="", actor="ada")
        await store.resume_queue("mail", actor="bob")
        clock.advance(60)
        await store.cancel([job], reason="", force=False, actor="bob")

        async def found(**wanted: Any) -> list[str]:
            return [entry.action for entry in await _lines(store, **wanted)]

        assert await found() == ["queue.pause", "queue.resume", "job.cancel"]
        assert await found(subject="mail") == ["queue.pause", "queue.resume"]
        assert await found(actor="bob") == ["queue.resume", "job.cancel"]
        assert await found(action="queue") == ["queue.pause", "queue.resume"]
        assert await found(action="queue.pause") == ["queue.pause"]
        assert await found(action="que") == []
        assert await found(action="%") == []
        assert await found(tenant="acme") == ["job.cancel"]
        assert await found(from_at=clock.now()) == ["job.cancel"]
        assert await found(until_at=clock.now()) == ["queue.pause", "queue.resume"]
        assert await found(from_at=begin, until_at=begin) == []
        assert await found(actor="bob", tenant="acme", subject=show_job(job)) == ["job.cancel"]

    async def test_pages_go_back_without_a_gap(self, store: Store, clock: SettableClock) -> None:
        # Many lines of one instant, from one change and from several.
        ids = [job.id for job in (new_job() for _ in range(7))]
        await store.submit([new_job(id=job_id) for job_id in ids])
        await store.cancel(ids, reason="", force=False, actor="ada")
        for _ in range(3):
            await store.pause_queue("mail", reason="", actor="ada")
            await store.resume_queue("mail", actor="ada")
        clock.advance(1)
        await store.pause_queue("mail", reason="", actor="ada")
        whole = await store.list_audit(AuditFilter(), limit=100)
        assert len({entry.place for entry in whole}) == len(whole) == 14
        assert [entry.action for entry in whole[:3]] == [
            "queue.pause",
            "queue.resume",
            "queue.pause",
        ]
        pages: list[AuditEntry] = []
        before = None
        while page := await store.list_audit(AuditFilter(), limit=3, before=before):
            pages += page
            before = page[-1].place
        assert pages == whole

    async def test_age_takes_entries_away_and_nothing_else(
        self, store: Store, clock: SettableClock
    ) -> None:
        for month in range(6):
            if month % 2:
                await store.prepare_partitions(2)
            await store.pause_queue(f"q{month}", reason="", actor="ada")
            clock.advance(timedelta(days=_SLACK_DAYS))
        step = await store.retain_audit(3 * _SLACK_DAYS, limit=1)
        assert step.dropped
        while step.dropped:
            step = await store.retain_audit(3 * _SLACK_DAYS, limit=1)
        assert not step.is_partial
        left = [entry.subject for entry in await _lines(store)]
        assert left[-3:] == ["q3", "q4", "q5"]
        assert "q0" not in left
        assert (await store.retain_audit(3 * _SLACK_DAYS, limit=1)).dropped == []
        assert len(await store.list_queues()) == 6

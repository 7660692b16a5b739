"""Seats: one for each process of a worker, given up when nobody uses them any more."""

from typing import Any, cast

from mainspring.domain.access import EVERYBODY, Principal
from mainspring.ports.gateway import WorkerGateway
from mainspring.server.grpc.backroom import Backroom, Seats


class Gateway:
    def __init__(self) -> None:
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class Room:
    def __init__(self) -> None:
        self.made: list[tuple[str | None, bytes]] = []

    def worker_gateway(self, tenant: str | None, worker_id: bytes) -> WorkerGateway:
        self.made.append((tenant, worker_id))
        return cast("WorkerGateway", Gateway())


def seats_at(seconds: list[float]) -> tuple[Seats, Room]:
    room = Room()
    return Seats(cast("Backroom", room), lambda: seconds[0]), room


async def test_each_process_of_each_tenant_has_its_own() -> None:
    seats, room = seats_at([0.0])
    acme = Principal(name="a", rights=EVERYBODY.rights, tenant="acme")
    found = {
        id(seats.seat(principal, worker, child))
        for principal in (EVERYBODY, acme)
        for worker in (b"1", b"2")
        for child in (0, 1)
    }
    assert len(found) == len(room.made) == 8
    assert seats.seat(acme, b"1", 1) is seats.seat(acme, b"1", 1)
    assert len(room.made) == 8


async def test_who_leaves_gives_up_all_seats() -> None:
    seats, _ = seats_at([0.0])
    mine: Any = seats.seat(EVERYBODY, b"1", 3)
    other: Any = seats.seat(EVERYBODY, b"2", 3)
    await seats.leave(EVERYBODY, b"1")
    assert (mine.is_closed, other.is_closed) == (True, False)
    again: Any = seats.seat(EVERYBODY, b"1", 3)
    assert again is not mine


async def test_a_seat_that_nobody_uses_is_given_up() -> None:
    seconds = [0.0]
    seats, _ = seats_at(seconds)
    idle: Any = seats.seat(EVERYBODY, b"1")
    busy: Any = seats.seat(EVERYBODY, b"2")
    seconds[0] = 60.0
    again: Any = seats.seat(EVERYBODY, b"2")
    assert again is busy
    await seats.trim()
    assert not idle.is_closed
    seconds[0] = 100.0
    await seats.trim()
    assert (idle.is_closed, busy.is_closed) == (True, False)

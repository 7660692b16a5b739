"""Dice and new ids: the only room that rolls."""

import os
import random
import struct

import uuid_utils

from mainspring.domain.ids import JobId, WorkerId


def new_job_id() -> JobId:
    """Return a new time-ordered id."""
    return JobId(uuid_utils.uuid7().bytes)


def new_worker_id() -> WorkerId:
    """Return a new time-ordered id."""
    return WorkerId(uuid_utils.uuid7().bytes)


def roll() -> float:
    """Return a uniform number in [0, 1): for jitter only, never for secrets."""
    return random.random()


def random_bytes(count: int) -> bytes:
    """Return bytes that nobody can guess."""
    return os.urandom(count)


def seeded(seed: int) -> random.Random:
    """Return dice that repeat: for tests and simulations."""
    return random.Random(seed)


def random_seed() -> int:
    """Return a fresh seed, to be printed so that a failure can be repeated."""
    return int(struct.unpack("<I", os.urandom(4))[0])

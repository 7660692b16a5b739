from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import DuplicateJob, OutcomeUnknown
from mainspring.domain.ids import show_job
from mainspring.domain.limits import INLINE_BYTES_MAX
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Accepted, Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.conformance.steps import counts
from tests.registry.faults import Faulty, files_below


def want(**changes: Any) -> Submission:
    return Submission(**{"kind": "mail.send", "kind_is_known": True, **changes})


async def test_a_duplicate_is_refused_and_the_others_are_in(desk: FrontDesk, store: Store) -> None:
    first = (await desk.submit([want(unique_key="u")]))[0]
    wanted = [want(), want(unique_key="u", on_duplicate="reject"), want(unique_key="v")]
    with pytest.raises(DuplicateJob) as caught:
        await desk.submit(wanted)
    shown = show_job(first.job_id)
    assert str(caught.value) == f"submission 2 of 3: the unique key 'u' is held by {shown}"
    assert (caught.value.job_id, caught.value.exit_code) == (shown, 6)
    accepted = caught.value.details["accepted"]
    assert isinstance(accepted, list)
    assert [item is None for item in accepted] == [False, True, False]
    assert await counts(store) == {JobState.READY: 3}


async def test_a_duplicate_names_the_job_that_is_there(desk: FrontDesk) -> None:
    first = (await desk.submit([want(unique_key="u")]))[0]
    assert (await desk.submit([want(unique_key="u")]))[0] == Accepted(first.job_id, created=False)
    assert (await desk.submit([want(unique_key="u", on_duplicate="replace")]))[0] == Accepted(
        first.job_id, created=False, replaced=True
    )


async def test_objects_that_no_job_names_are_deleted(desk: FrontDesk, tmp_path: Path) -> None:
    def large(letter: str) -> bytes:
        return b'{"a":"' + letter.encode() * INLINE_BYTES_MAX + b'"}'

    first = (await desk.submit([want(unique_key="u", payload=large("a"))]))[0]
    await desk.submit([want(unique_key="u", payload=large("b"))])
    assert len(files_below(tmp_path)) == 1
    several = [
        want(unique_key="u", payload=large(letter), on_duplicate="replace") for letter in "cd"
    ]
    await desk.submit(several)
    assert len(files_below(tmp_path)) == 1
    assert (await desk.get_job(first.job_id)).payload == large("d")


async def test_a_replacement_that_is_asked_for_again_keeps_its_object(
    shaky_desk: FrontDesk, faulty: Faulty
) -> None:
    """What a repetition finds in the job to be replaced is what it has put there itself."""

    def large(letter: str) -> bytes:
        return b'{"a":"' + letter.encode() * INLINE_BYTES_MAX + b'"}'

    first = (await shaky_desk.submit([want(unique_key="u", payload=large("a"))]))[0]
    faulty.after.append(OutcomeUnknown())
    await shaky_desk.submit([want(unique_key="u", payload=large("b"), on_duplicate="replace")])
    assert (await shaky_desk.get_job(first.job_id)).payload == large("b")
    faulty.after.append(OutcomeUnknown())
    several = [
        want(unique_key="u", payload=large(letter), on_duplicate="replace") for letter in "cd"
    ]
    await shaky_desk.submit(several)
    assert (await shaky_desk.get_job(first.job_id)).payload == large("d")
    # The submitter, too, may ask again, under the id that it has chosen.
    chosen = want(unique_key="u", payload=large("e"), on_duplicate="replace", id=new_job_id())
    for _ in range(2):
        await shaky_desk.submit([chosen])
        assert (await shaky_desk.get_job(first.job_id)).payload == large("e")

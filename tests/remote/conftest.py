from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import OutcomeUnknown
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.remote.http import RemoteAccess, RemoteAnswer, RemoteHttp
from tests.loopback import serving


class Losing(RemoteHttp):
    """Loses the next answers, after the server has done what it was asked for."""

    losses = 0
    #: Only those to requests of this method.
    losses_of = ""

    async def _once(self, method: str, *request: Any, **options: Any) -> RemoteAnswer:
        answer = await super()._once(method, *request, **options)
        if self.losses and self.losses_of in ("", method):
            self.losses -= 1
            raise OutcomeUnknown
        return answer


@pytest.fixture
async def losing(store: Store, tmp_path: Path) -> AsyncIterator[Losing]:
    desk = FrontDesk(store, blobs=LocalBlobs(str(tmp_path)), new_id=new_job_id)
    async with serving(desk) as url:
        http = Losing(RemoteAccess(url=url))
        yield http
        await http.close()

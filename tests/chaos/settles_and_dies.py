"""Run as ``python -m tests.chaos.settles_and_dies STORE KIND``: ends every due job, and is killed.

Nothing comes after the settlement: neither a word to anybody, nor a delivery.
"""

import asyncio
import os
import signal
import sys

from mainspring.domain.outcome import Report, Succeeded
from mainspring.runtime.assemble import open_worker_gateway
from mainspring.runtime.setting_table import Settings
from mainspring.testing.builders import claim_ask, new_session


async def main(store_url: str, kind: str) -> None:
    async with open_worker_gateway(Settings(store_url=store_url)) as gateway:
        session = new_session(kinds=(kind,))
        await gateway.open_session(session, ())
        claimed = await gateway.claim(claim_ask(session.id, kinds=(kind,)))
        reports = [Report(job.job_id, job.attempt, Succeeded()) for job in claimed]
        assert all(await gateway.report(reports))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

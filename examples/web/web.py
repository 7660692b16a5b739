"""A FastAPI application with Mainspring inside, safe under any number of server processes.

``app.embedded()`` connects and has a worker beside the server: a process of its own, one for all
server processes of this machine. What is submitted through one server process is seen through all.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel

from mainspring import App, AsyncClient, Context, JobFailed, MainspringError, ResultTimeout

app = App("web")


class Report(BaseModel):
    customer: str
    pages: int = 3


@app.job(queue="reports", timeout="30s")
def write_report(ctx: Context, report: Report) -> str:
    """Write a report, page by page."""
    for page in range(report.pages):
        ctx.raise_if_cancelled()
        ctx.progress(page + 1, report.pages, "pages")
        ctx.log.info("page written", page=page + 1)
    return f"{report.pages} pages for {report.customer}"


@asynccontextmanager
async def lifespan(api: FastAPI) -> AsyncIterator[None]:
    async with app.embedded() as client:
        api.state.client = client
        yield


api = FastAPI(lifespan=lifespan, title="Reports")


def client() -> AsyncClient:
    """Return the client that the lifespan opened."""
    opened: AsyncClient = api.state.client
    return opened


@api.post("/reports", status_code=202)
async def order_report(
    report: Report, idempotency_key: Annotated[str | None, Header()] = None
) -> dict[str, object]:
    """Submit a report; the same key names the same job, whichever process is asked."""
    handle = await write_report.options(key=idempotency_key).asubmit(report)
    return {"job": handle.id, "created": handle.created}


@api.get("/reports/{job_id}")
async def get_report(job_id: str) -> dict[str, object]:
    """Tell how far a report is."""
    try:
        job = await client().jobs.get(job_id)
    except MainspringError as error:
        raise HTTPException(error.http_status, {"code": error.code, "hint": error.hint}) from error
    return {"state": job.state, "done": job.progress_done, "of": job.progress_total}


@api.get("/reports/{job_id}/text")
async def get_text(job_id: str) -> str:
    """Wait for a report, a moment at most."""
    try:
        return await client().handle(job_id, write_report).aresult(timeout="10s")
    except ResultTimeout as error:
        raise HTTPException(504, error.message) from error
    except JobFailed as error:
        raise HTTPException(500, error.message) from error

"""docs/guides/web.md: its applications run, with and without a worker of their own."""

import re
from pathlib import Path

import pytest

from tests.examples.conftest import Example

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "web.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
VISITOR = """
from fastapi.testclient import TestClient
import web

with TestClient(web.api) as visitor:
    job = visitor.post("/users", params={"address": "ada@example.org"}).json()["job"]
    print(job)
    if WAITS:
        import mainspring
        with mainspring.connect_sync() as client:
            print(client.handle(job, web.welcome).result(timeout="20s"))
            print([worker.name for worker in client.workers.list()])
"""


@pytest.mark.slow
def test_the_guide_to_web_applications_runs(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'web.db'}"
    whole, without_worker = BLOCKS
    (tmp_path / "web.py").write_text(whole)
    page = Example(tmp_path)
    job, answer, workers = page.run("-c", f"WAITS = True{VISITOR}", MAINSPRING_STORE=store)
    assert job.startswith("job_")
    assert answer == "welcomed ada@example.org"
    assert workers == "['web (embedded)']"

    lifespan = re.search(
        r"^@asynccontextmanager\n.*?^        yield\n", whole, re.MULTILINE | re.DOTALL
    )
    assert lifespan is not None
    (tmp_path / "web.py").write_text(whole.replace(lifespan[0], without_worker))
    (only,) = page.run("-c", f"WAITS = False{VISITOR}", MAINSPRING_STORE=store)
    assert only.startswith("job_")

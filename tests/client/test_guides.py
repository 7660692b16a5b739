"""The guides hold what they say: their snippets are run as a user would, beside a real worker."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs" / "guides"


async def _migrate(url: str) -> None:
    store = await open_store(Settings(store_url=url))
    await store.migrate(phase="all")
    await store.close()


@pytest.mark.slow
@pytest.mark.parametrize("guide", ["submitting.md", "handlers.md", "operations.md", "webhooks.md"])
def test_the_snippets_of_a_guide_run(guide: str, tmp_path: Path) -> None:
    text = (GUIDES / guide).read_text(encoding="utf-8")
    shop, *rest = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert shop.startswith("# shop.py")
    assert len(rest) >= 3
    (tmp_path / "shop.py").write_text(shop, encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'store.db'}"
    asyncio.run(_migrate(url))
    kept = {name: value for name, value in os.environ.items() if "MAINSPRING" not in name}
    environment = kept | {"PYTHONPATH": f"{ROOT}:{tmp_path}", "MAINSPRING_STORE": url}
    environment["MAINSPRING_WEBHOOK_REACH"] = "127.0.0.1"
    worker = subprocess.Popen(
        [
            *(sys.executable, "-m", "mainspring", "worker", "start", "shop:app"),
            *("--queues", "default:8,mail:4"),
        ],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "\n".join(rest)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    finally:
        worker.terminate()
        worker.wait(40)

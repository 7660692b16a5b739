"""docs/guides/rest.md: its requests are sent by curl, and answered as it shows."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.domain.job import HandlerInfo
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from tests.loopback import serving_apart

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "rest.md"
STEPS = re.findall(
    r"^```bash\n(.*?)^```\n+^```json\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL
)


async def prepare(url: str) -> None:
    store = await open_store(Settings(store_url=url))
    await store.migrate(phase="all")
    kinds = ("mail.send", "report", "billing")
    await store.declare_handlers([HandlerInfo(kind=kind) for kind in kinds])
    await store.close()


def shows(found: Any, shown: Any) -> bool:
    """Say whether an answer has what the guide shows of it; `...` stands for anything."""
    if isinstance(shown, dict):
        return all(name in found and shows(found[name], shown[name]) for name in shown)
    if isinstance(shown, list):
        return len(found) == len(shown) and all(map(shows, found, shown))
    if isinstance(shown, str) and shown.endswith("..."):
        return isinstance(found, str) and found.startswith(shown[:-3])
    return bool(found == shown)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_requests_of_the_guide_are_answered_as_it_shows(tmp_path: Path) -> None:
    assert len(STEPS) >= 6
    store = f"sqlite:///{tmp_path / 'store.db'}"
    asyncio.run(prepare(store))
    with serving_apart(store) as server:
        environment = {**os.environ, "SERVER": server, "KEY": "any", "no_proxy": "*"}
        for script, shown in STEPS:
            done = subprocess.run(
                ["bash", "-e", "-c", script.replace("\ncurl", "\necho\ncurl")],
                env=environment,
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            answers = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
            expected = [msgspec.json.decode(line) for line in shown.splitlines()]
            assert len(answers) == len(expected)
            for answer, wanted in zip(answers, expected, strict=True):
                assert shows(answer, wanted), (answer, wanted)

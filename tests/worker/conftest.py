from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.worker.rig import Rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    # Short: the name of a socket has at most 104 characters.
    with TemporaryDirectory(prefix="ms-") as folder:
        made = Rig(Path(folder))
        await made.open()
        yield made
        await made.close()

from pathlib import Path

import pytest

from mainspring.integrations.local_blobs import LocalBlobs


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(str(tmp_path / "blobs"))

import pytest

from tests.testing.shop import app


@pytest.fixture
def mainspring_apps() -> list[object]:
    return [app]

"""What all tests share."""

import pytest
from browsing import chromium
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no failure
settings.load_profile("any machine")


@pytest.fixture(scope="module")
def browser():
    """Of one module and no longer: its event loop would be in the way of every `asyncio.run` in later tests."""
    with chromium() as browser:
        yield browser

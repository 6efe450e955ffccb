"""The wheels of the five releases, or a printed reason why there are none."""

from __future__ import annotations

import pytest
from cites_wheels import RELEASES, NoWheel, Wheel, wheel


@pytest.fixture(scope="session")
def wheels() -> dict[str, Wheel]:
    """The wheels by release.  Where they cannot be downloaded the test is skipped, and pytest says why."""
    try:
        return {release: wheel(release) for release in RELEASES}
    except NoWheel as problem:
        pytest.skip(str(problem))

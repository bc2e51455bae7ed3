"""What the tests of text formats share."""

import pytest

from evalsampling.pool.formats import text as lines
from tests.slow import slowly


@pytest.fixture(params=[3, *slowly(50), 1 << 22])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let blocks be so small."""
    size: int = request.param
    monkeypatch.setattr(lines, "BLOCK_BYTES", size)
    return size

"""Bad pools: one clear error each, and nothing left half-written."""

from typing import Any

import pytest

from tests.bad_pools import BAD, assert_clean_failure
from tests.slow import fast


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_bad_pool(job: Any, name: str) -> None:
    make, words = BAD[name]
    assert_clean_failure(job(make(), files=2), words)


@pytest.mark.parametrize(
    "name", fast(1, ["FnApiRunner", "DirectRunner", "BundleBasedDirectRunner"])
)
def test_bad_pool_on_other_runners(job: Any, name: str) -> None:
    make, words = BAD["nan score"]
    assert_clean_failure(job(make(), files=2, group_rows=100), words, f"--runner={name}")

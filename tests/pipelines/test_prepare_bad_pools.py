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
    "options",
    fast(
        1,
        [
            ["--runner=FnApiRunner", "--direct_num_workers=1"],
            ["--runner=DirectRunner"],
            ["--runner=BundleBasedDirectRunner"],
        ],
    ),
    ids=lambda options: options[0].removeprefix("--runner="),
)
def test_bad_pool_on_other_runners(job: Any, options: list[str]) -> None:
    make, words = BAD["nan score"]
    assert_clean_failure(job(make(), files=2, group_rows=100), words, *options)

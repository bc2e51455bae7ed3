"""What the tests of transforms share."""

from typing import Any

import pytest

from tests.jobs import Job


@pytest.fixture
def one(job: Any) -> Job:
    """A workspace with one round by a sampler that draws row by row."""
    made: Job = job(sampler="poisson")
    made.in_process = True
    assert made.prepare().status == made.sample().status == 0
    return made

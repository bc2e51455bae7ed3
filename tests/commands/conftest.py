"""Fixtures of the tests of commands."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.jobs import Job, make_pool


@pytest.fixture
def start_spark(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Starts Spark when it is asked for."""
    return lambda: request.getfixturevalue("session")


@pytest.fixture
def asked(job: Any) -> Job:
    """A job whose oracle is stochastic, with one open round of few distinct rows."""
    one: Job = job(
        make_pool(text_ids=True),
        labels={"oracle": "stochastic"},
        strata={"leaves": 2},
        sampler="importance",
        round_size=90,
        budget=200,
    ).prepared()
    assert one.sample().json["rows"] == 90
    return one

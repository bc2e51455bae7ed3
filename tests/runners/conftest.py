"""A portable runner's server, shared by the tests of a module."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runners.portable import RUNNERS, Runner, Server, serving


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in RUNNERS],
)
def runner(request: Any) -> Runner:
    """Each runner that can be started here."""
    found = RUNNERS[request.param]
    if missing := found.missing():
        pytest.skip(missing)
    return found


@pytest.fixture(scope="module")
def server(runner: Runner, tmp_path_factory: Any) -> Iterator[Server]:
    """A server of the runner, for all tests of a module."""
    with serving(runner, tmp_path_factory.mktemp(runner.name)) as started:
        yield started

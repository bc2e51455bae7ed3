"""Portable runners give what the in-process runner gives."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.spec import EvaluationSpec
from tests.bad_pools import replaced
from tests.changing_pools import (
    assert_refused,
    assert_whole_when_run_again,
    changed,
    files_of,
    longer,
    of_same_size_and_time,
    small,
)
from tests.drawn_by_row import poisson_sample
from tests.engines import kept_by_beam, pairs
from tests.jobs import Job, make_pool
from tests.reference import assert_same, reference
from tests.runners.portable import Server, by_prism

pytestmark = [
    pytest.mark.runners,
    # Threads of workers that a runner has done with end with an exception of gRPC's.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


def evaluate(one: Job, options: list[str]) -> list[Any]:
    """Prepare, and sample, label and estimate twice; return all that comes of it."""
    assert one.prepare(*options).done
    seen: list[Any] = [pq.read_table(one.workspace / "cells.parquet")]
    for number in (1, 2):
        sampled = one.sample(*options).done
        labels = one.deliver(one.answers(number), f"labels-{number}.csv")
        estimated = one.estimate("--labels", labels, *options).done
        draws = pq.read_table(one.round_directory(number) / "draws.parquet")
        seen += [one.batch(number), draws, sampled.json["rows"], estimated.json]
    return seen


@pytest.mark.usefixtures("one_key")
def test_same_as_in_process(job: Any, server: Server) -> None:
    here, there = (job(files=3, group_rows=100, budget=60) for _ in range(2))
    assert evaluate(there, server.options) == evaluate(here, [])
    assert_same(there.workspace, reference(there), budget=60)


def test_poisson_sample_is_that_of_one_process(tmp_path: Path, server: Server) -> None:
    assert_same_sample(tmp_path, server, by_cell=False)


@by_prism
def test_poisson_sample_by_cell_is_that_of_one_process(tmp_path: Path, server: Server) -> None:
    assert_same_sample(tmp_path, server, by_cell=True)


def assert_same_sample(tmp_path: Path, server: Server, by_cell: bool) -> None:
    table = make_pool().table
    pq.write_table(table, tmp_path / "pool.parquet")
    content = {"pool": {"path": "pool.parquet"}, "strata": {"leaves": 16}, "budget": 200, "seed": 4}
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    found = kept_by_beam(table, 170, spec, by_cell, tmp_path / "kept", server.options)
    assert found == pairs(poisson_sample(spec.analysis, by_cell))
    assert len(found) > 100


def test_what_a_user_can_mend_is_one_line(job: Any, server: Server) -> None:
    """Beam's worker, which is here in this process, prints its traceback before."""
    one = job(replaced("score", 1234, float("nan")), files=2)
    result = one.prepare(*server.options)
    assert (result.status, result.out) == (1, "")
    (line,) = [line for line in result.err.splitlines() if line.startswith("evalsampling prepare:")]
    for word in ("part-1.parquet", "'score'", "row 234", "nan"):
        assert word in line
    assert "while running" not in line
    assert not one.workspace.exists()


def test_a_pool_that_changes_between_the_passes(job: Any, server: Server) -> None:
    one, path = small(job)
    before = files_of(one)
    with changed("between the passes", lambda: of_same_size_and_time(path)):
        result = one.prepare(*server.options)
    assert_refused(one, result, path, of_same_size_and_time)
    assert_whole_when_run_again(one, before, lambda: one.prepare(*server.options))


@by_prism
def test_a_pool_that_changes_in_the_second_pass(job: Any, server: Server) -> None:
    one, path = small(job)
    with changed("in the second pass", lambda: longer(path)):
        result = one.prepare(*server.options)
    assert_refused(one, result, path, longer)

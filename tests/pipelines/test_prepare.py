"""Beam gives what the in-memory path gives, however the pool is cut and merged."""

from typing import Any

import apache_beam as beam
import pytest

from evalsampling.commands.prepare import Preparation
from evalsampling.commands.prepare_plan import plan_passes
from evalsampling.pipelines.running import parse_options
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import BeamEngine, SumFn
from evalsampling.workspace.manifest import ExecutionContext
from tests.cases import CASES
from tests.jobs import call, make_rich_pool
from tests.reference import assert_same_evaluation

FIRST = ("slices",)
"""Cases of the fast suite."""

WHOLE = [
    *(pytest.param(case, 7, 50, marks=() if case in FIRST else pytest.mark.slow) for case in CASES),
    *(
        pytest.param(case, *[(1, 1 << 20), (2, 333)][place % 2], marks=pytest.mark.slow)
        for place, case in enumerate(CASES)
    ),
]
"""Every kind of spec in many row groups of seven files, and in one file or two, in turn."""


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many accumulators each merge of Beam's was given."""
    sizes: list[int] = []
    merge = SumFn.merge_accumulators

    def counting(self: SumFn, accumulators: Any) -> Any:
        known = list(accumulators)
        sizes.append(len(known))
        return merge(self, iter(known))

    monkeypatch.setattr(SumFn, "merge_accumulators", counting)
    return sizes


@pytest.mark.parametrize(("case", "files", "group_rows"), WHOLE)
def test_whole_evaluations_equal_memory(
    job: Any, merged: list[int], case: str, files: int, group_rows: int
) -> None:
    """Cells, reserve, two rounds and their estimates, for every kind of spec."""
    shape, keys = CASES[case]
    one = job(make_rich_pool(**shape), files, group_rows, budget=300, **keys)
    several = files > 2
    options = [f"--direct_num_workers={4 if several else 2}"]
    assert one.prepare("--runner=FnApiRunner", *options).status == 0
    assert not several or max(merged) > 1, "no accumulators met: the test would prove nothing"
    assert_same_evaluation(one)


def test_labels_of_transforms_are_verbs_in_camel_case(job: Any) -> None:
    names: set[str] = set()
    one = job()
    root = beam.Pipeline(options=parse_options([]))
    spec = EvaluationSpec.load(one.spec)
    plan_passes(
        BeamEngine(root), Preparation.from_spec(spec, ExecutionContext("none"), check_ids=True)
    )

    class Visitor(beam.pipeline.PipelineVisitor):
        def enter_composite_transform(self, node: Any) -> None:
            names.add(node.full_label)

    root.visit(Visitor())
    ours = {part for name in names for part in name.split("/")[:2] if part}
    assert {"SummarizePool", "FetchCells", "DrawReserve", "CheckIds"} <= ours
    assert all(part[0].isupper() and " " not in part for part in ours)
    assert call("prepare", one.spec).status == 0

"""All engines that run the plans, as one table for tests."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from evalsampling.commands.prepare import Preparation
from evalsampling.commands.prepare_plan import prepare_by_shares
from evalsampling.pipelines import prepare as by_beam
from evalsampling.pipelines.running import parse_options
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.conditions import selected_rows
from evalsampling.preparation.poisson import INCLUSION, keep_rows
from evalsampling.preparation.shares import LOCAL, Merge, Piece, Rows, Shares, Work, deal, groups_of
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import PoissonSample
from evalsampling.workspace.manifest import ExecutionContext
from tests.contracts import sent
from tests.drawn_by_row import poisson_sample
from tests.spark import SPARK

StartSpark = Callable[[], Any]
"""Returns a session of Spark, which is started then."""


@dataclasses.dataclass(frozen=True)
class Case:
    """An engine: what prepares the pool of a spec, and what keeps a Poisson sample of a file.

    The last arguments are whether all ids are checked, and whether rows of a cell share a
    probability.
    """

    prepare: Callable[[EvaluationSpec, StartSpark, bool], Any]
    keep: Callable[[Path, EvaluationSpec, bool], dict[Any, float]] | None = None


def in_shares(most: int, merged: list[int] | None = None) -> Shares:
    """Return an engine that merges shares in no order; `merged` gets the sizes of merges."""
    rng = np.random.default_rng(0)

    def gather(rows: Rows, work: Work, merge: Merge, _: int) -> list[Piece]:
        states = defaultdict(list)
        dealt = deal(rows.source, most)
        for number, share in enumerate(dealt):
            for kind, part, state in work(share, number % groups_of(len(dealt))):
                states[kind, part].append(sent(state))
        if merged is not None:
            merged.extend(map(len, states.values()))
        return [
            merge(kind, part, (some[place] for place in rng.permutation(len(some))))
            for (kind, part), some in states.items()
        ]

    return Shares(gather)


def prepare_by(engine: Shares, spec: EvaluationSpec, check_ids: bool = False) -> Any:
    """Prepare by an engine of shares."""
    return prepare_by_shares(
        Preparation.from_spec(spec, ExecutionContext("test"), check_ids), engine
    )


def pairs(kept: pa.Table) -> dict[Any, float]:
    """Inclusion probability of each row, by its id."""
    return dict(zip(kept["id"].to_pylist(), kept[INCLUSION].to_pylist(), strict=True))


def kept_by_beam(
    table: pa.Table,
    rows: int,
    spec: EvaluationSpec,
    by_cell: bool,
    folder: Path,
    options: Sequence[str] = ("--runner=FnApiRunner",),
) -> dict[Any, float]:
    """What a pipeline keeps of a table in batches of so many rows; a folder for its files."""
    folder.mkdir()
    batches = [PoolBatch(part) for part in table.combine_chunks().to_batches(max_chunksize=rows)]
    with beam.Pipeline(options=PipelineOptions([*options])) as root:
        kept = root | beam.Create(batches) | PoissonSample(spec, by_cell)
        _ = kept | beam.Map(_write, str(folder))
    return pairs(pq.read_table(folder))


def _write(kept: pa.Table, folder: str) -> None:
    if len(kept):
        pq.write_table(kept, Path(folder) / f"{kept['id'][0]}.parquet")


def _by_beam(spec: EvaluationSpec, _: StartSpark, check_ids: bool) -> Any:
    return by_beam.prepare(spec, parse_options(["--runner=FnApiRunner"]), check_ids)


def _by_spark(spec: EvaluationSpec, start_spark: StartSpark, check_ids: bool) -> Any:
    from evalsampling.pipelines.spark_prepare import prepare

    return prepare(spec, start_spark(), check_ids, partitions=4)


def _kept_in_shares(path: Path, spec: EvaluationSpec, by_cell: bool) -> dict[Any, float]:
    parts = pq.read_table(path).combine_chunks().to_batches(max_chunksize=170)
    rows = Rows([selected_rows(PoolBatch(part), spec.pool) for part in parts])
    kept = keep_rows(in_shares(5), rows, spec.analysis, by_cell)
    return pairs(pa.concat_tables(kept.batches()))


def _kept_by_beam(path: Path, spec: EvaluationSpec, by_cell: bool) -> dict[Any, float]:
    return kept_by_beam(pq.read_table(path), 170, spec, by_cell, path.parent / "kept")


ENGINES = [
    pytest.param(
        Case(
            lambda spec, _, check_ids: prepare_by(LOCAL, spec, check_ids),
            lambda _, spec, by_cell: pairs(poisson_sample(spec.analysis, by_cell)),
        ),
        id="this process",
    ),
    pytest.param(
        Case(lambda spec, _, check_ids: prepare_by(in_shares(4), spec, check_ids), _kept_in_shares),
        id="shares",
    ),
    pytest.param(Case(_by_beam, _kept_by_beam), id="Beam"),
    pytest.param(Case(_by_spark), id="PySpark", marks=SPARK),
]
"""The engines; `shares` is what PySpark adds nothing to but a cluster."""


KEEPING = [engine for engine in ENGINES if engine.values[0].keep is not None]
"""Those that draw Poisson samples."""


WITHOUT_BEAM = [engine for engine in ENGINES if engine.id != "Beam"]
"""Those for cases that `tests/pipelines` has by Beam."""


def on_engines(
    cases: Sequence[tuple[Any, ...]],
    some: Sequence[tuple[Any, ...]],
    engines: Sequence[Any] = ENGINES,
    by_beam: int = 1,
) -> list[Any]:
    """All cases by shares, some by the others; of these one, or so many by Beam, are not slow."""
    most = {"this process": 1, "Beam": by_beam}
    others = [case for case in cases if case not in some]
    return [
        pytest.param(
            *engine.values,
            *case,
            id=f"{engine.id}-{case[0]}",
            marks=[
                *engine.marks,
                *[pytest.mark.slow][: place >= most.get(str(engine.id), len(some))],
            ],
        )
        for engine in engines
        for place, case in enumerate([*some, *others] if engine.id == "shares" else some)
    ]

"""Labels of any PCollection come to the estimates of the command, to the digit."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest

from evalsampling.stats.round_chances import RoundChances
from evalsampling.transforms import (
    AssignCells,
    CountSlices,
    DesignRound,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    SumCells,
    SumFn,
    estimates,
)
from evalsampling.workspace.pool_facts import PoolFacts, design_round
from tests.averages import MACRO_F1, MICRO_F1
from tests.drawn_by_row import picked
from tests.golden.cases import FEW, FOUR, NUMBERS, ON_SLICES, SETS, SURE, TWO
from tests.golden.pools import pool_of
from tests.in_pipelines import (
    RETRYING,
    TWO_WORKERS,
    answers_to,
    created,
    failing_now_and_then,
    keep,
    kept,
    pipeline,
    shuffled,
    two_rounds,
)
from tests.jobs import Pool, make_pool
from tests.slow import slowly

SCORED = {"id": "id", "score": "s0.score", "prediction": "s0.prediction"}
NO_PAYLOAD: dict[str, Any] = {"payload": []}

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "calibrated": (
        "pairs",
        {
            "pool": {**TWO, **NO_PAYLOAD, "slices": ["city", "new"]},
            "measure": ["f1", {"difference": "f1"}, *ON_SLICES],
        },
    ),
    "poisson": (
        "pairs",
        {
            "pool": {**SCORED, "cost": "size", "weight": "s0.chance"},
            "measure": ["f1", {"recall": {"by": "rows"}}],
            "budget": {"cost": 900},
        },
    ),
    "ais": ("sets", {**SETS, "sampler": SURE, "measure": [MICRO_F1]}),
    "optimal_importance": ("numbers", NUMBERS),
    "stratified": ("four", {**FOUR, "measure": [MACRO_F1, "kappa"]}),
    "passive": ("pairs", {"pool": SCORED, "measure": FEW, "strata": {"leaves": 1}}),
}
"""By the sampler: pool and keys of a workspace; together every kind of column.

All answers are by one annotator, and in the last nearly all rows are of one cell.
"""


FAST = ("optimal_importance", "poisson")


def workspaces(job: Any, names: Sequence[str]) -> dict[str, Any]:
    """Workspaces with two rounds, with the answers and estimates of each."""
    made = {}
    for name in names:
        pool, keys = KINDS[name]
        of_pool = {**keys.get("pool", {}), **NO_PAYLOAD}
        one = job(pool_of(pool), **{"sampler": name, **keys, "pool": of_pool})
        made[name] = one, *two_rounds(one)
    return made


@pytest.mark.parametrize(
    "names",
    [FAST, pytest.param(tuple(KINDS.keys() - {*FAST}), marks=pytest.mark.slow)],
    ids=["fast", "others"],
)
def test_estimates_are_those_of_the_command(job: Any, tmp_path: Path, names: Any) -> None:
    """Samplers with all kinds of rows, in one pipeline; answers in another order."""
    made = workspaces(job, sorted(names))
    with pipeline() as root:
        for name, (one, answers, _) in made.items():
            labels = created(root, name, shuffled(answers, 1), pieces=3)
            joined = labels | f"Join {name}" >> JoinLabels(one.workspace)
            said = joined["counts"] | f"Estimate {name}" >> EstimateMeasures(one.workspace)
            keep(said, tmp_path / name)
            keep(joined["rejects"], tmp_path / f"rejects of {name}")
    for name, (_, answers, said) in made.items():
        (estimated,) = kept(tmp_path / name)
        assert estimated["measures"] == said["measures"], name
        assert estimated["warnings"] == said["warnings"], name
        assert (estimated["labels"], estimated["drawn"]) == (len(answers), len(answers) + 7)
        assert (estimated["rejects"], kept(tmp_path / f"rejects of {name}")) == (0, [])


def with_cities(pool: Pool, cities: Sequence[str]) -> Pool:
    """A pool with a column of cities, in turn."""
    column = pa.array([cities[row % len(cities)] for row in range(len(pool.table))])
    return Pool(pool.table.append_column("city", column), pool.truth)


@pytest.mark.slow
def test_slices_of_rows_that_are_given(job: Any, tmp_path: Path) -> None:
    """Of the rows of the workspace as the command says, in any pieces."""
    pool = with_cities(make_pool(900), ["Bern", "Genève", "Zürich"])
    one = job(pool, measure=["f1", "recall"], sampler="poisson", pool={"slices": ["city"]})
    answers, said = two_rounds(one, (60, 40))
    with pipeline() as root:
        rows = created(root, "rows", pool.table.to_batches(max_chunksize=170), 4)
        cells = rows | AssignCells(one.workspace)
        joined = created(root, "labels", shuffled(answers, 2), 3) | JoinLabels(one.workspace)
        states = {"pool": cells | SumCells(), "slices": cells | CountSlices()}
        states["counts"] = joined["counts"]
        keep(states | EstimateMeasures(one.workspace), tmp_path / "all")
        del states["slices"]
        keep(states | "Whole" >> EstimateMeasures(one.workspace), tmp_path / "whole")
    (of_all,), (whole,) = kept(tmp_path / "all"), kept(tmp_path / "whole")
    assert (of_all["measures"], of_all["warnings"]) == (said["measures"], said["warnings"])
    assert {number["slice"] for number in of_all["measures"]} == {
        None, "city=Bern", "city=Genève", "city=Zürich",
    }  # fmt: skip
    assert whole["measures"] == [one for one in said["measures"] if one["slice"] is None]


@pytest.mark.slow
def test_slices_of_a_table_that_changed(job: Any, tmp_path: Path) -> None:
    """Of a value without rows nothing is said; of a new one, how many rows have it."""
    prepared = with_cities(make_pool(900), ["Bern", "Genève", "Zürich"])
    one = job(prepared, measure=["f1"], sampler="poisson", pool={"slices": ["city"]})
    assert one.prepare().status == 0
    chances, pool = design_round(one.workspace, 200), with_cities(make_pool(900), ["Bern", "Basel"])
    with pipeline() as root:
        rows = created(root, "rows", pool.table.to_batches(max_chunksize=170), 4)
        cells = rows | AssignCells(one.workspace)
        picked = cells | SampleRound(one.workspace, chances)
        labels = picked["rows"] | beam.FlatMap(_answers, pool.truth)
        joined = {"rows": picked["rows"], "labels": labels} | JoinLabels(one.workspace)
        states = {"pool": cells | SumCells(), "slices": cells | CountSlices()}
        states["counts"] = joined["counts"]
        keep(states | EstimateMeasures(one.workspace, chances), tmp_path / "all")
    (said,) = kept(tmp_path / "all")
    assert [number["slice"] for number in said["measures"]] == [None, "city=Bern"]
    (whole, bern) = said["measures"]
    assert bern["low"] <= bern["value"] <= bern["high"]
    assert bern["value"] != whole["value"]
    words = "450 rows have a value of city that no row had when the workspace was prepared"
    assert [words in warning for warning in said["warnings"]].count(True) == 1


@pytest.mark.slow
def test_other_slices_than_those_that_sample_drew_from(job: Any, tmp_path: Path) -> None:
    """Rows that were drawn have the slices of their time, so numbers would be of neither."""
    pool = with_cities(make_pool(300), ["Bern", "Zürich"])
    one = job(pool, measure=["f1"], sampler="poisson", pool={"slices": ["city"]})
    one.in_process = True
    assert one.prepare().status == one.sample().status == 0
    answers = answers_to(one, 1)

    changed = with_cities(make_pool(300), ["Zürich", "Bern"]).table

    def estimate() -> None:
        with pipeline() as root:
            cells = created(root, "rows", changed.to_batches(), 1) | AssignCells(one.workspace)
            states = {"pool": cells | SumCells(), "slices": cells | CountSlices()}
            joined = created(root, "labels", answers, 1) | JoinLabels(one.workspace)
            states["counts"] = joined["counts"]
            keep(states | EstimateMeasures(one.workspace), tmp_path / "all")

    with pytest.raises(Exception, match="given have other values of city than when it was"):
        estimate()


def _answers(rows: pa.Table, truth: dict[int, int]) -> Iterator[dict[str, str]]:
    for row in rows.select(["task", "id"]).to_pylist():
        yield {"task": row["task"], "label": str(truth[row["id"]])}


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["calibrated", *slowly("poisson")])
def test_the_next_round_is_that_of_the_workspace(job: Any, tmp_path: Path, sampler: str) -> None:
    """Chances by cell to the digit, and where a round after rounds of a fixed size begins."""
    one = job(make_pool(900), measure=["f1", "recall"], sampler=sampler)
    answers, _ = two_rounds(one, (30, 30))
    with pipeline() as root:
        joined = created(root, "labels", shuffled(answers, 2), 3) | JoinLabels(one.workspace)
        designed = joined["counts"] | DesignRound(one.workspace, 25)
        keep(designed | beam.Map(RoundChances.to_mapping), tmp_path / "designed")
    (said,) = kept(tmp_path / "designed")
    assert said == design_round(one.workspace, 25).to_mapping()
    assert (said["begin"] is None) == (sampler == "poisson")
    facts, chances = PoolFacts.read(one.workspace), RoundChances.from_mapping(said)
    rows = picked(facts, one.pool.table, facts.rounds_until(chances))
    drawn = {id for number in (1, 2) for _, id in one.asked(number)}
    assert not {*rows["id"].to_pylist()} & drawn
    assert 5 < len(rows) < 60


@pytest.fixture
def labelled(job: Any) -> Any:
    """A small workspace with two rounds, its answers, and its estimates."""
    one = job(make_pool(900), measure=["f1", "recall"], sampler="calibrated")
    return one, *two_rounds(one, (30, 30))


def told(one: Any, answers: Any, folder: Path, *options: str) -> tuple[Any, list[Any]]:
    """What a pipeline estimates of answers, and those that do not count."""
    with pipeline(*options) as root:
        joined = created(root, "labels", answers, 3) | JoinLabels(one.workspace)
        keep(joined["counts"] | EstimateMeasures(one.workspace), folder / "estimates")
        keep(joined["rejects"], folder / "rejects")
    (estimated,) = kept(folder / "estimates")
    return estimated, kept(folder / "rejects")


PIECES = {"task": (1, 3, 7), "id": (3,)}


@pytest.mark.slow
@pytest.mark.parametrize("by", PIECES)
def test_pieces_and_repetition_decide_nothing(labelled: Any, tmp_path: Path, by: str) -> None:
    one, answers, said = labelled
    if by == "id":
        ids = {task: str(id) for number in (1, 2) for task, id in one.asked(number)}
        answers = [{"id": ids[answer["task"]], "label": answer["label"]} for answer in answers]
    with pipeline() as root:
        for pieces in PIECES[by]:
            given = shuffled(answers + answers[:20] * 2, pieces)
            labels = created(root, "labels", given, pieces)
            joined = labels | f"Join {pieces}" >> JoinLabels(one.workspace, by=by)
            of_pieces = joined["counts"] | f"Of {pieces}" >> EstimateMeasures(one.workspace)
            keep(of_pieces, tmp_path / str(pieces))
    for pieces in PIECES[by]:
        (estimated,) = kept(tmp_path / str(pieces))
        assert estimated["measures"] == said["measures"]


@pytest.mark.slow
def test_accumulators_are_merged(labelled: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """On two workers each sums its shares, and states come to both in part."""
    one, answers, said = labelled
    sizes: list[int] = []
    merge = SumFn.merge_accumulators

    def counting(self: SumFn, accumulators: Any) -> Any:
        held = list(accumulators)
        sizes.append(len([one for one in held if one is not None]))
        return merge(self, held)

    monkeypatch.setattr(SumFn, "merge_accumulators", counting)
    with pipeline(*TWO_WORKERS) as root:
        joined = created(root, "labels", answers, 7) | JoinLabels(one.workspace)
        spread = joined["counts"] | beam.Reshuffle()
        keep(spread | EstimateMeasures(one.workspace), tmp_path / "estimates")
    assert max(sizes) > 1, "nothing was merged"
    (estimated,) = kept(tmp_path / "estimates")
    assert estimated["measures"] == said["measures"]


@pytest.mark.slow
@pytest.mark.parametrize("step", ["joined", *slowly("estimated", "answers_by_share", "drawn_rows")])
def test_a_worker_that_fails_changes_nothing(
    labelled: Any, tmp_path: Path, monkeypatch: Any, step: str
) -> None:
    one, answers, said = labelled
    log = tmp_path / "log"
    monkeypatch.setattr(estimates, step, failing_now_and_then(getattr(estimates, step), log))
    estimated, _ = told(one, answers, tmp_path, RETRYING)
    assert len(log.read_text()) > 1, "nothing failed"
    assert estimated["measures"] == said["measures"]


@pytest.mark.slow
def test_counts_of_another_workspace_are_refused(job: Any, tmp_path: Path) -> None:
    one, other = (job(make_pool(900), measure="f1", sampler="poisson") for _ in range(2))
    answers, _ = two_rounds(other, (30, 30))
    two_rounds(one, (30, 30))
    root = pipeline()
    joined = created(root, "labels", answers, 1) | JoinLabels(other.workspace)
    keep(joined["counts"] | EstimateMeasures(one.workspace), tmp_path / "estimates")
    with pytest.raises(Exception, match="counts of labelled rows are of another workspace"):
        root.run()


@pytest.mark.slow
def test_no_label_yet(labelled: Any, tmp_path: Path) -> None:
    """Rows are drawn, no answer comes: the command says the same without a delivery."""
    estimated, _ = told(labelled[0], [], tmp_path)
    assert (estimated["labels"], estimated["drawn"]) == (0, 60)
    assert {measure["value"] for measure in estimated["measures"]} == {None}


@pytest.mark.slow
def test_answers_that_do_not_count_are_listed(labelled: Any, tmp_path: Path) -> None:
    one, answers, said = labelled
    wrong = [{"task": "nobody", "label": "1"}, {"task": None, "label": "1"}]
    estimated, rejects = told(one, answers + wrong, tmp_path)
    assert (estimated["measures"], estimated["rejects"]) == (said["measures"], 2)
    assert {reject["task"] for reject in rejects} == {None, "nobody"}
    assert all("task" in reject["reason"] for reject in rejects)

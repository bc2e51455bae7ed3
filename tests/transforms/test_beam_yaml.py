"""Pipelines in Beam YAML: the files that users start from give what the commands give."""

import dataclasses
import inspect
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.typehints.row_type import RowTypeConstraint
from apache_beam.yaml import yaml_io, yaml_provider, yaml_transform

from evalsampling.transforms import beam_yaml
from evalsampling.transforms.beam_yaml import MEASURE
from evalsampling.workspace.pool_facts import design_round, write_chances
from tests.beam_yaml import FILES, command, variables
from tests.jobs import Job, Pool, make_pool
from tests.pairs import IDS, pair_pool
from tests.slow import slowly


def expand(text: str, root: beam.Pipeline, **variables: Any) -> None:
    """Put the transforms of a pipeline's text into a pipeline, as Beam's own command does."""
    text = yaml_transform.expand_jinja(text, variables, [str(FILES)])
    yaml_transform.expand_pipeline(root, text, pipeline_path=str(FILES / "any.yaml"))


def run(text: str, **variables: Any) -> None:
    with beam.Pipeline("FnApiRunner", PipelineOptions(["--pickle_library=cloudpickle"])) as root:
        expand(text, root, **variables)


def file(name: str) -> str:
    return (FILES / name).read_text("utf-8")


def lines_of(path: Path) -> list[Any]:
    """The objects in the lines of the files whose names begin with a path's."""
    files = sorted(path.parent.glob(f"{path.name}*"))
    assert files
    return [json.loads(line) for one in files for line in one.read_text("utf-8").splitlines()]


@pytest.fixture
def labelled(job: Any) -> Any:
    """Make a job with a round, all but one of its rows labelled, and what the command says."""

    def make(rounds: int = 1, **keys: Any) -> tuple[Job, Path, dict[str, Any]]:
        pool = make_pool(1500, seed=3)
        side = pa.array([[None, "left", "right"][i % 3] for i in range(1500)])
        one = job(
            Pool(pool.table.append_column("side", side), pool.truth),
            files=2,
            measure=["f1", "recall"],
            pool={"slices": ["side"], "payload": ["name", "side"]},
            **keys,
        )
        one.in_process = True
        assert one.prepare("--in-process").status == 0
        answers: list[tuple[str, str]] = []
        for number in range(1, rounds + 1):
            assert one.sample("--size", 60, "--next").status == 0
            answers += one.answers(number)
        labels = one.deliver([*answers[1:], (answers[1][0], "perhaps"), ("no such task", "1")])
        return one, labels, one.estimate("--labels", labels).json

    return make


@pytest.fixture(scope="module")
def drawn_for_yaml(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A workspace with a round, that no test changes."""
    folder = tmp_path_factory.mktemp("drawn")
    pool = make_pool(300, seed=3)
    spec = {"pool": {"path": str(pool.write(folder / "pool"))}, "sampler": "poisson"}
    (folder / "evaluation.yaml").write_text(json.dumps({**spec, "budget": 50, "workspace": "w"}))
    one = Job(folder, pool, folder / "evaluation.yaml", folder / "w", in_process=True)
    assert one.prepare().status == 0
    assert one.sample("--size", 20).status == 0
    return one


def check(one: Job, given: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Check what the files of the examples wrote."""
    tasks = (given["tasks"] / "tasks.csv").read_bytes()
    assert tasks == (one.round_directory(1) / "batch.csv").read_bytes()
    [made] = lines_of(given["estimates"])
    assert made["measures"] == wanted["measures"]
    assert (made["drawn"], made["labels"], made["rejects"]) == (
        len(one.batch(1)["task"]),
        wanted["labels"],
        2,
    )
    reasons = {(reject["task"], reject["label"]) for reject in lines_of(given["rejects"])}
    assert ("no such task", "1") in reasons
    assert len(reasons) == 2


@pytest.mark.slow
def test_files_give_what_the_commands_give(labelled: Any) -> None:
    one, labels, wanted = labelled(sampler="poisson")
    given = variables(one, labels)
    run(file("sample.yaml"), **given)
    run(file("estimate.yaml"), **{**given, "kept": f"{given['kept']}*"})
    check(one, given, wanted)


@pytest.mark.slow
def test_command_of_beam_runs_the_files(labelled: Any) -> None:
    one, labels, wanted = labelled(sampler="poisson")
    given = variables(one, labels)
    command(FILES, "sample.yaml", given)
    command(FILES, "estimate.yaml", {**given, "kept": f"{given['kept']}*"})
    check(one, given, wanted)


@pytest.mark.slow
def test_package_that_beam_installs(labelled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment that Beam would make, by pip in many minutes, is this one."""
    one, labels, wanted = labelled(sampler="poisson")
    wheel, home = one.directory / "evalsampling-0.1.0-py3-none-any.whl", one.directory / "home"
    wheel.touch()
    for path in FILES.iterdir():
        text = path.read_text("utf-8").replace("include: prov", "include: package-prov")
        (one.directory / path.name).write_text(text, "utf-8")
    service = yaml_provider.PypiExpansionService
    monkeypatch.setattr(service, "VENV_CACHE", str(home / ".apache_beam" / "cache" / "venvs"))
    environment = Path(service._path(sys.executable, [str(wheel)]))
    environment.parent.mkdir(parents=True)
    environment.symlink_to(sys.prefix)
    Path(f"{environment}-requirements.txt").touch()
    given = variables(one, labels)
    command(one.directory, "sample.yaml", given, HOME=str(home))
    kept = {"kept": f"{given['kept']}*"}
    command(one.directory, "estimate.yaml", {**given, **kept}, HOME=str(home))
    check(one, given, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iceberg", "delta", "bigquery"])
def test_files_of_tables_give_the_tasks_of_the_command(name: str, labelled: Any) -> None:
    """Beam knows the keys of the source; a file stands in for the table, which needs Java."""
    one, labels, _ = labelled(sampler="poisson")
    given = {**variables(one, labels), "warehouse": "warehouse"}
    text = yaml_transform.expand_jinja(file(f"{name}.yaml"), given, [])
    spec = yaml.safe_load(text)
    source, config = spec["pipeline"]["transforms"][0], {"path": str(given["pool"])}
    reads = {"iceberg": yaml_io.read_from_iceberg, "delta": yaml_io.read_from_delta}
    read = reads.get(name, yaml_io.read_from_bigquery)
    inspect.signature(read).bind(**source["config"])
    assert source["type"].lower() == f"readfrom{name}"
    source.update(type="ReadFromParquet", config=config)
    run(yaml.safe_dump(spec))
    tasks = (given["tasks"] / "tasks.csv").read_bytes()
    assert tasks == (one.round_directory(1) / "batch.csv").read_bytes()


JARS = Path.home() / ".apache_beam" / "cache" / "jars"
"""Where Beam looks for programs in Java before it fetches them."""


@pytest.mark.slow
def test_managed_read_of_delta_is_expanded(labelled: Any) -> None:
    """Of Iceberg one is run, by `tests/runners/test_managed.py`."""
    if not list(JARS.glob("beam-sdks-java-io-expansion-service-*.jar")):
        pytest.skip(f"Beam's expansion service in Java is not in {JARS}")
    one, labels, _ = labelled(sampler="poisson")
    given = {**variables(one, labels), "pool": "some.table"}
    with pytest.raises(ValueError, match=r"(?i)table"):
        expand(file("delta.yaml"), beam.Pipeline(), **given)


OF_WORKSPACE = """
pipeline:
  transforms:
    - type: ReadFromCsv
      config: {path: {{ labels }}}
    - type: JoinLabels
      input: ReadFromCsv
      config: {workspace: {{ workspace }}}
    - type: EstimateMeasures
      input: JoinLabels.counts
      config: {workspace: {{ workspace }}}
    - type: WriteToText
      input: EstimateMeasures.json
      config: {path: {{ estimates }}}
    - type: WriteToParquet
      input: EstimateMeasures.measures
      config: {path: {{ measures }}}
    - type: DesignRound
      input: JoinLabels.counts
      config: {workspace: {{ workspace }}, size: 40}
    - type: WriteToText
      name: WriteChances
      input: DesignRound
      config: {path: {{ chances }}}
providers:
  - include: providers.yaml
"""
"""Labels of the rounds that a workspace has: their rows are read from it."""


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["poisson", *slowly("calibrated", "ais")])
def test_labels_of_the_rounds_of_a_workspace(labelled: Any, sampler: str) -> None:
    one, labels, wanted = labelled(2, sampler=sampler)
    made = {name: one.directory / name for name in ("estimates", "measures", "chances")}
    without, of_design, providers = OF_WORKSPACE.partition("    - type: DesignRound")
    if sampler == "ais":
        of_design, providers = "", OF_WORKSPACE[OF_WORKSPACE.index("providers:") :]
    run(without + of_design + providers, workspace=one.workspace, labels=labels, **made)
    [estimate] = lines_of(made["estimates"])
    assert estimate["measures"] == wanted["measures"]
    [measures] = one.directory.glob("measures*")
    numbers = {"window_start": None, "window_end": None}
    rows = [{name: (numbers | row)[name] for name in MEASURE} for row in wanted["measures"]]
    assert pq.read_table(measures).to_pylist() == rows
    if sampler != "ais":
        [path] = one.directory.glob("chances*")
        assert json.loads(path.read_text()) == design_round(one.workspace, 40).to_mapping()


OF_ROWS = """
pipeline:
  transforms:
    - type: ReadFromCsv
      name: Labels
      config: {path: {{ labels }}}
    - type: ReadFromParquet
      name: Pool
      config: {path: {{ pool }}}
    - type: AssignCells
      input: Pool
      config: {workspace: {{ workspace }}}
    - type: JoinLabels
      input: Labels
      config: {workspace: {{ workspace }}}
    - type: EstimateMeasures
      input: {counts: JoinLabels.counts, cells: AssignCells}
      config: {workspace: {{ workspace }}}
    - type: WriteToText
      input: EstimateMeasures.json
      config: {path: {{ estimates }}}
    - type: DesignRound
      input: {counts: JoinLabels.counts, cells: AssignCells}
      config: {workspace: {{ workspace }}, size: 40}
    - type: WriteToText
      name: WriteChances
      input: DesignRound
      config: {path: {{ chances }}}
providers:
  - include: providers.yaml
"""
"""The pool is that of the rows given."""


@pytest.mark.slow
def test_pool_of_the_rows_given(labelled: Any) -> None:
    """Rows of the workspace's own pool: the same numbers, slices among them."""
    one, labels, wanted = labelled(sampler="calibrated")
    given = variables(one, labels)
    run(OF_ROWS, **given, chances=one.directory / "chances")
    [made] = lines_of(given["estimates"])
    assert made["rows"] == 1500
    assert made["measures"] == wanted["measures"]
    assert {row["slice"] for row in made["measures"]} > {None, "side=left"}
    assert lines_of(one.directory / "chances") == [design_round(one.workspace, 40).to_mapping()]


NEXT_ROUND = """
pipeline:
  transforms:
    - type: ReadFromParquet
      name: Rows
      config: {path: {{ kept }}}
    - type: ReadFromCsv
      name: Labels
      config: {path: {{ labels }}}
    - type: JoinLabels
      input: {labels: Labels, rows: Rows}
      config: {workspace: {{ workspace }}}
    - type: DesignRound
      input: JoinLabels.counts
      config: {workspace: {{ workspace }}, size: 60, round: {{ round }}}
    - type: WriteToText
      input: DesignRound
      config: {path: {{ chances }}}
providers:
  - include: providers.yaml
"""


@pytest.mark.slow
def test_rounds_by_transforms_alone_are_those_of_the_commands(job: Any) -> None:
    """Two rounds whose chances are files: the workspace knows neither, the command's copy both."""
    one = job(make_pool(1500, seed=3), sampler="poisson")
    assert one.prepare("--in-process").status == 0
    by_command = dataclasses.replace(one, workspace=one.directory / "copy")
    shutil.copytree(one.workspace, by_command.workspace)
    given = variables(one, one.directory / "labels.csv")
    first, kept = one.directory / "first.json", given["kept"].parent
    write_chances(design_round(one.workspace, 60), first)
    assert by_command.sample("--size", 60).status == 0
    wanted = by_command.estimate("--labels", by_command.deliver(by_command.answers(1))).json
    run(file("sample.yaml"), **{**given, "round": first})
    run(NEXT_ROUND, **{**given, "kept": kept / "*", "round": first, "chances": one.directory / "c"})
    [second] = one.directory.glob("c-*")
    rounds = json.dumps([str(first), str(second)])
    run(file("sample.yaml"), **{**given, "round": rounds, "kept": kept / "more"})
    assert by_command.sample("--size", 60).status == 0
    tasks = (given["tasks"] / "tasks.csv").read_bytes()
    assert tasks == (by_command.round_directory(2) / "batch.csv").read_bytes()
    answers = by_command.deliver(by_command.answers(2), "second.csv")
    wanted = by_command.estimate("--labels", answers).json
    by_command.deliver([*by_command.answers(1), *by_command.answers(2)])
    run(file("estimate.yaml"), **{**given, "round": rounds, "kept": kept / "*"})
    [made] = lines_of(given["estimates"])
    assert made["measures"] == wanted["measures"]


WRONG = """
pipeline:
  transforms:
    - type: Create
      config:
        elements: [{id: 1, score: 0.5, prediction: 1, name: a, side: left, task: t, label: 1}]
    - type: AssignCells
      input: Create
      config: {workspace: {{ workspace }}}
    - type: JoinLabels
      input: Create
      config: {workspace: {{ workspace }}}
    - type: {{ type }}
      name: Wrong
      input: {{ input }}
      config: {{ config }}
providers:
  - include: providers.yaml
"""


@pytest.mark.parametrize(
    ("type", "input", "keys", "problem"),
    [
        ("AssignCells", "Create", {"workspace": "nowhere"}, r"nowhere.* prepare"),
        ("AssignCells", "Create", {"work": "x"}, r"unexpected argument 'work'"),
        ("AssignCells", "JoinLabels.counts", {}, r"column 'id' is missing; there are: counts"),
        ("SampleRound", "AssignCells", {}, r"missing 1 required argument: 'round'"),
        ("SampleRound", "AssignCells", {"round": 2}, r"round 2 was not drawn, there are 1"),
        ("SampleRound", "AssignCells", {"round": True}, r"round must be a number, or paths .*True"),
        ("SampleRound", "AssignCells", {"round": [1]}, r"round must be a number, or paths .*got 1"),
        ("SampleRound", "AssignCells", {"round": 1, "budget": "x"}, r"budget must be a number"),
        ("SampleRound", "AssignCells", {"round": 1, "budget": 9}, r"FixedWindows"),
        ("SampleRound", "AssignCells", {"round": "nowhere.json"}, r"nowhere.json"),
        ("SampleRound", "Create", {"round": 1}, r"takes what AssignCells gives: column 'rows' is"),
        ("WriteTasks", "AssignCells", {"folder": "x"}, r"WriteTasks: column 'task' is missing"),
        ("JoinLabels", "AssignCells", {}, r"JoinLabels: column 'task' is missing"),
        ("JoinLabels", "Create", {"by": "name"}, r"by task or id, not by 'name'"),
        ("JoinLabels", "{labels: Create, row: Create}", {}, r"'row' is unknown; .*: labels, rows"),
        ("JoinLabels", "{labels: Create, rows: Create}", {}, r"column 'round' is missing"),
        ("EstimateMeasures", "Create", {}, r"takes what JoinLabels gives: column 'counts' is"),
        ("EstimateMeasures", "JoinLabels.counts", {"round": 7}, r"round 7 was not drawn"),
        ("EstimateMeasures", "{cells: AssignCells}", {}, r"column 'counts' is missing"),
        ("DesignRound", "JoinLabels.counts", {"size": "ten"}, r"size must be a whole number"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_when_the_pipeline_is_built(
    drawn_for_yaml: Job, type: str, input: str, keys: dict[str, Any], problem: str
) -> None:
    config = json.dumps({"workspace": str(drawn_for_yaml.workspace), **keys})
    given = {"type": type, "input": input, "config": config}
    with pytest.raises(ValueError, match=problem) as raised:
        expand(WRONG, beam.Pipeline(), workspace=drawn_for_yaml.workspace, **given)
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_labels_of_pairs_come_by_their_columns(job: Any) -> None:
    one = job(pair_pool(600), pool={"id": IDS}, sampler="poisson", round_size=40)
    one.in_process = True
    assert one.prepare().status == one.sample().status == 0
    answers = [(*json.loads(id), str(one.pool.truth[id])) for _, id in one.asked(1)]
    names = (*IDS, "label")
    rows = [beam.Row(**dict(zip(names, row, strict=True))) for row in answers]
    rows.append(beam.Row(unique_id_l="zz", unique_id_r="q", label="1"))
    kind = RowTypeConstraint.from_fields([(name, str) for name in names])
    with beam.Pipeline("FnApiRunner", PipelineOptions(["--pickle_library=cloudpickle"])) as root:
        labels = root | beam.Create(rows).with_output_types(kind)
        joined = labels | beam_yaml.JoinLabels(str(one.workspace), by="id")
        made = joined["counts"] | beam_yaml.EstimateMeasures(str(one.workspace))
        for name, given in (("rejects", joined["rejects"]), ("json", made["json"])):
            lines = given | f"{name} lines" >> beam.Map(lambda row: json.dumps(row.as_dict()))
            path = str(one.directory / name)
            lines | f"{name} file" >> beam.io.WriteToText(path, shard_name_template="")
    (reject,) = lines_of(one.directory / "rejects")
    assert [*reject] == ["task", *IDS, "label", "reason"]
    assert (reject[IDS[0]], reject[IDS[1]]) == ("zz", "q")
    (estimated,) = lines_of(one.directory / "json")
    path = one.deliver(answers, header=",".join(names))
    by_command = one.estimate("--labels", path).json["measures"]
    assert json.loads(estimated["json"])["measures"] == by_command

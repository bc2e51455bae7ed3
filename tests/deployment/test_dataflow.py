"""Flex Templates: built as their launcher would, without a cloud, and run elsewhere."""

import argparse
import ast
import base64
import bz2
import importlib
import json
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.pipeline_context import PipelineContext
from packaging.requirements import Requirement
from packaging.version import Version

from tests.jobs import files_below, loaded, make_pool

pytest.importorskip("google.cloud.dataflow", reason="needs the extra gcp")

ROOT = Path(__file__).resolve().parents[2]
DATAFLOW = ROOT / "deployment" / "dataflow"
PIPELINES = ("prepare", "sample", "estimate")
IMAGE = "europe-west1-docker.pkg.dev/project/evalsampling/prepare:1"
STAGING = "gs://bucket/staging"
FROM_THE_LAUNCHER = [
    "--runner=DataflowRunner",
    "--project=my-project",
    "--region=europe-west1",
    "--job_name=job",
    "--temp_location=gs://bucket/temp",
    f"--staging_location={STAGING}",
    f"--template_location={STAGING}/template_launches/1/job_object",
    "--service_account_email=worker@my-project.iam.gserviceaccount.com",
    "--machine_type=e2-standard-4",
    "--max_num_workers=10",
    "--network=default",
    "--subnetwork=regions/europe-west1/subnetworks/default",
]

# --- parameters


def metadata(pipeline: str) -> dict[str, Any]:
    return json.loads((DATAFLOW / "metadata" / f"{pipeline}.json").read_text())


def parameters(pipeline: str) -> dict[str, dict[str, Any]]:
    return {parameter["name"]: parameter for parameter in metadata(pipeline)["parameters"]}


class Found(Exception):  # noqa: N818
    """Ends a program once its parser is known."""


def options(pipeline: str, monkeypatch: pytest.MonkeyPatch) -> list[argparse.Action]:
    """The options that a pipeline parses itself."""
    parsers = []

    def find(parser: argparse.ArgumentParser, _: Any) -> None:
        parsers.append(parser)
        raise Found

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", find)
    with pytest.raises(Found):
        importlib.import_module(f"evalsampling.pipelines.{pipeline}").main([])
    monkeypatch.undo()
    return [action for action in parsers[0]._actions if action.dest not in ("help", "no_wait")]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_parameters_are_the_options(pipeline: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {action.dest: action for action in options(pipeline, monkeypatch)}
    described = parameters(pipeline)
    assert described.keys() == known.keys()
    for name, parameter in described.items():
        assert f"--{name}" in known[name].option_strings
        assert parameter["isOptional"] is not known[name].required
        flag = tuple(known[name].choices or ()) == ("true", "false")
        assert not flag or (known[name].const, known[name].default) == ("true", "false")
        assert (parameter["paramType"] == "BOOLEAN") is flag
        assert (parameter["paramType"] == "NUMBER") is (known[name].type is int)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_metadata_is_of_the_form_templates_have(pipeline: str) -> None:
    content = metadata(pipeline)
    assert content.keys() == {"name", "description", "parameters"}
    keys = {"name", "label", "helpText", "isOptional", "regexes", "paramType"}
    kinds = {
        "TEXT", "BOOLEAN", "NUMBER", "GCS_READ_FILE", "GCS_WRITE_FILE", "GCS_WRITE_FOLDER",
    }  # fmt: skip
    for parameter in content["parameters"]:
        assert parameter.keys() == keys
        assert parameter["paramType"] in kinds
        assert re.fullmatch("[a-z][a-z_]*", parameter["name"])
        assert all(regex[0] == "^" and regex[-1] == "$" for regex in parameter["regexes"])
        example = parameter["helpText"].partition("Example: ")[2]
        assert not example or re.search(parameter["regexes"][0], example)


def test_only_labels_has_the_name_of_an_option_of_beam() -> None:
    ours = {name for pipeline in PIPELINES for name in parameters(pipeline)}
    assert ours & PipelineOptions([]).get_all_options().keys() == {"labels"}


@pytest.mark.parametrize(
    ("pipeline", "name", "good", "bad"),
    [
        (
            "prepare", "spec",
            ["gs://my-bucket/evaluation.yaml", "gs://a.b_c-1/x y/z.yml"],
            ["evaluation.yaml", "/x.yaml", "gs://B/x.yaml", "gs://bucket.yaml", "gs://bucket/x.json",
             "s3://bucket/x.yaml", "gs://bucket/x.yaml\n--x"],
        ),
        ("prepare", "check_ids", ["true", "false"], ["True", "yes", "1", "", "true false"]),
        (
            "sample", "workspace",
            ["gs://my-bucket/run", "gs://my-bucket/runs/2026/abt-buy"],
            ["gs://my-bucket", "gs://my-bucket/run/", "run", "gs:///run"],
        ),
        ("sample", "size", ["1", "100"], ["0", "-1", "1.5", "01", "", "ten"]),
        ("estimate", "labels", ["gs://my-bucket/a.csv", "gs://my-bucket/b/c.parquet",
                                "gs://my-bucket/d.jsonl"],
         ["gs://my-bucket/a.txt", "a.csv", "gs://my-bucket/.csv/"]),
        ("estimate", "measure", ["f1", "module:Measure"], ["", "f1\nx", "1f", "f1;rm"]),
    ],
)  # fmt: skip
def test_regexes(pipeline: str, name: str, good: list[str], bad: list[str]) -> None:
    (regex,) = parameters(pipeline)[name]["regexes"]
    assert [value for value in good if not re.search(regex, value)] == []
    assert [value for value in bad if re.fullmatch(regex, value)] == []


# --- the jobs that launchers build


@pytest.fixture(scope="module")
def staged() -> Iterator[dict[str, bytes]]:
    """What goes to the staging bucket, by address; there is no other way out."""
    client = importlib.import_module("apache_beam.runners.dataflow.internal.apiclient")
    found: dict[str, bytes] = {}

    def stage(_: Any, folder: str, name: str, stream: Any, *__: Any, **___: Any) -> None:
        found[f"{folder}/{name}"] = stream.read()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client.DataflowApplicationClient, "stage_file", stage)
        patch.setattr(client, "get_service_credentials", lambda _: None)
        patch.setattr(client, "create_storage_client", lambda *_: None)
        patch.setattr(GoogleCloudOptions, "_warn_if_soft_delete_policy_enabled", lambda *_: None)
        yield found


def launch(staged: dict[str, bytes], pipeline: str, *arguments: str) -> None:
    """Do as the launcher does in the image of a pipeline."""
    staged.clear()
    module = loaded(DATAFLOW / "launch.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIPELINE", pipeline)
        patch.setenv("IMAGE", IMAGE)
        patch.setattr(sys, "argv", ["launch.py", *arguments, *FROM_THE_LAUNCHER])
        module.main()


def graph(staged: dict[str, bytes]) -> Any:
    (content,) = (staged[name] for name in staged if name.endswith("/pipeline.pb"))
    return beam_runner_api_pb2.Pipeline.FromString(content)


def write_spec(directory: Path, pool: str, workspace: Path) -> Path:
    content = {
        "pool": {"path": pool, "payload": ["name"]},
        "strata": {"leaves": 16},
        "budget": 200,
        "round_size": 20,
        "seed": 5,
        "workspace": str(workspace),
    }
    path = directory / "evaluation.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def template(
    staged: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """What the launcher of `prepare` writes, of a pool in a bucket that it never sees."""
    directory = tmp_path_factory.mktemp("template")
    spec = write_spec(directory, "gs://pools/abt-buy/*.parquet", directory / "workspace")
    launch(staged, "prepare", f"--spec={spec}", "--check_ids=true")
    assert not (directory / "workspace").exists()
    return dict(staged)


@pytest.fixture(scope="module")
def prepare(template: dict[str, bytes]) -> Any:
    return graph(template)


def steps(pipeline: Any) -> dict[str, Any]:
    """Steps without parts, by name."""
    transforms = pipeline.components.transforms.values()
    return {step.unique_name: step for step in transforms if not step.subtransforms}


def makers(pipeline: Any) -> dict[str, Any]:
    """The step that makes each collection."""
    return {made: step for step in steps(pipeline).values() for made in step.outputs.values()}


def side_inputs(step: Any) -> list[str]:
    """Collections that a step gets as side inputs."""
    if step.spec.urn != common_urns.primitives.PAR_DO.urn:
        return []
    known = beam_runner_api_pb2.ParDoPayload.FromString(step.spec.payload).side_inputs
    return [step.inputs[name] for name in sorted(known)]


def fused_before(pipeline: Any, name: str) -> list[str]:
    """Steps that may run in one bundle with a step and come before it."""
    made_by, step, found = makers(pipeline), steps(pipeline)[name], []
    while True:
        (made,) = set(step.inputs.values()) - set(side_inputs(step))
        step = made_by[made]
        if step.spec.urn == common_urns.primitives.GROUP_BY_KEY.urn:
            return found
        assert step.spec.urn != common_urns.primitives.IMPULSE.urn, (
            f"{name} is fused with its items"
        )
        found.append(step.unique_name)


def test_template_names_image_and_staged_files(template: dict[str, bytes]) -> None:
    job = json.loads(template[f"{STAGING}/template_launches/1/job_object"])
    (pool,) = job["environment"]["workerPools"]
    (container,) = pool["sdkHarnessContainerImages"]
    assert container["containerImage"] == IMAGE
    assert pool["machineType"] == "e2-standard-4"
    staged = {name.rpartition("/")[2] for name in template}
    # Beam's registries of coders and a list of versions; neither code nor data of ours.
    assert staged == {
        "job_object", "pipeline.pb", "pickled_main_session",
        "submission_environment_dependencies.txt",
    }  # fmt: skip
    assert sum(map(len, template.values())) < 200_000


@pytest.mark.slow
def test_labels_of_the_job_are_given_as_label(staged: dict[str, bytes]) -> None:
    launch(staged, "estimate", "--workspace=gs://bucket/run", "--label=team=quality")
    job = json.loads(staged[f"{STAGING}/template_launches/1/job_object"])
    assert job["labels"] == {"team": "quality"}


def test_two_passes_read_spread_items(prepare: Any) -> None:
    reads = [name for name in steps(prepare) if name.endswith(("/ReadBatches", "/ReadCells"))]
    assert sorted(reads) == ["FetchCells/ReadCells", "FetchScores/ReadBatches"]
    for read in reads:
        fetch = read.partition("/")[0]
        fused = fused_before(prepare, read)
        assert all(name.startswith(f"{fetch}/SpreadItems/") for name in fused)
        assert {step.rpartition("/")[2] for step in fused} >= {"RemoveRandomKeys"}
    assert all("SpreadFiles" in step for step in fused_before(prepare, "InspectPool/InspectFiles"))


def test_what_was_found_reaches_steps_as_side_inputs(prepare: Any) -> None:
    made_by, known = makers(prepare), steps(prepare)

    def sources(name: str) -> set[str]:
        return {made_by[made].unique_name for made in side_inputs(known[name])}

    assert sources("PlanPool") == {"InspectPool/InspectFiles"}
    assert sources("FetchCells/ReadCells") == {"CutStrata/CutEdges"}
    # What takes batches has none: runners in Java would not fuse it with what makes them.
    for step in ("SumCells/SumBatches", "CountSlices/CountValues", "DrawReserve/KeepFirst",
                 "SummarizePool/Summarize"):  # fmt: skip
        assert not sources(step)
    assert sources("Commit") >= {
        "CutStrata/CutEdges", "SumCells/AddSums/UnKey", "CountSlices/AddCounts/UnKey",
        "WriteReserve", "CheckIds/CheckShares",
    }  # fmt: skip


def test_keys_have_deterministic_coders(prepare: Any) -> None:
    known = PipelineContext(prepare.components)
    grouped = {
        name: known.coders.get_by_id(prepare.components.pcollections[made].coder_id)
        for name, step in steps(prepare).items()
        if step.spec.urn == common_urns.primitives.GROUP_BY_KEY.urn
        for made in step.inputs.values()
    }
    assert len(grouped) == 8
    assert [
        name for name, coder in grouped.items() if not coder.key_coder().is_deterministic()
    ] == []
    ours = {name for name in grouped if not name.endswith("/CombinePerKey/GroupByKey")}
    for name in ours:
        kinds = prepare.components.coders[prepare.components.pcollections[
            next(iter(steps(prepare)[name].inputs.values()))
        ].coder_id].component_coder_ids  # fmt: skip
        assert prepare.components.coders[kinds[0]].spec.urn == common_urns.coders.VARINT.urn


def test_pickles_are_small_and_hold_no_code_of_the_launcher(prepare: Any) -> None:
    for name, step in steps(prepare).items():
        if step.spec.urn != common_urns.primitives.PAR_DO.urn:
            continue
        function = beam_runner_api_pb2.ParDoPayload.FromString(step.spec.payload).do_fn.payload
        packed = base64.b64decode(function)
        content = zlib.decompress(packed) if packed[:1] == b"\x78" else bz2.decompress(packed)
        assert len(content) < 10_000, name
        # A function that is pickled by value says where its file was.
        for path in (ROOT / "pipelines", ROOT / "evalsampling", DATAFLOW, "__main__"):
            assert str(path).encode() not in content, name


RUN_ELSEWHERE = f"""
import sys
from pathlib import Path
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

for path in sys.argv[1:]:
    pipeline = beam_runner_api_pb2.Pipeline.FromString(Path(path).read_bytes())
    for environment in pipeline.components.environments.values():
        environment.urn, environment.payload = {python_urns.EMBEDDED_PYTHON!r}, b""
        del environment.dependencies[:]
    FnApiRunner().run_via_runner_api(pipeline, PipelineOptions([])).wait_until_finish()
"""
"""Runs graphs in a process that has loaded nothing of ours, as a worker has."""


@pytest.mark.slow
def test_graphs_do_all_the_work_elsewhere(staged: dict[str, bytes], tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    pool = make_pool(rows=500).write(tmp_path / "pool", files=2)
    spec = write_spec(tmp_path, str(pool), workspace)
    given = {
        "prepare": [f"--spec={spec}"],
        "sample": [f"--workspace={workspace}", f"--output={tmp_path / 'sampled.json'}", "--size=7"],
        "estimate": [
            f"--workspace={workspace}", f"--output={tmp_path / 'estimated.json'}", "--close=true",
        ],
    }  # fmt: skip
    paths = []
    for pipeline in PIPELINES:
        launch(staged, pipeline, *given[pipeline])
        path = tmp_path / f"{pipeline}.pb"
        path.write_bytes(graph(staged).SerializeToString())
        paths.append(path)
    assert not workspace.exists()

    done = subprocess.run(
        [sys.executable, "-c", RUN_ELSEWHERE, *paths], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads((workspace / "evaluation.json").read_text())["rows"] == 500
    assert json.loads((tmp_path / "sampled.json").read_text())["result"]["rows"] == 7
    estimated = json.loads((tmp_path / "estimated.json").read_text())["result"]
    assert (estimated["round"], estimated["open"]) == (1, 0)
    assert "rounds/0001/closed.json" in files_below(workspace)


# --- image and scripts


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile, comments dropped and lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (DATAFLOW / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]  # type: ignore[misc]


def pins() -> dict[str, Version]:
    lines = (DATAFLOW / "requirements.txt").read_text().splitlines()
    pinned = [
        Requirement(line.removesuffix("\\"))
        for line in lines
        if not line.startswith("#") and "--hash=" not in line
    ]
    assert all(re.fullmatch("==[^*,]+", str(pin.specifier)) for pin in pinned)
    return {pin.name: Version(str(pin.specifier)[2:]) for pin in pinned}


def test_pins_are_in_the_ranges_of_setup_py() -> None:
    (call,) = (
        node
        for node in ast.walk(ast.parse((ROOT / "setup.py").read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "setup"
    )
    said = {keyword.arg: keyword.value for keyword in call.keywords}
    wanted = ast.literal_eval(said["install_requires"])
    wanted += ast.literal_eval(said["extras_require"])["gcp"]
    pinned = pins()
    for requirement in map(Requirement, wanted):
        assert pinned[requirement.name] in requirement.specifier, requirement


def test_every_package_has_hashes_and_none_an_index() -> None:
    text = (DATAFLOW / "requirements.txt").read_text().replace("\\\n", " ")
    assert "://" not in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == len(pins()) > 50
    assert all(re.fullmatch(r"\S+==\S+( +--hash=sha256:[0-9a-f]{64})+", line) for line in lines)


def images() -> list[str]:
    """All that the image is made from, as the Dockerfile names them."""
    words = " ".join(text for word, text in instructions() if word in ("FROM", "COPY"))
    return re.findall(r"(?:--from=)?(\S+:\d\S*)", words)


def test_images_without_a_digest_are_those_that_the_page_tells_of() -> None:
    assert len(images()) == 3
    plain = [image for image in images() if not re.search(r"@sha256:[0-9a-f]{64}$", image)]
    page = (ROOT / "docs/dataflow.md").read_text()
    assert ["beam" in plain[0], "launcher" in plain[1], len(plain)] == [True, True, 2]
    assert "Those of Beam and of the launcher are named by version alone" in page
    builders = {step["name"] for step in cloud_build()["steps"]}
    assert builders == {"gcr.io/cloud-builders/docker"}
    assert "(`gcr.io/cloud-builders/docker`) has neither version nor digest" in page


def test_dockerfile_fits_the_project() -> None:
    known = instructions()
    bases = [text.split()[0] for word, text in known if word == "FROM"]
    copied = [text.split() for word, text in known if word == "COPY"]
    foreign = [
        words[0].removeprefix("--from=") for words in copied if words[0].startswith("--from")
    ]
    for image in bases + foreign:
        tag = image.rpartition(":")[2]
        assert re.search(r"\d", tag), f"{image} has no fixed version"
    python = "3.11"
    assert bases[0].startswith(f"python:{python}.")
    assert f"apache/beam_python{python}_sdk:{pins()['apache-beam']}" in foreign
    assert any(f"python{python.replace('.', '')}-template-launcher" in image for image in foreign)
    for words in copied:
        if not words[0].startswith("--from"):
            assert all((ROOT / source).exists() for source in words[:-1])
    environment = dict(
        pair.split("=", 1) for word, text in known if word == "ENV" for pair in text.split()
    )
    assert environment == {
        "FLEX_TEMPLATE_PYTHON_PY_FILE": "/template/launch.py",
        "PIPELINE": "${PIPELINE}",
        "IMAGE": "${IMAGE}",
    }
    assert ("WORKDIR", "/template") in known
    assert [text for word, text in known if word == "ARG"] == ["PIPELINE", "IMAGE"]
    assert known[-1] == ("ENTRYPOINT", '["/opt/apache/beam/boot"]')


def cloud_build() -> Any:
    return yaml.safe_load((DATAFLOW / "cloudbuild.yaml").read_text())


def test_every_pipeline_is_built_under_the_name_its_image_knows() -> None:
    config = cloud_build()
    names = ["${_IMAGES}/" + pipeline + ":${_TAG}" for pipeline in PIPELINES]
    assert config["images"] == names
    for pipeline, name, step in zip(PIPELINES, names, config["steps"], strict=True):
        assert f"--build-arg=PIPELINE={pipeline}" in step["args"]
        assert f"--build-arg=IMAGE={name}" in step["args"]
        assert f"--tag={name}" in step["args"]


def tool(name: str) -> str:
    """A program installed beside this Python."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_dockerfile_passes_hadolint() -> None:
    done = subprocess.run(
        [tool("hadolint"), DATAFLOW / "Dockerfile"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_scripts_pass_shellcheck() -> None:
    scripts = sorted(DATAFLOW.glob("*.sh"))
    assert scripts
    done = subprocess.run([tool("shellcheck"), *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


GCLOUD = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$CALLS"
"""


@pytest.fixture
def gcloud(tmp_path: Path) -> Iterator[Path]:
    """A `gcloud` that writes down how it is called; the settings of the scripts."""
    program = tmp_path / "bin" / "gcloud"
    program.parent.mkdir()
    program.write_text(GCLOUD)
    program.chmod(0o755)
    calls = tmp_path / "calls"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        patch.setenv("CALLS", str(calls))
        settings = {
            "PROJECT": "p", "REGION": "r", "REPOSITORY": "images", "TEMPLATES": "gs://t/e",
            "TAG": "1", "TEMP": "gs://temp", "WORKER": "worker@p",
        }  # fmt: skip
        for name, value in settings.items():
            patch.setenv(name, value)
        yield calls


def test_build_script_writes_a_template_of_each_image(gcloud: Path) -> None:
    done = subprocess.run([DATAFLOW / "build.sh"], check=True, capture_output=True, text=True)
    plain = [image for image in images() if "@sha256:" not in image]
    assert [line.split()[1] for line in done.stderr.splitlines()] == plain
    build, *templates = gcloud.read_text().splitlines()
    assert "--substitutions=_IMAGES=r-docker.pkg.dev/p/images,_TAG=1" in build
    for pipeline, line in zip(PIPELINES, templates, strict=True):
        assert f"flex-template build gs://t/e/{pipeline}.json" in line
        assert f"--image=r-docker.pkg.dev/p/images/{pipeline}:1" in line
        assert f"/metadata/{pipeline}.json" in line


@pytest.mark.parametrize(("pipeline", "workers"), [("prepare", 10), ("sample", 1)])
def test_run_script_gives_parameters(gcloud: Path, pipeline: str, workers: int) -> None:
    subprocess.run([DATAFLOW / "run.sh", pipeline, "a=gs://b/x, y", "next=true"], check=True)
    (line,) = gcloud.read_text().splitlines()
    assert "--parameters=^|^a=gs://b/x, y|next=true" in line
    assert f"--template-file-gcs-location=gs://t/e/{pipeline}.json" in line
    assert f"--max-workers={workers} " in line


def test_scripts_say_what_they_miss(gcloud: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEMPLATES")
    for script in ("build.sh", "run.sh"):
        done = subprocess.run([DATAFLOW / script], capture_output=True, text=True)
        assert done.returncode != 0
        assert "TEMPLATES" in done.stderr
    assert not gcloud.exists()

"""Cron, Cloud Workflows and Airflow: whole evaluations, stop rules, what is killed half-way."""

import ast
import csv
import fcntl
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.deployment.workflows import Workflow, WorkflowError, expression, walk
from tests.jobs import Job, call, make_pool

DEPLOYMENT = Path(__file__).resolve().parents[2] / "deployment"
SCRIPT = DEPLOYMENT / "cron/evaluate.py"
WORKFLOW = (DEPLOYMENT / "workflows/workflow.yaml").read_text("utf-8")
NAMES = ["-x.csv", "--labels 'a'.csv", 'b "$(id)" `id`.csv', "c\n;&|*?.csv", "é ü.jsonl.csv"]


@pytest.fixture
def scheduled(job: Callable[..., Job]) -> Job:
    # Half of the predictions are wrong, so that the first round has an interval.
    wrong = {"prediction": {"threshold": -2.0}}
    keys = {"measure": ["accuracy", "specificity"], "sampler": "passive", "pool": wrong}
    made = job(make_pool(4000), budget=60, round_size=20, **keys)
    (made.directory / "in box").mkdir()
    return made


def answer(job: Job, inbox: Path, number: int, name: str) -> None:
    """Deliver the labels of a round in two files."""
    rows = job.answers(number)
    for place, part in ((inbox / f"{number}{name}", rows[::2]), (inbox / name, rows[1::2])):
        with place.open("w", newline="") as file:
            csv.writer(file).writerows([("task", "label"), *part])


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- cron


class Killed(BaseException):
    """Stands for SIGKILL, after a command and before anyone heard of it."""


@pytest.fixture
def cron(
    scheduled: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Run a pass in this process: `cron()`; `cron("--half-width", 0.1, kill=2)`."""
    evaluate = load(SCRIPT)

    def run(*options: Any, status: int = 0, kill: int = 0) -> dict[str, Any]:
        left = iter(range(kill - 1, -1, -1))

        def command(_: Any, *arguments: str) -> Any:
            result = call(*arguments, "--json")
            if next(left, 1) == 0:
                raise Killed
            if result.status:
                raise subprocess.CalledProcessError(result.status, arguments)
            return result.json

        monkeypatch.setattr(evaluate.Command, "__call__", command)
        inbox = scheduled.directory / "in box"
        given = [scheduled.spec, "--inbox", inbox, *options]
        assert evaluate.main([str(one) for one in given]) == status
        out = capsys.readouterr().out
        return json.loads(out) if out else {}

    return run


@pytest.mark.slow
def test_cron_goes_on_to_the_budget_whatever_the_names_of_files(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    inbox = scheduled.directory / "in box"
    assert cron()["open"] == 20
    for number, name in zip((1, 2, 3), NAMES, strict=False):
        for _ in range(2):
            told = cron()
            assert (told["state"], told["round"]) == ("labelling", number)
            assert Path(told["batch"]).parent == scheduled.round_directory(number)
        answer(scheduled, inbox, number, name)
    told = cron()
    assert (told["state"], told["labels"], told["refused"]) == ("done", 60, [])
    assert cron() | {"time": None} == told | {"time": None}
    assert len(list(scheduled.workspace.glob("labels/*.parquet"))) == 6


@pytest.mark.slow
def test_cron_killed_after_any_command_goes_on(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    inbox = scheduled.directory / "in box"
    kills = 0
    for number in (1, 2):
        for kill in (1, 2, 3, 4):
            try:
                cron(kill=kill)
            except Killed:
                kills += 1
        assert cron()["round"] == number
        answer(scheduled, inbox, number, NAMES[number])
    for kill in (1, 2, 3, 4):
        with pytest.raises(Killed):
            cron(kill=kill)
    told = cron()
    assert (told["round"], told["labels"], told["open"]) == (3, 40, 20)
    assert kills == 7


def test_cron_stops_when_intervals_are_narrow(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    cron()
    answer(scheduled, scheduled.directory / "in box", 1, "a.csv")
    assert cron("--half-width", 1, "--measure", "accuracy")["state"] == "narrow"
    assert cron("--half-width", 1e-9)["round"] == 2
    assert cron("--measure", "nonsense", status=1) == {}


def test_cron_takes_what_can_be_read_and_names_what_cannot(
    scheduled: Job, cron: Callable[..., dict[str, Any]]
) -> None:
    inbox = scheduled.directory / "in box"
    cron()
    answer(scheduled, inbox, 1, "m.csv")
    for name in ("a.csv", "z.jsonl", ".hidden.csv", "notes.txt"):
        (inbox / name).write_text("no labels")
    (inbox / "folder.csv").mkdir()
    os.mkfifo(inbox / "pipe.csv")
    told = cron(status=1)
    assert told["refused"] == [str(inbox / "a.csv"), str(inbox / "z.jsonl")]
    assert (told["labels"], told["round"]) == (20, 2)


def test_cron_follows_no_link_in_the_inbox(
    scheduled: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may write into it could make the job read any file that it may read."""
    inbox = scheduled.directory / "in box"
    kept = scheduled.deliver([("t_a", "1")], "in box/a.csv")
    (inbox / "b.csv").symlink_to(scheduled.deliver([("t_b", "1")], "secret.csv"))
    assert load(SCRIPT).deliveries(inbox) == [str(kept)]
    assert f"{inbox}/b.csv: a symbolic link, passed over" in capsys.readouterr().err


@pytest.mark.slow
def test_cron_as_a_process_killed_and_run_again(scheduled: Job) -> None:
    inbox = scheduled.directory / "in box"
    for name in NAMES:
        (inbox / name).write_text("task,label\nt_unknown,1\n")
    line = [sys.executable, SCRIPT, scheduled.spec, "--inbox", inbox]
    first = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    wait_until(lambda: (scheduled.workspace / ".preparing").exists())
    first.send_signal(signal.SIGKILL)
    first.wait()
    # The command it had begun holds the lock until it ends.
    wait_until(lambda: not locked(scheduled.directory / "in box"))
    assert (scheduled.workspace / "evaluation.json").exists()
    done = subprocess.run(line, capture_output=True, timeout=100)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["open"], told["refused"]) == (20, [])
    assert done.stderr.count(b"0 taken, 1 rejected") == 1
    assert done.stderr.count(b"taken before, nothing changed") == len(NAMES) - 1


def test_cron_twice_at_once_is_busy_though_the_spec_was_saved_anew(scheduled: Job) -> None:
    """By an editor that writes another file and gives it the name: no pass may lock that one."""
    evaluate = load(SCRIPT)
    line = [sys.executable, SCRIPT, scheduled.spec, "--inbox", scheduled.directory / "in box"]
    with evaluate.alone(scheduled.directory / "in box") as lock:
        assert lock is not None
        saved = scheduled.spec.with_suffix(".new")
        saved.write_text(scheduled.spec.read_text())
        saved.rename(scheduled.spec)
        done = subprocess.run(line, stdout=subprocess.PIPE, check=True, timeout=60)
    assert json.loads(done.stdout)["state"] == "busy"
    assert not scheduled.workspace.exists()


def locked(path: Path) -> bool:
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# --- Cloud Workflows


class Cloud:
    """A bucket that is a directory, and Dataflow, which calls the command line."""

    def __init__(self, job: Job) -> None:
        self.directory = job.directory
        self.jobs: list[str] = []
        self.passes = 1
        self.workflow = Workflow(
            WORKFLOW,
            {
                "googleapis.workflowexecutions.v1"
                ".projects.locations.workflows.executions.list": self.executions,
                "googleapis.dataflow.v1b3.projects.locations.flexTemplates.launch": self.launch,
                "googleapis.dataflow.v1b3.projects.locations.jobs.get": self.get_job,
                "googleapis.storage.v1.objects.list": self.list_objects,
                "googleapis.storage.v1.objects.get": self.get_object,
                "sys.sleep": lambda seconds: None,
            },
            {
                "GOOGLE_CLOUD_PROJECT_ID": "p",
                "GOOGLE_CLOUD_LOCATION": "l",
                "GOOGLE_CLOUD_WORKFLOW_ID": "w",
            },
        )

    def run(self, **settings: Any) -> Any:
        """Run a pass."""
        return self.workflow.run(
            bucket="bucket",
            folder="f",
            name="n",
            region="r",
            templates="gs://t",
            tag="1",
            temp="gs://t",
            worker="w",
            max_workers=10,
            **settings,
        )

    def executions(self, parent: str, filter: str) -> Any:
        assert (parent, filter) == ("projects/p/locations/l/workflows/w", 'state="ACTIVE"')
        return {"executions": [{}] * self.passes}

    def launch(self, projectId: str, location: str, body: Any) -> Any:  # noqa: N803
        asked = body["launchParameter"]
        pipeline = re.fullmatch(r"gs://t/(\w+)-1\.json", asked["containerSpecGcsPath"])[1]
        check_parameters(pipeline, asked["parameters"])
        assert re.fullmatch("[a-z][-a-z0-9]*[a-z0-9]", asked["jobName"])
        local = {key: self.local(value) for key, value in asked["parameters"].items()}
        labels = ["--labels", local["labels"]] if "labels" in local else []
        done = call(pipeline, local.get("workspace") or local["spec"], *labels, "--json")
        if not done.status and "output" in local:
            local["output"].parent.mkdir(exist_ok=True)
            local["output"].write_text(json.dumps({"result": done.json}))
        self.jobs.append(pipeline)
        return {"job": {"id": f"{pipeline}:{done.status}", "currentState": "JOB_STATE_QUEUED"}}

    def local(self, path: str) -> Path:
        """Return where an object is in this test; its prepared workspace is `workspace`."""
        inside = path.removeprefix("gs://bucket/f/")
        return self.directory / re.sub("^run(?=/|$)", "workspace", inside)

    def get_job(self, projectId: str, location: str, jobId: str) -> Any:  # noqa: N803
        state = "JOB_STATE_DONE" if jobId.endswith(":0") else "JOB_STATE_FAILED"
        return {"id": jobId, "currentState": state}

    def list_objects(self, bucket: str, prefix: str, pageToken: str, maxResults: int) -> Any:  # noqa: N803
        """One object a page, as a service may."""
        found = sorted(self.objects(prefix))
        at = int(pageToken or 0)
        page = {"items": [self.describe(name) for name in found[at : at + 1]]} if found else {}
        return page | ({"nextPageToken": str(at + 1)} if at + 1 < len(found) else {})

    def objects(self, prefix: str) -> Iterator[str]:
        for path in self.directory.rglob("*"):
            name = "f/" + re.sub("^workspace/", "run/", str(path.relative_to(self.directory)))
            if path.is_file() and name.startswith(prefix):
                yield name

    def describe(self, name: str) -> dict[str, str]:
        status = self.local("gs://bucket/" + name).stat()
        generation = str(status.st_mtime_ns)
        return {"name": name, "generation": generation, "updated": str(status.st_mtime)}

    def get_object(self, bucket: str, object: str, alt: str) -> Any:
        assert "/" not in object
        path = self.local("gs://bucket/" + object.replace("%2F", "/"))
        if not path.exists():
            raise WorkflowError({"code": 404})
        return path.read_text()


def check_parameters(pipeline: str, given: Any) -> None:
    """Check parameters as Dataflow does."""
    metadata = json.loads((DEPLOYMENT / f"dataflow/metadata/{pipeline}.json").read_text())
    known = {one["name"]: one for one in metadata["parameters"]}
    assert set(given) <= set(known)
    assert {name for name, one in known.items() if not one.get("isOptional")} <= set(given)
    for name, value in given.items():
        assert all(re.search(pattern, value) for pattern in known[name].get("regexes", ()))


@pytest.mark.slow
def test_workflow_goes_on_to_the_budget(scheduled: Job) -> None:
    cloud = Cloud(scheduled)
    inbox = scheduled.directory / "inbox"
    inbox.mkdir()
    for number in (1, 2, 3):
        for _ in range(2):
            told = cloud.run(half_width=1e-9)
            assert (told["state"], told["round"]) == ("labelling", number)
        answer(scheduled, inbox, number, ["a b.csv", "-c'd.csv", "e#?%25.csv"][number - 1])
        (inbox / ".hidden.csv").write_text("no labels")
    told = cloud.run()
    assert (told["state"], told["labels"]) == ("done", 60)
    assert cloud.run() == told
    assert cloud.jobs == [
        "prepare", "sample", *["estimate", "estimate", "sample"] * 2, "estimate", "estimate"
    ]  # fmt: skip


@pytest.mark.slow
def test_workflow_takes_up_a_round_that_somebody_drew_by_hand(scheduled: Job) -> None:
    """It knows the labels of that round, and no batch yet."""
    scheduled.prepare()
    scheduled.sample()
    cloud = Cloud(scheduled)
    inbox = scheduled.directory / "inbox"
    inbox.mkdir()
    answer(scheduled, inbox, 1, "z.csv")
    (inbox / "z.csv").unlink()
    told = cloud.run()
    assert (told["state"], told["round"]) == ("labelling", 1)
    assert cloud.jobs == ["estimate", "sample"]


def test_workflow_waits_for_the_rest_of_a_round_and_refuses_what_cannot_be_read(
    scheduled: Job,
) -> None:
    cloud = Cloud(scheduled)
    inbox = scheduled.directory / "inbox"
    inbox.mkdir()
    cloud.run()
    answer(scheduled, inbox, 1, "z.csv")
    (inbox / "z.csv").rename(scheduled.directory / "kept")
    (inbox / "bad.csv").write_text("no labels")
    with pytest.raises(WorkflowError) as error:
        cloud.run()
    told = error.value.value
    assert (told["state"], told["round"], told["refused"]) == ("labelling", 1, ["f/inbox/bad.csv"])
    (inbox / "bad.csv").unlink()
    (scheduled.directory / "kept").rename(inbox / "z.csv")
    assert cloud.run()["round"] == 2


def test_workflow_killed_after_any_job_goes_on(scheduled: Job) -> None:
    cloud = Cloud(scheduled)
    inbox = scheduled.directory / "inbox"
    inbox.mkdir()
    look = cloud.get_job

    def killed(**_: Any) -> Any:
        raise Killed

    for number in (1, 2):
        # Prepared, drawn; then each time one job more.
        for _ in range(2):
            cloud.workflow.calls["googleapis.dataflow.v1b3.projects.locations.jobs.get"] = killed
            with pytest.raises(Killed):
                cloud.run()
        cloud.workflow.calls["googleapis.dataflow.v1b3.projects.locations.jobs.get"] = look
        assert cloud.run()["round"] == number
        answer(scheduled, inbox, number, "a.csv")
    assert cloud.jobs == ["prepare", "sample", "estimate", "estimate", "sample"]


def test_workflow_stops_when_narrow_and_only_one_pass_runs(job: Callable[..., Job]) -> None:
    """Of a pool whose every third label is another, so that 20 labels tell of errors."""
    pool = make_pool(4000)
    for id in list(pool.truth)[::3]:
        pool.truth[id] = 1 - pool.truth[id]
    scheduled = job(pool, budget=60, round_size=20, measure="accuracy", sampler="passive")
    cloud = Cloud(scheduled)
    cloud.passes = 2
    assert cloud.run() == {"state": "busy"}
    assert cloud.jobs == []
    cloud.passes = 1
    cloud.run()
    (scheduled.directory / "inbox").mkdir()
    answer(scheduled, scheduled.directory / "inbox", 1, "a.csv")
    told = cloud.run(half_width=1)
    assert (told["state"], told["labels"]) == ("narrow", 20)
    assert cloud.run(half_width=1e-9)["round"] == 2


def test_workflow_definition() -> None:
    definition = yaml.safe_load(WORKFLOW)
    for name, body in definition.items():
        assert set(body) == {"params", "steps"}, name
        steps = [step for value in walk(body) if isinstance(value, dict) for step in [value]]
        names = [key for value in walk(body) for key in names_of(value)]
        assert len(names) == len(set(names)), f"{name}: a step's name is used twice"
        jumps = {step["next"] for step in steps if isinstance(step.get("next"), str)}
        assert jumps <= {*names, "continue"}
        for value in walk(body):
            if isinstance(value, str) and "${" in value:
                ast.parse(re.sub(r"\bif\(", "if_(", expression(value)), mode="eval")
                assert len(value) <= 400, "the longest expression that Workflows takes"
    calls = {
        value["call"] for value in walk(definition) if isinstance(value, dict) and "call" in value
    }
    assert {one for one in calls if "." not in one} == set(definition) - {"main"}


@pytest.mark.parametrize("known", [False, True])
def test_scheduler_gives_the_workflow_its_settings(tmp_path: Path, known: bool) -> None:
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        f"print(json.dumps(sys.argv[1:]), file=open({str(tmp_path / 'calls')!r}, 'a'))\n"
        f"sys.exit('describe' in sys.argv and not {known})\n"
    )
    gcloud.chmod(0o755)
    given = {
        "PROJECT": "p", "REGION": "r", "NAME": "n", "BUCKET": "b", "FOLDER": "f/g",
        "TEMPLATES": "gs://t/u", "TAG": "1", "TEMP": "gs://x", "WORKER": "w@p",
        "SCHEDULE": "0 6 * * *",
    }  # fmt: skip
    subprocess.run(
        [DEPLOYMENT / "workflows/scheduler.sh"],
        env=given | {"HALF_WIDTH": "0.05", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=True,
    )
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    last = calls[-1]
    assert last[:4] == ["scheduler", "jobs", "update" if known else "create", "http"]
    assert "--schedule=0 6 * * *" in last
    [body] = [one.partition("=")[2] for one in last if one.startswith("--message-body=")]
    settings = json.loads(json.loads(body)["argument"])
    asked = set(re.findall(r"settings\.(\w+)", WORKFLOW)) | {"half_width"}
    assert set(settings) == asked
    assert (settings["half_width"], settings["max_workers"]) == (0.05, 10)
    assert all(settings[key.lower()] == given[key] for key in map(str.upper, asked) if key in given)
    granted = {one for call in calls for one in call if one.startswith("--role=")}
    page = (DEPLOYMENT.parent / "docs/scheduling.md").read_text("utf-8")
    assert granted == {f"--role={role}" for role in re.findall(r"\| `(roles/[\w.]+)` \|", page)}


def names_of(value: Any) -> list[str]:
    """Return the names of steps, if this is a list of them."""
    if isinstance(value, dict) and isinstance(value.get("steps"), list):
        return [name for step in value["steps"] for name in step]
    return []


# --- Airflow


def test_dag_without_airflow() -> None:
    tree = ast.parse((DEPLOYMENT / "airflow/evaluation_dag.py").read_text("utf-8"))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= {*sys.stdlib_module_names, "airflow", "yaml"}
    keywords = {one.arg for one in ast.walk(tree) if isinstance(one, ast.keyword)}
    assert "shell" not in keywords
    [evaluation] = [node for node in tree.body if getattr(node, "name", "") == "evaluation"]
    known = {one.arg for one in evaluation.args.args}
    listed = yaml.safe_load((DEPLOYMENT / "airflow/evaluations.yaml").read_text("utf-8"))
    assert all(set(settings) <= known for settings in listed.values())
    assert '"parameters": {"spec": spec},' in ast.unparse(tree).replace("'", '"')
    check_parameters("prepare", {"spec": "gs://bucket/evaluation.yaml"})

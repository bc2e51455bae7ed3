"""Checks the DAG under a real Airflow; check.sh makes the environment.

Imports the DAG file, looks at the structure of a DAG of either kind, and runs rounds of one on a
small pool, with annotators who answer through files. The command is killed the first time it is
called in each way, after its work and before it can tell the result.
"""

import csv
import json
import os
import random
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUND = ["prepare", "undecided", "sample", "wait_for_labels", "estimate"]


def make_pool(directory: Path) -> dict[str, int]:
    """Write a pool and its spec, and return the true label of each row by its payload."""
    rng = random.Random(1)
    truth = {}
    with (directory / "pool.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "score", "prediction", "name"])
        for row in range(5000):
            label = int(rng.random() < 0.05)
            score = rng.gauss(1.5 if label else -3, 1.5)
            writer.writerow([f"r{row}", score, int(score > 0), f"row {row}"])
            truth[f"row {row}"] = label
    spec = {
        "pool": {"path": str(directory / "pool.csv"), "payload": ["name"]},
        "measure": ["f1", "precision", "recall"],
        "budget": 1000,
        "round_size": 100,
        "seed": 1,
        "workspace": str(directory / "run"),
    }
    (directory / "evaluation.yaml").write_text(json.dumps(spec))
    return truth


def write_evaluations(directory: Path, command: Path) -> None:
    """Write evaluations.yaml: one to run, and one on Dataflow to look at."""
    here = {
        "command": str(command),
        "spec": str(directory / "evaluation.yaml"),
        "workspace": str(directory / "run"),
        "inbox": str(directory / "in box"),
        "half_width": 0.1,
        "poke_seconds": 1,
        "retry_seconds": 0.1,
    }
    dataflow = {"template": "gs://b/prepare.json", "project": "p", "location": "l"}
    there = here | {"spec": "gs://b/evaluation.yaml", "dataflow": dataflow}
    (directory / "in box").mkdir()
    (directory / "evaluations.yaml").write_text(json.dumps({"here": here, "there": there}))


def write_command(directory: Path, program: str) -> Path:
    """Write a command that runs the program, but is killed once by each subcommand."""
    command = directory / "evalsampling"
    command.write_text(
        f"""#!/bin/sh
{shlex.quote(program)} "$@" > "$0.$$" || exit
mkdir "$0.killed-$1" 2> /dev/null && kill -9 $$
cat "$0.$$"
"""
    )
    command.chmod(0o755)
    return command


def annotate(directory: Path, truth: dict[str, int]) -> None:
    """Answer half of each batch as soon as it is there, the rest a little later."""
    answered: set[Path] = set()
    while True:
        for batch in sorted(directory.glob("run/rounds/*/batch.csv")):
            if batch not in answered:
                answered.add(batch)
                with batch.open(newline="") as file:
                    rows = [(row["task"], truth[row["name"]]) for row in csv.DictReader(file)]
                for part in (0, 1):
                    deliver(directory / "in box", f"-x '{batch.parent.name}\n{part}", rows[part::2])
                    time.sleep(4)
        time.sleep(0.5)


def deliver(inbox: Path, name: str, rows: list[tuple[str, int]]) -> None:
    """Write a delivery under a hidden name, then give it its own."""
    draft = inbox / f".{name}.csv"
    with draft.open("w", newline="") as file:
        csv.writer(file).writerows([("task", "label"), *rows])
    draft.rename(inbox / f"{name}.csv")


def main(directory: Path, program: str) -> None:
    """Check all."""
    truth = make_pool(directory)
    write_evaluations(directory, write_command(directory, program))
    os.environ |= {
        "AIRFLOW_HOME": str(directory / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(HERE),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "EVALSAMPLING_EVALUATIONS": str(directory / "evaluations.yaml"),
    }
    subprocess.run(
        [sys.executable, "-m", "airflow", "db", "migrate"], check=True, stdout=subprocess.DEVNULL
    )
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(HERE)
    assert not bag.import_errors, bag.import_errors
    here, there = bag.dags["evaluate_here"], bag.dags["evaluate_there"]
    for dag, ids in ((here, ROUND), (there, ["unprepared", *ROUND])):
        assert [task.task_id for task in dag.topological_sort()] == ids
        assert [sorted(task.downstream_task_ids) for task in dag.topological_sort()] == [
            *([id] for id in ids[1:]), []
        ]  # fmt: skip
        assert all(task.retries == 3 for task in dag.tasks)
        assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert there.get_task("prepare").deferrable
    print("both DAGs import, their tasks are in order")

    threading.Thread(target=annotate, args=(directory, truth), daemon=True).start()
    for number in range(1, 11):
        run = here.test()
        tasks = {task.task_id: task for task in run.get_task_instances()}
        told = " ".join(f"{id}={tasks[id].state}({tasks[id].try_number})" for id in ROUND)
        print(f"run {number}: {run.state} {told}", flush=True)
        assert run.state == "success"
        if tasks["sample"].state == "skipped":
            break
        estimate = json.loads(
            max(directory.glob("run/estimates/*"), key=os.path.getmtime).read_text()
        )
        for one in estimate["measures"]:
            print("   ", one["measure"], one["value"], one["low"], one["high"])
    else:
        raise AssertionError("it did not stop")
    killed = sorted(path.name.split("-")[1] for path in directory.glob("evalsampling.killed-*"))
    assert killed == ["estimate", "prepare", "sample"], killed
    print(f"stopped after {number - 1} rounds; each command was killed once")

    states = {task.task_id: task.state for task in there.test().get_task_instances()}
    assert [states[id] for id in ("unprepared", *ROUND)] == [
        "success", "skipped", "success", "skipped", "skipped", "skipped"
    ]  # fmt: skip
    print("prepared already: no job is started on Dataflow")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

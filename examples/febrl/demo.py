"""Evaluates a record-linkage classifier over 25 million pairs with 1,000 labels.

Builds the pool and the model when absent, prepares the evaluation, lets simulated annotators
answer rounds of tasks through the command line, and at the end compares the estimates with
the truth, which only a simulation can know.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from annotator import label_batch
from febrl_pairs import MATCHES, PEOPLE, is_complete, read_matches, write_pairs
from febrl_scorer import MODEL_VARIABLE, score_pairs, train

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
ROUNDS = 10
MEASURES = ("f1", "precision", "recall")


class CommandError(Exception):
    """A command of the library failed."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the demonstration; returns the exit status."""
    options = _parse(arguments)
    started = time.perf_counter()
    try:
        _run(options.people, options.build, options.keep)
    except CommandError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    print(f"\n{time.perf_counter() - started:.0f} s in all; {_peak_memory()}")
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--left",
        dest="people",
        type=int,
        default=PEOPLE,
        metavar="N",
        help="keep N records on each side, for N x N pairs (default: %(default)s)",
    )
    parser.add_argument("--build", type=Path, metavar="DIR", help="folder for all files made")
    parser.add_argument(
        "--keep", action="store_true", help="keep the workspace and sample further rounds in it"
    )
    options = parser.parse_args(arguments)
    if not 1 < options.people <= PEOPLE:
        parser.error(f"--left must be between 2 and {PEOPLE}")
    if options.build is None:
        options.build = BUILD / ("febrl" if options.people == PEOPLE else f"febrl-{options.people}")
    options.build = options.build.resolve()
    return options


def _run(people: int, build: Path, keep: bool) -> None:
    pairs, model, workspace = build / "pairs", build / "model.json", build / "workspace"
    _say(f"{people:,} x {people:,} records = {people * people:,} pairs, {people:,} of them matches")
    os.environ[MODEL_VARIABLE] = str(model)
    trained = model.exists() and is_complete(pairs, people)
    with _step("pool of pairs"):
        write_pairs(pairs, people)
    if not trained:
        with _step("classifier"):
            train(model, prior=1 / people)
    if not keep:
        shutil.rmtree(workspace, ignore_errors=True)
    with _step("prepare"):
        _command("prepare", _evaluation(build))
    _say(f"\n{'round':>5}  {'labels':>6}  {'F1':>6}  {'interval':^15}")
    for _ in range(ROUNDS):
        sampled = _command_json("sample", workspace)
        if sampled["rows"] == 0:
            _say(f"no further round: {sampled['reason']}")
            break
        batch = Path(sampled["batch"])
        record = workspace / "rounds" / f"{sampled['round']:04d}" / "batch.parquet"
        answers = build / "answers" / f"round-{sampled['round']}.csv"
        answers.parent.mkdir(exist_ok=True)
        label_batch(batch, record, pairs / MATCHES, answers)
        report = _command_json("estimate", workspace, "--labels", answers)
        f1 = _measures(report)["f1"]
        labels, value = f"{report['labels']:>6,}", _number(f1["value"])
        _say(f"{sampled['round']:>5}  {labels}  {value}  {_interval(f1)}")
    _compare(_measures(_command_json("estimate", workspace)), _truth(pairs, workspace / "scored"))


def _evaluation(build: Path) -> Path:
    """Returns the configuration; one for another folder is written there."""
    source = HERE / "evaluation.yaml"
    if build == BUILD / "febrl":
        return source
    target = build / "evaluation.yaml"
    target.write_text(source.read_text("utf-8").replace("../../build/febrl/", ""), "utf-8")
    return target


def _measures(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["measure"]: entry for entry in report["measures"]}


def _truth(pairs: Path, scored: Path) -> dict[str, float]:
    """Computes the measures from all scores and all matches."""
    matches = read_matches(pairs / MATCHES)
    hits = predicted = 0
    for batch in _scores(pairs, scored):
        ids = batch.column("id").to_numpy()[batch.column("score").to_numpy() >= 0]
        predicted += len(ids)
        hits += int(np.isin(ids, matches).sum())
    return {
        "f1": 2 * hits / (predicted + len(matches)),
        "precision": hits / predicted if predicted else float("nan"),
        "recall": hits / len(matches),
    }


def _scores(pairs: Path, scored: Path) -> Iterator[pa.RecordBatch]:
    """Yields the columns `id` and `score`, as prepared or else computed again."""
    prepared = sorted(scored.glob("*.parquet"))
    for path in prepared:
        yield from pq.ParquetFile(path).iter_batches(columns=["id", "score"])
    if not prepared:
        for path in sorted(pairs.glob("pairs-*.parquet")):
            for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 18):
                yield score_pairs(batch)


def _compare(measures: dict[str, dict[str, Any]], truth: dict[str, float]) -> None:
    _say(f"\n{'measure':<9}  {'estimate':>8}  {'interval':^15}  {'truth':>6}")
    for name in MEASURES:
        estimate, interval = _number(measures[name]["value"]), _interval(measures[name])
        _say(f"{name:<9}  {estimate:>8}  {interval}  {_number(truth[name])}")


def _number(value: float | None) -> str:
    return f"{'-':>6}" if value is None else f"{value:6.4f}"


def _interval(entry: dict[str, Any]) -> str:
    low, high = entry.get("low"), entry.get("high")
    return f"{'-':^15}" if low is None or high is None else f"{low:6.4f} - {high:6.4f}"


def _command(name: str, *arguments: Path | str, quiet: bool = False) -> str:
    """Runs a command of the library and returns what it prints.

    Its messages show as they come, or if it is to be quiet only when it fails.
    """
    paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
    result = subprocess.run(
        [sys.executable, "-m", "evalsampling", name, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=False,
    )
    if result.returncode:
        told = f": {result.stderr.strip()}" if quiet else ""
        raise CommandError(f"`evalsampling {name}` ended with status {result.returncode}{told}")
    return result.stdout


def _command_json(name: str, *arguments: Path | str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(_command(name, *arguments, "--json", quiet=True))
    return result


def _peak_memory() -> str:
    unit = 1 if sys.platform == "darwin" else 1024
    own, children = (
        resource.getrusage(who).ru_maxrss * unit / 1e6
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return f"peak memory {children:.0f} MB (largest command), {own:.0f} MB (this script)"


def _say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Prints the name of a step and the seconds it took."""
    started = time.perf_counter()
    yield
    _say(f"{name}: {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    sys.exit(main())

"""Does `prepare` cost the same for each row, and a round the same at all, however large the pool?

    python benchmarks/prepare_scale.py
    python benchmarks/prepare_scale.py --sizes 10000000,100000000,1000000000

At each size: a pool is made, prepared on two threads, and one round made on the workspace: `sample`
of 100 rows, their labels read off the payload, `estimate`. Each command is a process of its own;
seconds are those of its work, imports apart, the peak is the process's. Ratios are to the first
size. Pools are made one at a time and removed, unless `--keep`; those that were there stay. A row
takes about 30 bytes on disk.
"""

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

import preparations
from measured import Cost, measure_command

LABELS = 100
LIMIT_ROW, LIMIT_MEMORY = 1.3, 1.2
"""Most time a row and most memory, by those of the first size."""

LIMIT_ROUND = 1.0
"""Most seconds of a round: `sample` and `estimate`."""


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    options = _parse(argv)
    results = []
    for rows in options.sizes:
        with preparations.pool(options.directory, rows, keep=options.keep) as pool:
            results.append(_measure(pool, rows, options))
        print(f"{rows:,} rows done", file=sys.stderr)
    for one in results:
        one["row_ratio"] = one["ns_per_row"] / results[0]["ns_per_row"]
        one["memory_ratio"] = one["peak_mib"] / results[0]["peak_mib"]
        one["round_ratio"] = one["round_seconds"] / results[0]["round_seconds"]
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 1 if options.check and _exceeded(results) else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[10_000_000, 100_000_000],
        metavar="N,N",
        help="rows of the pools (default: 10000000,100000000)",
    )
    parser.add_argument("--keep", action="store_true", help="keep the pools")
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit with 1 if the time of a row exceeds {LIMIT_ROW:g} x that of the first size, "
        f"memory {LIMIT_MEMORY:g} x, or a round {LIMIT_ROUND:g} s",
    )
    preparations.add_options(parser, repeats=1)
    return parser.parse_args(argv)


def _measure(pool: Path, rows: int, options: argparse.Namespace) -> dict[str, Any]:
    preparations.read_through(pool)
    runs = [_run(pool, options.directory) for _ in range(options.repeats)]
    prepare, sample, estimate = map(Cost.median, zip(*runs, strict=True))
    return {
        "rows": rows,
        "seconds": prepare.seconds,
        "cpu_seconds": prepare.cpu_seconds,
        "rows_per_second": rows / prepare.seconds,
        "ns_per_row": 1e9 * prepare.seconds / rows,
        "peak_mib": prepare.peak_mib,
        "round_seconds": sample.seconds + estimate.seconds,
        "round_cpu_seconds": sample.cpu_seconds + estimate.cpu_seconds,
        "round_process_seconds": sample.process_seconds + estimate.process_seconds,
        "round_peak_mib": max(sample.peak_mib, estimate.peak_mib),
    }


def _run(pool: Path, directory: Path) -> tuple[Cost, Cost, Cost]:
    """Return what `prepare`, `sample` and `estimate` cost."""
    with preparations.new_spec(pool, directory) as spec:
        prepare, prepared = measure_command("prepare", spec)
        workspace = prepared["workspace"]
        sample, drawn = measure_command("sample", workspace, "--size", LABELS)
        labels = spec.with_name("labels.csv")
        _annotate(Path(drawn["batch"]), labels)
        estimate, estimated = measure_command("estimate", workspace, "--labels", labels)
        assert estimated["labels"] == LABELS, estimated
    return prepare, sample, estimate


def _annotate(batch: Path, labels: Path) -> None:
    """Label a batch by the names, whose first letter tells matches."""
    with batch.open(newline="") as tasks, labels.open("w", newline="") as delivery:
        answers = csv.writer(delivery)
        answers.writerow(["task", "label"])
        for task in csv.DictReader(tasks):
            answers.writerow([task["task"], int(task["name"].startswith("m"))])


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'rows':>14}{'prepare s':>11}{'CPU s':>9}{'M rows/s':>10}{'a row':>7}{'peak MiB':>10}"
        f"{'ratio':>7}{'round ms':>10}{'ratio':>7}{'processes s':>13}"
    ]
    lines += [
        f"{one['rows']:>14,}{one['seconds']:>11.2f}{one['cpu_seconds']:>9.2f}"
        f"{one['rows_per_second'] / 1e6:>10.2f}{one['row_ratio']:>7.2f}{one['peak_mib']:>10,.0f}"
        f"{one['memory_ratio']:>7.2f}{1000 * one['round_seconds']:>10.0f}"
        f"{one['round_ratio']:>7.2f}{one['round_process_seconds']:>13.2f}"
        for one in results
    ]
    return "\n".join(lines)


def _exceeded(results: list[dict[str, Any]]) -> bool:
    """Tell on stderr which limits are exceeded."""
    limits = {"row_ratio": LIMIT_ROW, "memory_ratio": LIMIT_MEMORY, "round_seconds": LIMIT_ROUND}
    problems = [
        f"{one['rows']:,} rows: {key} is {one[key]:.2f}, at most {limit:g} is wanted"
        for one in results
        for key, limit in limits.items()
        if one[key] > limit
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())

"""Does `prepare` cost the same for each row, and a round the same at all, however large the pool?

At each size: a pool is made, prepared on two threads, and one round made on the workspace: `sample`
of 100 rows, their labels read off the payload, `estimate`. Each command is a process of its own;
seconds are those of its work, imports apart, the peak is the process's. Pools are made one at a
time and removed unless they were there. A row takes about 30 bytes on disk.
"""

import argparse
import csv
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path

import measured

LABELS = 100
FOLDER = Path(__file__).resolve().parents[1] / "build" / "pools"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default="10000000,100000000", metavar="N,N", help="rows")
    parser.add_argument("--directory", type=Path, default=FOLDER, metavar="DIR")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="medians are printed")
    parser.add_argument("--beam", action="store_true", help="by Beam in process")
    options = parser.parse_args()
    print("rows,prepare_s,cpu_s,million_rows_s,peak_mib,a_round_ms")
    for rows in map(int, options.sizes.split(",")):
        was_there = (options.directory / f"{rows}-int").exists()
        pool = measured.make_pool(options.directory, rows)
        measured.read_through(pool)
        how = ("--direct_num_workers=2",) if options.beam else ()
        runs = [_run(pool, options.directory, how) for _ in range(options.repeats)]
        seconds, cpu, peak, of_round = map(statistics.median, zip(*runs, strict=True))
        per_second = rows / seconds / 1e6
        print(f"{rows},{seconds:.2f},{cpu:.2f},{per_second:.2f},{peak:.0f},{1000 * of_round:.0f}")
        if not was_there:
            shutil.rmtree(pool)


def _run(pool: Path, directory: Path, how: Sequence[str]) -> tuple[float, float, float, float]:
    """Return seconds, processor time and peak memory of `prepare`, and seconds of a round."""
    with measured.new_spec(pool, directory) as spec:
        prepare, prepared = measured.measure_command("prepare", spec, *how)
        workspace = prepared["workspace"]
        sample, drawn = measured.measure_command("sample", workspace, "--size", LABELS)
        labels = spec.with_name("labels.csv")
        _annotate(Path(drawn["batch"]), labels)
        estimate, estimated = measured.measure_command("estimate", workspace, "--labels", labels)
        assert estimated["labels"] == LABELS, estimated
    of_round = sample.seconds + estimate.seconds
    return prepare.seconds, prepare.cpu_seconds, prepare.peak_mib, of_round


def _annotate(batch: Path, labels: Path) -> None:
    """Label a batch by the names, whose first letter tells matches."""
    with batch.open(newline="") as tasks, labels.open("w", newline="") as delivery:
        answers = csv.writer(delivery)
        answers.writerow(["task", "label"])
        for task in csv.DictReader(tasks):
            answers.writerow([task["task"], int(task["name"].startswith("m"))])


if __name__ == "__main__":
    main()

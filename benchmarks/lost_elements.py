"""Elements that Beam's own runner loses between two stages, by the mode it runs in.

    python benchmarks/lost_elements.py
    python benchmarks/lost_elements.py --modes multi_processing --elements 1200

Two transforms yield blocks of bytes, as many as asked for, which are flattened, grouped and
counted. Nothing of this project runs. docs/runners.md says why blocks are lost.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

MODES = ("in_memory", "multi_threading", "multi_processing")

_PARTS, _BYTES, _KEYS = 10, (300_000, 900_000), 64


def main(argv: list[str] | None = None) -> int:
    """Print for each mode how many blocks were yielded and how many were counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--elements", type=int, default=2400, help="default: %(default)s, 1.4 GB")
    options = parser.parse_args(argv)
    for mode in options.modes:
        wanted = options.elements // (2 * _PARTS) * 2 * _PARTS
        print(f"{mode}: {_counted(mode, wanted // (2 * _PARTS)):,} of {wanted:,}", flush=True)
    return 0


def _counted(mode: str, of_part: int) -> int:
    """Return how many blocks come out of a group by key."""
    options = PipelineOptions(
        ["--runner=FnApiRunner", "--direct_num_workers=2", f"--direct_running_mode={mode}"],
        save_main_session=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "count"
        with beam.Pipeline(options=options) as root:
            parts = root | beam.Create(range(_PARTS)) | beam.Reshuffle()
            blocks = [
                parts | f"Of{size}" >> beam.FlatMap(_blocks, of_part, size) for size in _BYTES
            ]
            sizes = blocks | beam.Flatten() | beam.GroupByKey() | beam.Map(_size)
            _ = sizes | beam.CombineGlobally(sum) | beam.Map(_write, out)
        return int(out.read_text())


def _blocks(part: int, number: int, size: int) -> Iterator[tuple[int, bytes]]:
    for block in range(number):
        yield (part + block) % _KEYS, os.urandom(size)


def _size(group: tuple[int, Iterable[bytes]]) -> int:
    return sum(1 for _ in group[1])


def _write(count: int, out: Path) -> None:
    out.write_text(str(count))


if __name__ == "__main__":
    sys.exit(main())

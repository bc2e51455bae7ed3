"""Measures how long what users wait for takes, beside plain work in the same run.

Ratios are of processor time, so that they say the same on another machine and beside other work.
`bench_ratios.py` has what is measured. `bench_limits.json` has the most that each ratio was once
held to: a new limit is the ratio measured with a margin for noise, and is taken only where it is
below the one before.
"""

import argparse
import datetime
import json
import math
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import bench_ratios
import runner

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "bench.md"
LIMITS = Path(__file__).with_name("bench_limits.json")

MARGIN = 1.15
"""A new limit, by the ratio measured: so much medians differ from run to run on a busy machine."""

TOO_SLOW = 1.4  # a ratio that is more than so many times its limit is too slow


def main(argv: list[str] | None = None) -> int:
    """Measure, print, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    kept = "where pools are made and kept (default: build/pools)"
    folder = ROOT / "build" / "pools"
    parser.add_argument("--directory", type=Path, default=folder, metavar="DIR", help=kept)
    parser.add_argument("--tighten", action="store_true", help="lower limits, never raise any")
    parser.add_argument("--record", action="store_true", help=f"add a line to docs/{PAGE.name}")
    options = parser.parse_args(argv)
    limits: dict[str, float] = json.loads(LIMITS.read_text())
    options.directory.mkdir(parents=True, exist_ok=True)
    ratios: dict[str, float] = {}
    slow: list[str] = []
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=options.directory) as folder:
        for group in bench_ratios.groups(options.directory, Path(folder)):
            first = group.ratios()
            if suspects := too_slow(limits, first):
                print(f"again: {', '.join(suspects)}", file=sys.stderr)
                again = group.ratios()
                slow += [name for name in suspects if name in too_slow(limits, again)]
                first = {name: min(one, again[name]) for name, one in first.items()}
            ratios |= first
    print(_table(ratios, limits, slow))
    if options.record:
        record(PAGE, ratios, datetime.date.today(), runner.commit())
    if options.tighten:
        LIMITS.write_text(json.dumps(tightened(limits, ratios), indent=1) + "\n")
    return 1 if slow else 0


def _table(ratios: Mapping[str, float], limits: Mapping[str, float], slow: list[str]) -> str:
    lines = [f"{'':<22}{'ratio':>8}{'limit':>8}"]
    for name, ratio in ratios.items():
        limit = f"{limits[name]:.3g}" if name in limits else "-"
        lines.append(f"{name:<22}{ratio:>8.3g}{limit:>8}{'  too slow' * (name in slow)}")
    return "\n".join(lines)


def tightened(limits: Mapping[str, float], ratios: Mapping[str, float]) -> dict[str, float]:
    """Return limits, none above what it was; those of ratios that were not measured stay."""
    wanted = {name: _rounded_up(MARGIN * ratio) for name, ratio in ratios.items()}
    return {**wanted, **{name: min(one, wanted.get(name, one)) for name, one in limits.items()}}


def _rounded_up(number: float) -> float:
    """Return a number with three digits, not below itself."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.ceil(number / unit) * unit:.6g}")


def too_slow(limits: Mapping[str, float], ratios: Mapping[str, float]) -> list[str]:
    """Return the names of the ratios that are too slow; one without a limit is not."""
    return [name for name, ratio in ratios.items() if ratio > TOO_SLOW * limits.get(name, math.inf)]


def record(page: Path, ratios: Mapping[str, float], date: datetime.date, commit: str) -> None:
    """Add a row to the table at the end of a page; a ratio without a column is an error."""
    text = page.read_text("utf-8").rstrip("\n")
    head = next(line for line in text.splitlines() if line.startswith("| date "))
    names = [cell.strip() for cell in head.strip("|").split("|")]
    if missing := [name for name in ratios if name not in names]:
        raise ValueError(f"{page}: no column {', '.join(missing)}")
    cells = {"date": date.isoformat(), "commit": commit}
    cells |= {name: f"{ratio:.3g}" for name, ratio in ratios.items()}
    row = "".join(f" {cells.get(name, '-')} |" for name in names)
    page.write_text(f"{text}\n|{row}\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())

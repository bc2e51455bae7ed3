"""Measures how often claimed intervals hold the truth, on pools made to mislead.

    python benchmarks/coverage.py run --results=DIR       # continues where it stopped
    python benchmarks/coverage.py report --results=DIR    # writes docs/coverage.md
    python benchmarks/coverage.py report --results=DIR --check

A setting is a pool, a sampler, a measure and a number of labels. With `--check` the exit status is
1 if one of them breaks the rule that the page states.
"""

import signal
import sys

import pools
from coverage_report import broken, document, settings_of
from coverage_runs import METHODS, run, write_settings


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = pools.study_parser(__doc__, "coverage", "coverage.md", repeats=200, block=20)
    names = [method.name for method in METHODS]
    parser.add_argument("--methods", nargs="*", choices=names, default=[], metavar="NAME")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the rule is broken")
    options = parser.parse_args(argv)
    if options.action == "run":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whole files only are left
        write_settings(options.results)
        run(
            options.pools,
            options.results,
            options.repeats,
            options.block,
            options.workers,
            options.only,
            options.methods,
            lambda line: print(line, file=sys.stderr, flush=True),
        )
        return 0
    settings = settings_of(options.results)
    if not settings:
        print(f"{options.results}: no results")
        return 1
    options.output.write_text("\n".join(document(settings)) + "\n", encoding="utf-8")
    lines = broken(settings)
    print("\n".join([f"{options.output}: {len(settings)} settings", *lines]))
    return 1 if options.check and lines else 0


if __name__ == "__main__":
    sys.exit(main())

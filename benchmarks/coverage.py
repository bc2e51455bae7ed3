"""Measures how often claimed intervals hold the truth, on pools made to mislead.

    python benchmarks/coverage.py run --results=DIR       # continues where it stopped
    python benchmarks/coverage.py report --results=DIR    # writes docs/studies/coverage.md
    python benchmarks/coverage.py report --results=DIR --check

A setting is a pool, a sampler, a measure and a number of labels. With `--check` the exit status is
1 if one of them breaks the rule that the page states.
"""

import sys

import commits
import pools
import study_pages
from coverage_report import Totals, broken, page, settings_of, tables
from coverage_runs import METHODS, run


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = pools.study_parser(__doc__, "coverage", "studies/coverage.md", repeats=200, block=20)
    names = [method.name for method in METHODS]
    parser.add_argument("--methods", nargs="*", choices=names, default=[], metavar="NAME")
    study_pages.add_note(parser)
    parser.add_argument("--check", action="store_true", help="exit with 1 if the rule is broken")
    options = parser.parse_args(argv)
    if options.action == "run":
        run(
            options.pools,
            options.results,
            options.repeats,
            options.block,
            options.workers,
            options.only,
            options.methods,
        )
        return 0
    settings = settings_of(options.results)
    if not settings:
        print(f"{options.results}: no results")
        return 1
    import coverage_plots  # it needs matplotlib

    rows, output = tables(settings), options.output
    coverage_plots.draw(rows["settings"], output.parent / "figures" / f"{output.stem}.svg")
    made = commits.of(options.results)
    page(Totals.of(settings), rows, output, made, options.note).write(output)
    lines = broken(settings)
    print("\n".join([f"{options.output}: {len(settings)} settings", *lines]))
    return 1 if options.check and lines else 0


if __name__ == "__main__":
    sys.exit(main())

"""The command line: parses, calls, prints."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from evalsampling import samplers
from evalsampling.commands.ledger import Ledger, Options
from evalsampling.errors import UsageError
from evalsampling.evaluation.specs import load_spec
from evalsampling.inference.results import finite
from evalsampling.storage import is_url
from evalsampling.telemetry import logs
from evalsampling.version import __version__
from evalsampling.workspace.workspace import Workspace

Printer = Callable[[Any], str]

_MOST_POINTS = 8
"""Points of a curve that are printed; `--json` has them all."""

_LOGGED = ("rows", "cells", "round", "rounds", "reason", "labels", "open", "rejects", "done")
"""Keys of results that are logged."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 the work failed with one clear line, 2 wrong usage."""
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest and not getattr(arguments, "takes_beam_options", False):
        parser.error(f"unrecognized arguments: {_named(rest)}")
    if rest and arguments.command != "prepare" and arguments.runner is None:
        parser.error(f"unrecognized arguments without --runner: {_named(rest)}")
    arguments.beam = rest if getattr(arguments, "runner", None) is None else [
        f"--runner={arguments.runner}", *rest
    ]  # fmt: skip
    try:
        with logs.job(arguments.command, workspace=getattr(arguments, "workspace", None)):
            result = arguments.run(arguments)
            _log(result)
        if arguments.json:
            print(json.dumps(finite(result), ensure_ascii=False, allow_nan=False))
        else:
            print(arguments.text(result))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not try to flush the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except logs.TOLD as error:
        if not logs.as_json():
            print(f"evalsampling {arguments.command}: {logs.one_line(error)}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    sys.exit(0)


def _named(arguments: Sequence[str]) -> str:
    """Return the options among arguments without their values, which may be credentials."""
    options = [one.partition("=")[0] for one in arguments if one.startswith("-")]
    return " ".join(options or arguments)


def _log(result: Any) -> None:
    """Log the numbers of a result, and its warnings."""
    told = result if isinstance(result, dict) else {}
    for warning in told.get("warnings", ()):
        logs.LOG.warning("%s", warning)
    logs.tell(**{key: told.get(key) for key in _LOGGED})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evalsampling",
        description="Tell how good a classifier is, with honest intervals, from few labels.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(
        name: str, help: str, run: Callable[[argparse.Namespace], Any], text: Printer
    ) -> argparse.ArgumentParser:
        # Whole names only: Beam has options of its own, `--label` beside our `--labels`.
        added = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(run=run, text=text)
        return added

    prepare = command("prepare", "Summarise a pool, once.", _prepare, _prepare_text)
    prepare.add_argument("spec", help="path of evaluation.yaml")
    prepare.add_argument(
        "--top-up",
        nargs="?",
        type=_positive,
        const=0,
        metavar="ROWS",
        help="add rows to the reserve of cells that hold fewer than ROWS (default: round_size) "
        "rows that were never drawn",
    )
    prepare.add_argument(
        "--check-ids", action="store_true", help="check that all ids of the pool differ"
    )

    sample = command("sample", "Draw the next batch of rows to label.", _sample, _sample_text)
    sample.add_argument("workspace")
    sample.add_argument("--size", type=_positive, metavar="N", help="new rows to draw")
    sample.add_argument("--next", action="store_true", help="close the open round first")

    estimate = command("estimate", "Take labels and estimate.", _estimate, _estimate_text)
    estimate.add_argument("workspace")
    estimate.add_argument(
        "--labels", nargs="+", action="extend", default=[], metavar="FILE",
        help="deliveries of labels: .csv, .jsonl or .parquet",
    )  # fmt: skip
    estimate.add_argument(
        "--replace", nargs="+", action="extend", default=[], metavar="FILE",
        help="deliveries whose labels replace earlier ones",
    )  # fmt: skip
    estimate.add_argument(
        "--measure", nargs="+", action="extend", default=[], metavar="NAME",
        help="measures to report (default: the spec's)",
    )  # fmt: skip
    estimate.add_argument("--close", action="store_true", help="close the open round")
    estimate.add_argument(
        "--strict", action="store_true", help="take nothing of a delivery with a rejected row"
    )

    for added in (prepare, sample, estimate):
        added.add_argument(
            "--runner",
            help="Beam runner; Beam's other options may follow"
            + ("" if added is prepare else " (without: computed here, without Beam)"),
        )
        added.set_defaults(takes_beam_options=True)

    status = command("status", "Tell where an evaluation stands.", _status, _status_text)
    status.add_argument("workspace")
    status.add_argument(
        "--jobs",
        dest="text",
        action="store_const",
        const=_status_jobs_text,
        help="also tell its jobs, with rows, time and memory of their steps (`--json` tells more)",
    )

    diagnose = command(
        "diagnose", "Compare scores, labels and model leaf by leaf.", _diagnose, _diagnose_text
    )
    diagnose.add_argument("workspace")

    plan = command("plan", "Predict errors before any label.", _plan, _plan_text)
    plan.add_argument("spec", help="path of evaluation.yaml")
    plan.add_argument(
        "--sampler", nargs="+", action="extend", choices=list(samplers.BY_NAME), metavar="NAME",
        help="samplers to plan for (default: every one that takes the spec)",
    )  # fmt: skip
    plan.add_argument(
        "--budgets", type=_budgets, metavar="N,N", help="labels to plan for (default: doubling)"
    )
    plan.add_argument(
        "--half-width", type=float, metavar="W", help="find the budget for this half-width too"
    )
    plan.add_argument("--repeats", type=_positive, default=50, metavar="N")

    simulate = command(
        "simulate", "Repeat an evaluation on a pool whose truth is known.", _simulate,
        _simulate_text,
    )  # fmt: skip
    simulate.add_argument("spec", help="path of evaluation.yaml")
    simulate.add_argument(
        "--truth", required=True, metavar="FILE", help="true labels: the id column and 'label'"
    )
    simulate.add_argument(
        "--sampler", nargs="+", action="extend", choices=list(samplers.BY_NAME), metavar="NAME",
        help="samplers to try (default: the spec's)",
    )  # fmt: skip
    simulate.add_argument(
        "--budgets", type=_budgets, metavar="N,N", help="labels at which to estimate"
    )
    simulate.add_argument("--repeats", type=_positive, default=100, metavar="N")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _budgets(text: str) -> tuple[int, ...]:
    return tuple(sorted({_positive(part) for part in text.split(",")}))


# --- prepare


def _prepare(arguments: argparse.Namespace) -> Any:
    from pipelines.prepare import prepare, top_up
    from pipelines.running import parse_options

    spec = load_spec(arguments.spec)
    options = parse_options(arguments.beam)
    if arguments.top_up is not None:
        return top_up(spec, arguments.top_up or None, options)
    return prepare(spec, options, arguments.check_ids)


def _prepare_text(result: dict[str, Any]) -> str:
    return (
        f"{result['rows']:,} rows in {result['cells']:,} cells of {result['leaves']} leaves, "
        f"{result['reserve_rows']:,} rows in reserve, {result['seconds']:.1f} s on "
        f"{result['runner']}\nworkspace: {result['workspace']}"
        + "".join(f"\nwarning: {warning}" for warning in result["warnings"])
    )


# --- sample


def _sample(arguments: argparse.Namespace) -> Any:
    if arguments.runner is None:
        return Ledger(Workspace(arguments.workspace)).sample(arguments.size, arguments.next)
    from pipelines import sample

    options = ["--next"] if arguments.next else []
    options += [f"--size={arguments.size}"] if arguments.size else []
    return _through_pipeline(sample.main, arguments, options)["result"]


def _through_pipeline(
    job: Callable[[Sequence[str]], None], arguments: argparse.Namespace, options: Sequence[str]
) -> Any:
    """Run a pipeline and return the result it leaves in a file."""
    workspace = Workspace(arguments.workspace)
    workspace.check_prepared()
    with workspace.answer() as (url, read):
        job([f"--workspace={workspace.path}", f"--output={url}", *options, *arguments.beam])
        return read()


def _sample_text(result: dict[str, Any]) -> str:
    if not result["rows"]:
        why = {
            "budget": "the budget is spent",
            "exhausted": "every row that can add to the measure has been drawn",
            "no-new-rows": "the draws of this round met labelled rows only; sample again",
        }
        return f"nothing to label: {why[result['reason']]}"
    return f"round {result['round']}: {result['rows']} rows to label in\n{result['batch']}"


# --- estimate


def _estimate(arguments: argparse.Namespace) -> Any:
    options = Options(tuple(arguments.measure), arguments.close, arguments.strict)
    labels, replace = map(_resolved, (arguments.labels, arguments.replace))
    if arguments.runner is None:
        ledger = Ledger(Workspace(arguments.workspace))
        result, messages = ledger.estimate(labels, replace, options)
    else:
        from pipelines import estimate

        asked = [f"--labels={path}" for path in labels]
        asked += [f"--replace={path}" for path in replace]
        asked += [f"--measure={name}" for name in options.measures]
        asked += ["--close"] if options.close else []
        asked += ["--strict"] if options.strict else []
        done = _through_pipeline(estimate.main, arguments, asked)
        result, messages = done["result"], done["messages"]
    for line in [*messages, *(f"warning: {warning}" for warning in result["warnings"])]:
        if not logs.as_json():
            print(line, file=sys.stderr)
    return result


def _resolved(paths: Sequence[str]) -> list[str]:
    return [path if is_url(path) else str(Path(path).resolve()) for path in paths]


def _estimate_text(result: dict[str, Any]) -> str:
    lines = [f"{result['labels']:,} labels, {result['open']} open, {result['rejects']} rejected"]
    shown = _thinned(result["measures"])
    width = max((len(_title(one)) for one in shown), default=0)
    for one in shown:
        level = f"{100 * one['confidence']:g} %"
        value = "undefined" if one["value"] is None else f"{one['value']:.4f}"
        lines.append(
            f"{_title(one):<{width}} {value:>9}   {level} "
            f"{_end(one['low'])} to {_end(one['high'])} ({one['method']})"
        )
    return "\n".join(lines)


def _title(one: dict[str, Any]) -> str:
    parts = [one["measure"], None if one["threshold"] is None else f"at {one['threshold']:.4g}"]
    parts += [None if one["system"] is None else f"of {one['system']}", one["slice"]]
    return " ".join(part for part in parts if part is not None)


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:.4f}"


def _thinned(measures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is printed: of a curve's many points, some."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in measures:
        groups.setdefault((one["measure"], one["system"], one["slice"]), []).append(one)
    shown = []
    for points in groups.values():
        shown += points[:: -(-len(points) // _MOST_POINTS)]
    return shown


# --- status


def _status(arguments: argparse.Namespace) -> Any:
    return Ledger(Workspace(arguments.workspace)).status()


def _status_text(result: dict[str, Any]) -> str:
    prepared = result["prepared"]
    return (
        f"{prepared['rows']:,} rows prepared in {prepared['seconds']:.1f} s on "
        f"{prepared['runner']}\n"
        f"{result['rounds']} rounds, {result['labels']} of {result['budget']} labels, "
        f"{result['open']} open, {result['rejects']} rejected"
    )


def _status_jobs_text(result: dict[str, Any]) -> str:
    jobs = result["jobs"]
    lines = [f"{'job':<19}{'started':<21}{'seconds':>9}  {'runner':<14}counts"]
    for name, job in jobs.items():
        counts = ", ".join(f"{key} {count:,}" for key, count in job["counts"].items())
        started, runner = job["started"][:19].replace("T", " "), job["runner"] or "-"
        lines.append(f"{name[:17]:<19}{started:<21}{job['seconds']:>9,.1f}  {runner:<14}{counts}")
    tables = [_steps_text(name, job["steps"]) for name, job in jobs.items() if job["steps"]]
    return "\n\n".join([_status_text(result), "\n".join(lines), *tables])


def _steps_text(name: str, steps: dict[str, dict[str, float]]) -> str:
    lines = [f"{name:<36}{'rows':>16}{'seconds':>11}{'rows/s':>14}{'peak MiB':>10}"]
    for step, told in steps.items():
        rate = f"{told['rows'] / told['seconds']:,.0f}" if told["seconds"] >= 0.1 else ""
        lines.append(
            f"{step:<36}{told['rows']:>16,}{told['seconds']:>11,.1f}{rate:>14}"
            f"{told['peak_mebibytes']:>10,}"
        )
    return "\n".join(lines)


# --- diagnose


def _diagnose(arguments: argparse.Namespace) -> Any:
    return Ledger(Workspace(arguments.workspace)).diagnose()


def _diagnose_text(result: dict[str, Any]) -> str:
    positive = result["positive"]
    lines = [f"share of {positive!r}, of leaves with labels, from the lowest score to the highest",
             f"{'leaf':>6}{'rows':>14}{'labels':>8}{'prior':>10}{'observed':>10}"
             f"{'posterior':>11}"]  # fmt: skip
    for leaf in result["leaves"]:
        if leaf["labelled"]:
            model = leaf["posterior"]
            told = "-" if model is None else f"{model[positive]:.6f}"
            lines.append(
                f"{leaf['leaf']:>6}{leaf['rows']:>14,}{leaf['labelled']:>8}"
                f"{leaf['prior'][positive]:>10.6f}{leaf['observed'][positive]:>10.4f}{told:>11}"
            )
    return "\n".join(lines)


# --- plan


def _plan(arguments: argparse.Namespace) -> Any:
    from evalsampling.preparation.local import read_table, stratify_pool
    from evalsampling.simulation.plan import plan, usable_samplers
    from evalsampling.telemetry import progress

    if arguments.half_width is not None and not arguments.half_width > 0:
        raise UsageError(f"--half-width must be above 0, got {arguments.half_width:g}")
    spec = load_spec(arguments.spec)
    stratification = stratify_pool(spec)
    table = read_table(spec, stratification)
    names = arguments.sampler or usable_samplers(spec, stratification.ranges)
    steps = len(names) * arguments.repeats
    with progress.watch("plan", "repeats", steps, logs.stream()):
        return plan(
            spec,
            table,
            stratification.ranges,
            names,
            budgets=arguments.budgets,
            repeats=arguments.repeats,
            half_width=arguments.half_width,
            report=progress.advance,
        )


def _plan_text(result: list[dict[str, Any]]) -> str:
    lines = ["if the scores' probabilities are right:",
             f"{'sampler':<12}{'measure':<24}{'labels':>10}{'std. error':>12}"
             f"{'half-width':>12}"]  # fmt: skip
    for one in result:
        labels = "more" if one["budget"] is None else f"{one['budget']:,}"
        error, half = (
            "-" if one[key] is None else f"{one[key]:.4f}"
            for key in ("standard_error", "half_width")
        )
        lines.append(f"{one['sampler']:<12}{one['measure']:<24}{labels:>10}{error:>12}{half:>12}")
    return "\n".join(lines)


# --- simulate


def _simulate(arguments: argparse.Namespace) -> Any:
    from evalsampling.measures.build import build_measures
    from evalsampling.preparation.local import stratify_pool
    from evalsampling.samplers.build import build_sampler
    from evalsampling.simulation.simulate import Plan, simulate
    from evalsampling.simulation.truth import KnownPool
    from evalsampling.telemetry import progress

    spec = load_spec(arguments.spec)
    plan = Plan(
        budgets=arguments.budgets or (spec.budget,),
        round_size=spec.round_size,
        repeats=arguments.repeats,
        seed=spec.seed,
        confidence=spec.confidence,
    )
    stratification = stratify_pool(spec)
    known, ranges = (
        KnownPool.read(spec, stratification, Path(arguments.truth)),
        stratification.ranges,
    )
    tried = [build_sampler(spec, ranges, name) for name in arguments.sampler or [spec.sampler.name]]
    steps = len(tried) * plan.repeats
    with progress.watch("simulate", "repeats", steps, logs.stream()):
        measures = build_measures(spec, ranges)
        return simulate(known, tried, measures, plan, report=progress.advance)


def _simulate_text(result: dict[str, Any]) -> str:
    scalars = {m: v for m, v in result["truth"].items() if not isinstance(v, list)}
    lines = [f"truth: {', '.join(f'{m} {v:.4f}' for m, v in scalars.items())}"] if scalars else []
    lines.append(f"{'sampler':<12}{'measure':<20}{'labels':>7}{'rmse':>8}{'bias':>9}"
                 f"{'coverage':>10}{'width':>8}{'score':>8}{'undefined':>11}")  # fmt: skip
    for one in result["results"]:
        found = "".join(
            f"{'-' if one[key] is None else format(one[key], f'.{digits}f'):>{width}}"
            for key, digits, width in (
                ("coverage", 2, 10), ("median_width", 3, 8), ("interval_score", 3, 8)
            )
        )  # fmt: skip
        lines.append(
            f"{one['sampler']:<12}{one['measure']:<20}{one['budget']:>7,}{one['rmse']:>8.4f}"
            f"{one['bias']:>9.4f}{found}{one['undefined']:>11}"
        )
    return "\n".join(lines)

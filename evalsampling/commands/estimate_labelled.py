"""From a table some of whose rows have labels to estimates: its spec, its workspace, and these."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.commands.estimate_result import EstimateResult
from evalsampling.commands.options import DRAWN, LABEL_FILE, TableOptions
from evalsampling.errors import InputError, UsageError
from evalsampling.spec import ReadingPlan
from evalsampling.spec.labels_at_hand import read_labels_at_hand
from evalsampling.spec.sections import Section, absolute
from evalsampling.storage import is_url

OF_TABLE = ("drawn", "positive", "cluster", "weight", "label_file")
"""Options that go with a table alone."""


@dataclasses.dataclass(frozen=True)
class EstimateCommandOptions(TableOptions, EstimateOptions):
    """What the command asks for, which takes a table in place of a workspace too."""

    label_file: str | None = LABEL_FILE


def estimate_labelled(
    options: EstimateCommandOptions,
    shown: Callable[[EstimateResult], None],
    systems: Sequence[str] = (),
) -> EstimateResult:
    """Estimate from the labels in a table; without labels from those of a workspace.

    The spec is written beside, as `init` guesses it, into TABLE-evaluation.yaml, and the pool is
    prepared into TABLE-evaluation. Where they are already, they are gone on with.
    """
    if options.label is None and options.label_file is None:
        for name in OF_TABLE:
            if getattr(options, name) is not None:
                raise UsageError(f"--{name} is of a table: --label names its column of labels")
        return estimate(options, shown=shown)
    of_file, table = options.label_file, options.workspace
    if options.drawn is None:
        what = "--label goes" if of_file is None else f"{of_file}, as labels of a table, goes"
        way_out = (
            f"; answers to a round come by --labels; {_two(table, of_file)}" if of_file else ""
        )
        raise UsageError(f"{what} with --drawn, which nobody can find out: {DRAWN}{way_out}")
    from evalsampling.commands.init import InitOptions, init  # Few calls are of tables.
    from evalsampling.commands.prepare_plan import prepare_in_process
    from evalsampling.evaluation.specs import load_spec
    from evalsampling.pool.label_file import with_second_file

    # The workspace is in the current folder, called after the file.
    name = table.rstrip("/").rpartition("/")[2] if is_url(table) else Path(table).name
    stem = re.sub(r"[^\w-]+", "-", name.partition(".")[0]).strip("-") or "table"
    if of_file is not None:
        with with_second_file(table, of_file, options.label, Path(stem)) as (both, label, systems):
            if label is None:
                raise InputError(f"{of_file}: has what a system says: {_two(table, of_file)}")
            of_table = dataclasses.replace(options, workspace=both, label_file=None, label=label)
            return estimate_labelled(of_table, shown, systems)
    workspace = f"{stem}-evaluation"
    path = Path(f"{workspace}.yaml")
    is_new, unread = not path.exists(), ""
    if is_new:
        asked = {name: getattr(options, name) for name in ("label", *OF_TABLE)}
        written = init(InitOptions(table, output=str(path), workspace=workspace, **asked), systems)
        if written.open:
            raise InputError(
                f"{path}: fill in {' and '.join(written.open)}, which the columns of "
                f"{table} leave open ({written.why}), and run this again"
            )
        if written.unread:
            names = " and ".join(written.unread)
            unread = f"; not read: {names}, for another system's see `systems` there"
    spec = load_spec(path)
    positive = spec.labels.space.text(spec.labels.positive)
    others = _others(spec.reading, options, positive)
    if others:
        raise InputError(
            f"{path}: is there already, and says {others}; change it there, or remove it and "
            f"{workspace}"
        )
    try:
        prepare_in_process(spec)
    except InputError:
        if is_new and not Path(workspace).exists():
            path.unlink()  # It would stand in the way of a call that says what is right.
        raise
    result = estimate(dataclasses.replace(options, workspace=str(spec.workspace)), shown=shown)
    says = [
        each.prediction or f"{each.score} at or above {each.threshold:g}, no column of their own"
        for each in spec.pool.systems
    ]
    scores = [each.score for each in spec.pool.systems if each.score is not None]
    orders = f", scores {' and '.join(scores)}" * (spec.strata.by_score and bool(scores))
    about = f"; measures are about {positive}" * spec.labels.space.is_binary
    guessed = f"{path}: predictions are {' and '.join(says)}{orders}{about}{unread}"
    return dataclasses.replace(result, messages=(*result.messages, guessed))


def _two(pool: str, second: str) -> str:
    return f"`evalsampling init {pool} {second}` makes one table of two systems"


def _others(plan: ReadingPlan, options: EstimateCommandOptions, positive: str) -> str:
    """Return the first value of a plan that differs from the options, as a line, if any."""
    at_hand, here = plan.labels.at_hand, str(Path.cwd())
    if plan.pool.path != absolute("pool.path", options.workspace, here):
        return f"pool.path: {plan.pool.path}"
    if at_hand is None or at_hand.column != options.label:
        return f"labels.column: {None if at_hand is None else at_hand.column}"
    said = Section("labels", {"column": options.label, "drawn": options.drawn})
    if at_hand != read_labels_at_hand(said, here):
        return f"labels.drawn: {at_hand.to_mapping()['drawn']}"
    for name in ("cluster", "weight"):
        asked, own = getattr(options, name), getattr(plan.pool, name)
        if asked not in (None, own):
            return f"pool.{name}: {own}"
    if options.positive not in (None, positive):
        return f"labels.positive: {positive}"
    return ""

"""Estimating from rows that were drawn one by one, and their labels."""

import dataclasses
from operator import attrgetter

from evalsampling.commands.draw import read_rounds
from evalsampling.commands.options import SpecOptions, argument, flag, many
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.evaluation.drawn_rows import DrawnRows
from evalsampling.evaluation.specs import load_spec
from evalsampling.inference.results import brief
from evalsampling.labels.drawn_tasks import DrawnTasks
from evalsampling.report.numbers import Number
from evalsampling.spec.measures import JOINT


@dataclasses.dataclass(frozen=True)
class WeighOptions(SpecOptions):
    """What a call of `weigh` asks for."""

    folder: str = argument("folder of the rounds that `draw` made")
    labels: tuple[str, ...] = many("files of labels", "FILE")
    missing_at_random: bool = flag("leave out rows without a label, as missing at random")


@dataclasses.dataclass(frozen=True)
class WeighResult(Result):
    """Estimates from draws with replacement.

    Attributes:
        rounds: that were drawn.
        draws: of them all, repeats included.
        labels: questions with an answer.
        open: questions without one.
        measures: the estimates.
        warnings: what a reader must know of them.
        notes: what is good to know.
    """

    rounds: int
    draws: int
    labels: int
    open: int
    measures: tuple[Number, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def weigh(options: WeighOptions) -> WeighResult:
    """Return the estimates of a spec's measures from the rounds of a folder and files of labels.

    Raises:
        InputError: for anything wrong with spec, rounds or labels: a label of a row that was not
            drawn, a row without a label, or with answers that disagree, unless these are missing
            at random.
    """
    if not options.labels:
        raise InputError("--labels: names no file")
    spec = load_spec(options.spec)
    rounds = read_rounds(spec, options.folder)
    if not rounds:
        raise InputError(
            f"{options.folder}: no round was drawn there; `evalsampling draw` adds one"
        )
    drawn = DrawnRows.read(spec, rounds)
    tasks = DrawnTasks(spec, drawn.asked, drawn.round[drawn.first])
    codes, disputed = tasks.read(options.labels)
    if disputed and not options.missing_at_random:
        raise InputError(
            f"id {tasks.ids[disputed[0]]!r} has answers that disagree, as {len(disputed)} of "
            f"{len(tasks.ids)} rows. Leave out the wrong ones, or take them as missing at random"
        )
    estimates = drawn.estimates(codes, options.missing_at_random)
    notes = [*brief(estimates, attrgetter("notes"))]
    if disputed:
        notes.append(
            f"rows whose answers disagree are among those without a label: {len(disputed)}"
        )
    if any(entry.name == JOINT for entry in spec.measures):
        notes.append("no joint region: rows that are drawn one by one have none, a workspace has")
    return WeighResult(
        rounds=int(drawn.round[-1]),
        draws=len(drawn.ids),
        labels=len(codes),
        open=len(drawn.first) - len(codes),
        measures=tuple(Number.of(estimate) for estimate in estimates),
        warnings=tuple(brief(estimates, attrgetter("warnings"))),
        notes=tuple(notes),
    )

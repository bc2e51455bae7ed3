"""A first spec for a pool, written from its columns and a sample of their values."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from evalsampling.commands.check import check
from evalsampling.commands.options import LABEL_FILE, SpecOptions, TableOptions, argument, option
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.label_spaces.spellings import NO, YES, plain, yes_and_no
from evalsampling.pool.guesses import TRUTHS, Guess, best
from evalsampling.pool.label_file import with_second_file
from evalsampling.pool.sampled_columns import NUMBER_TEXT, SCORES, SampledColumn, look_at
from evalsampling.spec.labels_at_hand import CLUSTERS, WITHIN, LabelsAtHand, read_labels_at_hand
from evalsampling.spec.sections import Section, nearest
from evalsampling.stats.score_kinds import ROUNDING
from evalsampling.storage import is_url

_ID = "no two alike; of pairs a list: [LEFT, RIGHT]"
"""What a spec says of the key."""


@dataclasses.dataclass(frozen=True)
class InitOptions(TableOptions):
    """What a call of `init` asks for."""

    pool: str = argument("file of the pool, or a pattern in quotes: 'pool/*.parquet'")
    label_file: str | None = LABEL_FILE
    output: str = option("where the spec goes", default="evaluation.yaml", metavar="FILE")
    workspace: str = option("what the spec calls the workspace", default="run", metavar="DIR")

    @property
    def columns(self) -> tuple[str, ...]:
        """The named columns of clusters and of weights."""
        return tuple(name for name in (self.cluster, self.weight) if name is not None)


@dataclasses.dataclass(frozen=True)
class InitResult(Result):
    """A spec that was written, what its scores are, or the keys left open, and why."""

    only_if_any = ("unread",)

    spec: str
    files: int
    open: tuple[str, ...]
    scores: str | None = None
    why: str | None = None
    unread: tuple[str, ...] = ()  # columns that are called scores and may be another system's


def init(options: InitOptions, systems: Sequence[str] = ()) -> InitResult:
    """Write a commented spec for a pool, and for a second file a table that joins the two.

    ``systems`` are the names of those whose columns are `score_NAME` and `prediction_NAME`.
    """
    path, second = Path(options.output), options.label_file
    if path.exists():
        raise InputError(f"{path}: is there already; --output names another file")
    if second is not None:
        with with_second_file(options.pool, second, options.label, path) as (pool, label, systems):
            of_both = dataclasses.replace(options, pool=pool, label_file=None, label=label)
            return init(of_both, systems)
    files, columns = look_at(options.pool, options.label)
    for name in (each.name for each in columns if each.is_measured):
        if name == options.label or name.lower() in TRUTHS:
            problem = "holds numbers and no classes: docs/regression.md has a spec of such labels"
            raise InputError(f"{options.pool}: column {name!r} {problem}")
    pattern = options.pool
    if not is_url(pattern) and path.resolve().parent != Path.cwd():
        pattern = str(Path(pattern).resolve())
    at_hand = _labels_at_hand(options, [column.name for column in columns])
    of_labels = () if at_hand is None else at_hand.columns
    known = (*of_labels, *options.columns)
    guess = Guess.of(columns, known, options.label, options.positive)
    if systems:
        by_name = {column.name: column for column in columns}
        of_each = {s: (by_name.get(f"score_{s}"), by_name.get(f"prediction_{s}")) for s in systems}
        guess = dataclasses.replace(guess, systems=of_each)
    text = _spec_text(pattern, columns, guess, at_hand, options)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    guessed = {
        "id": guess.id,
        "score": guess.score,
        "prediction": guess.prediction is not None or _threshold(guess) is not None,
    }
    if guess.has_verdicts_alone or guess.by_class:
        del guessed["score"]
    unknown = tuple(f"pool.{key}" for key, column in guessed.items() if not column)
    unknown += ("labels.classes",) * (len(guess.classes) < 2)
    scores = None if unknown else check(SpecOptions(str(path))).scores
    why = guess.why_open if unknown else None
    unread = tuple(column.name for column in guess.rivals if best([column], SCORES) is not None)
    return InitResult(str(path), files, unknown, scores, why, unread)


def _labels_at_hand(options: InitOptions, names: Sequence[str]) -> LabelsAtHand | None:
    """Return the labels at hand by the options, checked; None without."""
    section = Section("labels", {"column": options.label, "drawn": options.drawn})
    at_hand = read_labels_at_hand(section, str(Path.cwd()))
    groups = [str(at_hand.source)] if at_hand is not None and at_hand.drawn == WITHIN else []
    of_labels = () if at_hand is None else (*at_hand.columns, *groups)
    if at_hand is not None and at_hand.drawn == CLUSTERS and options.cluster is None:
        raise InputError("--drawn clusters: name the column that their rows share, by --cluster")
    for name in (*of_labels, *options.columns):
        if name not in names:
            raise InputError(f"{options.pool}: column {name!r} is missing{nearest(name, names)}")
    return at_hand


def _spec_text(
    pattern: str,
    columns: Sequence[SampledColumn],
    guess: Guess,
    at_hand: LabelsAtHand | None,
    options: InitOptions,
) -> str:
    """Return a commented spec for files of a pattern, given what their columns may be."""
    lines = [
        "# Written by `evalsampling init` from the first rows of the pool. Check every line, then:",
        "#   evalsampling prepare --check, prepare, sample, estimate. All keys: docs/spec.md.",
        "#",
        "# Columns of the pool:",
        *(f"#   {_described(column)}" for column in columns),
        "",
        "pool:",
        f"  path: {_quoted(pattern)}",
        _line("id", guess.id, f"names each row: {_ID}", guess.why_open),
        *(_of_systems(guess) if guess.systems else _of_one_system(guess)),
    ]
    of_all = options.positive is None and len(guess.classes) > 2
    of_each = "{f1: {average: macro}}, accuracy, {f1: {average: each}}"
    measures = of_each if of_all else "f1, precision, recall"
    positive = _quoted(_positive(guess, options, columns))
    listed = guess.classes if len(guess.classes) > 1 else (*guess.classes, "FILL-IN")
    classes = ", ".join(map(_quoted, listed))
    if options.cluster is not None:
        lines.append(f"  cluster: {_quoted(options.cluster)}  # rows that share a value are alike")
    if options.weight is not None:
        lines.append(f"  weight: {_quoted(options.weight)}  # how much each row counts")
    lines += [
        _list("slices", guess.slices, "measures are estimated for each value of these too"),
        _list("payload", guess.payload, "what annotators see of a row, and nothing else"),
        "",
        "labels:",
        f"  classes: [{classes}]",
        f"  {'# ' * of_all}positive: {positive}  # what measures{' of a class' * of_all} are about",
        *_lines_at_hand(at_hand, guess.truth),
        "",
        f"measure: [{measures}]  # the first one drives the sampling",
        "budget: 1000  # labels in all; `evalsampling plan` says what to expect of it",
        "round_size: 100  # labels asked for at a time",
        "seed: 0",
        f"workspace: {_quoted(options.workspace)}  # made by `evalsampling prepare`",
    ]
    if guess.has_verdicts_alone:
        why = "the classes predicted: no column from 0 to 1 says how sure they are"
        lines[-4:-4] = ["strata:", f"  method: predictions  # {why}"]
    if guess.by_class and guess.score is None:
        lines[-4:-4] = ["strata:", "  method: kd"]
    return "\n".join(lines) + "\n"


def _positive(guess: Guess, options: InitOptions, columns: Sequence[SampledColumn]) -> int | str:
    """Return the class that measures are about: as named, else the likely one."""
    by_text, named = {str(value): value for value in guess.classes}, options.positive
    if len(by_text) < 2:
        return guess.positive
    labels = {plain(one) for each in columns if each.name == options.label for one in each.values}
    answers = (labels & (YES | NO)) - {*map(plain, by_text)}
    if named is None and len(by_text) == 2 and answers and not yes_and_no(by_text):
        raise InputError(f"--positive: is a yes in {options.label} {' or '.join(by_text)}? Name it")
    if named is not None and named not in by_text:
        raise InputError(f"--positive: {named!r} is none of: {', '.join(by_text)}")
    return guess.positive if named is None else by_text[named]


def _lines_at_hand(at_hand: LabelsAtHand | None, truth: SampledColumn | None) -> list[str]:
    """Return the lines of labels that rows have already, or may have."""
    if at_hand is None:
        if truth is None:
            return []
        name = _quoted(truth.name)
        way_on = f"are these labels? Then: init POOL --label {name} --drawn HOW"
        return [f"  # column: {name}  # {way_on}"]
    way, source = at_hand.drawn, at_hand.source
    drawn = way if source is None else f"{{{way}: {_quoted(source)}}}"
    return [
        f"  column: {_quoted(at_hand.column)}  # labels that rows have already: the first round",
        f"  drawn: {drawn}  # how these rows were drawn",
    ]


def _of_systems(guess: Guess) -> list[str]:
    """Return the lines of several systems."""
    lines = [
        "  # are these labels of a row, and no systems? Then labels: {multilabel: [NAMES]}",
        "  systems:  # score: numeric, higher means more likely positive",
    ]
    for name, (score, said) in guess.systems.items():
        own = dataclasses.replace(guess, score=score, prediction=said)
        keys = {} if score is None else {"score": _quoted(score.name)}
        keys |= {"score_is": "confidence"} if own.is_confidence else {}
        threshold = _threshold(own)
        rule = f"{{threshold: {'FILL-IN' if threshold is None else threshold}}}"
        keys["prediction"] = rule if said is None else _quoted(said.name)
        each = ", ".join(f"{key}: {value}" for key, value in keys.items())
        lines.append(f"    {_quoted(name)}: {{{each}}}")
    return lines


def _of_one_system(guess: Guess) -> list[str]:
    """Return the lines of a single system."""
    lines = []
    if guess.by_class:
        if guess.score is not None:
            lines.append(_line("score", guess.score, "numeric; rows of like score are drawn alike"))
        columns = [f"{_quoted(n)}: {_quoted(column.name)}" for n, column in guess.by_class.items()]
        are_shares = all(column.is_share for column in guess.by_class.values())
        key = "probability" if are_shares else "logits"
        lines.append(f"  {key}: {{{', '.join(columns)}}}  # of each class")
        if guess.score is None:
            lines.append(_list("features", [*guess.by_class.values()], "strata are cut from these"))
    elif not guess.has_verdicts_alone:
        is_confidence, higher = guess.is_confidence, "numeric; higher means more likely positive"
        lines.append(_line("score", guess.score, "numeric" if is_confidence else higher))
        if is_confidence:
            way_out = "; or leave this line out" * (len(guess.classes) == 2)
            lines.append(f"  score_is: confidence  # in the class predicted{way_out}")
        elif len(guess.classes) == 2:
            kinds = "probability, log-odds, confidence; left out, the scores tell"
            lines.append(f"  # score_is: order  # or {kinds}")
        if guess.rivals:
            names = " and ".join(column.name for column in guess.rivals[:3])
            by_class = "score_is: confidence, prediction: FILL-IN"
            predicted = by_class if is_confidence else "prediction: {threshold: 0.5}"
            lines.append(
                _printable(f"  # is {names} another system's? In place of score and prediction:")
            )
            each = ", ".join(
                f"{_quoted(column.name)}: {{score: {_quoted(column.name)}, {predicted}}}"
                for column in (guess.score, *guess.rivals[:3])
                if column is not None
            )
            lines.append(f"  # systems: {{{each}}}")
    if guess.probability is not None:
        lines.append(_line("probability", guess.probability, "of a positive, before any label"))
    threshold = _threshold(guess)
    if threshold is None:
        meaning = "the class predicted, or {threshold: NUMBER}"
        return [*lines, _line("prediction", guess.prediction, meaning)]
    rule = f"{{threshold: {threshold}}}  # a score from here on predicts positive"
    return [*lines, f"  prediction: {rule}"]


def _described(column: SampledColumn) -> str:
    kinds = {
        "whole": "whole numbers", "number": "numbers", "truth": "truth values", "text": "text",
        NUMBER_TEXT: "numbers as text, which a score cannot be: write 0.93 for 0,93 or 93 %",
    }  # fmt: skip
    facts = [kinds.get(column.kind, "values of another type")]
    if column.low is not None and column.high is not None:
        facts.append(f"{column.low:g} to {column.high:g}")
    elif column.values and column.kind != "other":
        facts.append(", ".join(column.values[:5]) + ", ..." * (len(column.values) > 5))
    elif column.examples:
        facts.append(f"such as {column.examples[0]}")
    if column.nulls:
        facts.append(f"{column.nulls:,} of {column.rows:,} missing")
    return _printable(" ".join(f"{column.name}: {'; '.join(facts)}".split()))


def _line(
    key: str,
    column: SampledColumn | Sequence[SampledColumn] | None,
    meaning: str,
    why: str = "no column or several look like it",
) -> str:
    if not column:
        return _printable(f"  {key}: FILL-IN  # {meaning}; {why}")
    columns = [column] if isinstance(column, SampledColumn) else column
    names = ", ".join(_quoted(one.name) for one in columns)
    return f"  {key}: {names if len(columns) == 1 else f'[{names}]'}  # {meaning}"


def _threshold(guess: Guess) -> float | None:
    """Return the score of even odds if it is to stand in for a prediction, else None."""
    score = guess.score if guess.prediction is None and len(guess.classes) == 2 else None
    if score is None or score.low is None or score.high is None:
        return None
    if score.low >= -ROUNDING and score.high <= 1 + ROUNDING:
        return 0.5
    return 0 if score.low < 0 < score.high else None


def _list(key: str, columns: Sequence[SampledColumn], meaning: str) -> str:
    names = ", ".join(_quoted(column.name) for column in columns)
    return f"  {'' if columns else '# '}{key}: [{names}]  # {meaning}"


def _quoted(value: int | str) -> str:
    """Return a value as YAML reads it back."""
    if isinstance(value, int):
        return str(value)
    plain = value.replace("_", "").replace(".", "").isalnum() and value[0].isalpha()
    special = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
    if plain and value.isascii() and value.lower() not in special:
        return value
    return _printable(json.dumps(value, ensure_ascii=False))


def _printable(text: str) -> str:
    """Return a text with the characters that YAML may refuse escaped, for use within quotes."""

    def code(letter: str) -> str:
        return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"

    return "".join(letter if letter.isprintable() else code(letter) for letter in text)

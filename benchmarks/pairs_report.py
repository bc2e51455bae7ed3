"""What runs on pairs of systems say: coverage, errors, and whether the order of names matters."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import system_pairs
from corpus_settings import Setting, Together, by_columns, read_runs

BY = ("made", "pool", "order", "first", "budget", "measure", "system", "against")
"""Columns of a setting's key."""

WORST = 40
"""Most settings that are listed."""

Key = tuple[str, ...]
Found = Mapping[Key, Setting]


def read(results: Path, sampler: str) -> Found:
    """Return what the runs of a sampler say, by kind of pair, pair, order, ..., see `BY`."""
    return by_columns(results, sampler, BY)


def section(results: Path) -> list[str]:
    """Return the section of the page of real pools; nothing if there are no runs."""
    if not any(results.glob("runs/*/calibrated/*.parquet")):
        return []
    found, before = read(results, "calibrated"), read(results, "ais")
    return [
        _INTRODUCTION.format(pairs=len({key[1] for key in found})),
        *_by_number(found, before),
        "",
        *_worst(found, 15),
        "",
        *order_matters(results),
    ]


def tables(results: Path) -> Iterator[str]:
    """Yield the lines of all tables, beside `ais` if there are runs of it."""
    found, before = read(results, "calibrated"), read(results, "ais")
    pairs = {key[1] for key in found}
    runs = sorted({one.runs for one in found.values()})
    told = " to ".join(str(end) for end in dict.fromkeys((runs[0], runs[-1])))
    yield f"{len(pairs)} pairs, {told} runs each of {len(found) // len(pairs)} settings"
    yield ""
    yield from _by_number(found, before)
    yield ""
    yield f"| pairs | numbers {_HEAD}"
    yield "| --- | --- |" + " ---: |" * 7
    for made in sorted({key[0] for key in found}):
        for name in dict.fromkeys(name for name, *_ in _present(found)):
            keys = [key for key in found if key[0] == made and _name(key) == name]
            if keys:
                yield f"| {made} | {name} | {_cells(keys, found, before)}"
    yield ""
    yield from _worst(found, WORST)
    yield ""
    yield from order_matters(results)


_HEAD = "| ab | ba | claims | warned | width | error | score |"

_INTRODUCTION = """\
## Pairs of systems

{pairs} pairs of systems of the same rows: two models, or a pool's own and one made from it. That
one knows less, or something that the first does not, or is nearly as good, or has another threshold
or noise in its ranks (`benchmarks/system_pairs.py`). Rounds were drawn for what a spec names first:
F1, precision, or the difference of F1. *ab* and *ba* are coverage among claims, by the order in
which the systems are named. A spec that lists `precision` and `f1` does not list recall, but an
estimate of it can be asked for.
`python benchmarks/corpus.py run --pairs` made the runs.
"""


def _by_number(found: Found, before: Found) -> Iterator[str]:
    yield f"| numbers | drawn for | labels {_HEAD}"
    yield "| --- | --- | ---: |" + " ---: |" * 7
    for asked, differ in itertools.product((True, False), (False, True)):
        ours = [key for key in found if "(" not in key[5]]  # ratios have no scale of their own
        keys = [key for key in ours if _asked(key) == asked and (key[7] != "None") == differ]
        title = f"{'differences' if differ else 'systems'}, {'listed' if asked else 'not listed'}"
        yield f"| {title} | any | any | {_cells(keys, found, before)}"
    for name, first, budget in _present(found):
        keys = [key for key in found if (_name(key), *key[3:5]) == (name, first, budget)]
        yield f"| {name} | {first} | {budget} | {_cells(keys, found, before)}"


def _asked(key: Key) -> bool:
    """Return whether the spec lists the measure: its differences come by themselves."""
    listed = system_pairs.DRAWN_FOR[key[3]]
    return any(key[5] in ([one] if isinstance(one, str) else one.values()) for one in listed)


def _name(key: Key) -> str:
    """Return what a setting's number is: a measure of a system, or a difference."""
    return key[5] if key[7] == "None" or "(" in key[5] else f"difference of {key[5]}"


def _present(found: Found) -> list[tuple[str, str, str]]:
    there = {(_name(key), key[3], key[4]) for key in found}
    return sorted(there, key=lambda one: (len(one[0]) > 9, one[0], one[1], int(one[2])))


def _cells(keys: Sequence[Key], found: Found, before: Found) -> str:
    both = [key for key in keys if key in before]
    one = Together.of([found[key] for key in keys], [])
    beside = Together.of([found[key] for key in both], [before[key] for key in both])
    by_order = [
        Together.of([found[key] for key in keys if key[2] == order], []) for order in ("ab", "ba")
    ]
    numbers = [*(each.coverage for each in by_order), one.claims, one.warned, one.width]
    return " | ".join(f"{n:.3f}" for n in (*numbers, beside.error, beside.score)) + " |"


def _worst(found: Found, most: int) -> Iterator[str]:
    low = sorted((key for key in found if found[key].is_low), key=lambda key: found[key].coverage)
    by_name = {name: sum(_name(key) == name for key in low) for name, *_ in _present(found)}
    told = ", ".join(f"{count} of {name}" for name, count in by_name.items())
    yield f"Coverage two standard errors below .85, mostly unwarned: {len(low)} of {len(found)}"
    yield f"settings ({told}); the first {min(most, len(low))}:"
    yield ""
    yield "| pair | kind | order | drawn for | labels | number | truth | coverage | width | bias |"
    yield "| --- | --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"
    for key in low[:most]:
        one, system = found[key], f"{key[6]}-{key[7]}" if key[7] != "None" else key[6]
        yield (
            f"| {key[1]} | {key[0]} | {key[2]} | {key[3]} | {key[4]} | {key[5]} {system} | "
            f"{one.truth:.3f} | {one.coverage:.2f} | {one.width:.3f} | {one.errors.mean():+.3f} |"
        )


def order_matters(results: Path) -> Iterator[str]:
    """Yield how much the estimates of the same run differ between the orders of the names."""
    columns = read_runs(results, "calibrated")
    half = (columns["high"].astype(float) - columns["low"].astype(float)) / 2
    values: dict[tuple[object, ...], dict[str, tuple[float, float]]] = {}
    named = ("pool", "repeat", "first", "budget", "measure", "system")
    for place, order in enumerate(columns["order"]):
        key, value = tuple(columns[name][place] for name in named), float(columns["value"][place])
        if columns["against"][place] is not None:
            if "(" in str(columns["measure"][place]):
                continue  # the ratio of a to b, and of b to a
            key, value = (*key[:-1], "difference"), value if order == "ab" else -value
        values.setdefault(key, {})[str(order)] = value, float(half[place])
    found = np.array([[*one["ab"], *one["ba"]] for one in values.values() if len(one) == 2])
    gap = np.abs(found[:, 0] - found[:, 2])
    there = np.isfinite(gap)
    ratio = gap[there].mean() / found[there][:, [1, 3]].mean()
    yield f"Named in the other order, {np.mean(gap[there] > 1e-9):.1%} of the estimates change, on"
    yield f"average by {ratio:.2f} of the half-width of their interval."

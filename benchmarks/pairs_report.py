"""What runs on pairs of systems say: coverage, errors, and whether the order of names matters."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from corpus_settings import Setting, Together, by_columns, read_runs

BY = ("made", "pool", "order", "first", "budget", "measure", "system", "against")
"""Columns of a setting's key."""

NUMBERS = {"systems": "None", "differences": ""}
WORST = 40
"""Most settings that are listed."""

Key = tuple[str, ...]
Found = Mapping[Key, Setting]


def read(results: Path, sampler: str) -> Found:
    """Return what the runs of a sampler say, by kind of pair, pair, order, ..., see `BY`."""
    return by_columns(results, sampler, BY)


def tables(results: Path, found: Found, before: Found) -> Iterator[str]:
    """Yield the lines of all tables.

    Args:
        results: of all runs, for the comparison of orders.
        found: of the sampler `calibrated`.
        before: of the sampler `ais`, maybe empty.
    """
    pairs = {key[1] for key in found}
    runs = sorted({one.runs for one in found.values()})
    told = " to ".join(str(end) for end in dict.fromkeys((runs[0], runs[-1])))
    yield f"{len(pairs)} pairs, {told} runs each of {len(found) // len(pairs)} settings"
    yield ""
    yield "ab, ba: coverage among claims in both orders of the names. Error and score: over those"
    yield "of ais, geometric means."
    yield ""
    head = "ab | ba | claims | warned | width | error | score |"
    yield f"| numbers | drawn for | labels | {head}"
    yield "| --- | --- | ---: |" + " ---: |" * 7
    for name, first, budget in _present(found):
        yield f"| {name} | {first} | {budget} | {_cells(found, before, name, first, budget)}"
    yield ""
    yield f"| pairs | numbers | {head}"
    yield "| --- | --- |" + " ---: |" * 7
    for made in sorted({key[0] for key in found}):
        mine = {key: one for key, one in found.items() if key[0] == made}
        for name in dict.fromkeys(name for name, *_ in _present(mine)):
            yield f"| {made} | {name} | {_cells(mine, before, name)}"
    yield ""
    yield from _worst(found)
    yield ""
    yield from order_matters(results)


def _name(key: Key) -> str:
    """Return what a setting's number is: a measure of a system, or a difference."""
    return key[5] if key[7] == "None" else f"difference of {key[5]}"


def _present(found: Found) -> list[tuple[str, str, str]]:
    there = {(_name(key), key[3], key[4]) for key in found}
    return sorted(there, key=lambda one: ("diff" in one[0], one[0], one[1], int(one[2])))


def _cells(found: Found, before: Found, name: str, first: str = "", budget: str = "") -> str:
    keys = [
        key
        for key in found
        if _name(key) == name and first in ("", key[3]) and budget in ("", key[4])
    ]
    both = [key for key in keys if key in before]
    one = Together.of([found[key] for key in keys], [])
    beside = Together.of([found[key] for key in both], [before[key] for key in both])
    by_order = [
        Together.of([found[key] for key in keys if key[2] == order], []) for order in ("ab", "ba")
    ]
    numbers = [*(each.coverage for each in by_order), one.claims, one.warned, one.width]
    return " | ".join(f"{n:.3f}" for n in (*numbers, beside.error, beside.score)) + " |"


def _worst(found: Found) -> Iterator[str]:
    low = sorted((key for key in found if found[key].is_low), key=lambda key: found[key].coverage)
    by_name = {name: sum(_name(key) == name for key in low) for name, *_ in _present(found)}
    told = ", ".join(f"{count} of {name}" for name, count in by_name.items())
    yield f"Coverage two standard errors below .85, mostly unwarned: {len(low)} of {len(found)}"
    yield f"settings ({told}); the first {min(WORST, len(low))}:"
    yield ""
    yield "| pair | kind | order | drawn for | labels | number | truth | coverage | width | bias |"
    yield "| --- | --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: |"
    for key in low[:WORST]:
        one, system = found[key], f"{key[6]}-{key[7]}" if key[7] != "None" else key[6]
        yield (
            f"| {key[1]} | {key[0]} | {key[2]} | {key[3]} | {key[4]} | {key[5]} {system} | "
            f"{one.truth:.3f} | {one.coverage:.2f} | {one.width:.3f} | {one.errors.mean():+.3f} |"
        )


def order_matters(results: Path, sampler: str = "calibrated") -> Iterator[str]:
    """Yield how much the estimates of the same run differ between the orders of the names."""
    columns = read_runs(results, sampler)
    half = (columns["high"].astype(float) - columns["low"].astype(float)) / 2
    values: dict[tuple[object, ...], dict[str, tuple[float, float]]] = {}
    named = ("pool", "repeat", "first", "budget", "measure")
    for place, order in enumerate(columns["order"]):
        system, against = columns["system"][place], columns["against"][place]
        value, number = columns["value"][place], "difference" if against is not None else system
        sign = -1.0 if against is not None and order == "ba" else 1.0
        key = (*(columns[name][place] for name in named), number)
        values.setdefault(key, {})[str(order)] = sign * float(value), float(half[place])
    found = np.array([[*one["ab"], *one["ba"]] for one in values.values() if len(one) == 2])
    gap = np.abs(found[:, 0] - found[:, 2])
    there = np.isfinite(gap)
    share = np.mean(gap[there] > 1e-9)
    ratio = gap[there].mean() / found[there][:, [1, 3]].mean()
    yield f"Named in the other order, {share:.1%} of the estimates change, on average by"
    yield f"{ratio:.2f} of the half-width of their interval (0 and 0 is as it should be)."


def table_of(results: Path, samplers: Sequence[str]) -> str:
    """Return all tables, beside `ais` if there are runs of it."""
    before = read(results, "ais") if "ais" in samplers else {}
    return "\n".join(tables(results, read(results, "calibrated"), before))

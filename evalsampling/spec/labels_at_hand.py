"""Labels that rows of the pool have already: their column, and how these rows were drawn."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section, absolute

RANDOM, CLUSTERS, PICKED, WITHIN, CHANCE, WEIGHT, DESIGN = (
    "random", "clusters", "picked", "within", "chance", "weight", "design",
)  # fmt: skip
"""Ways in which labelled rows were drawn; the last four have a column or a file."""

KEYS = ("column", "drawn")
"""Keys of the section ``labels`` that are read here."""

_WORDS = {
    RANDOM: "at random",
    CLUSTERS: "in whole clusters, these at random",
    PICKED: "by people",
    WITHIN: "at random among those of each {}",
    CHANCE: "with the chances of column {}",
    WEIGHT: "with the weights of column {}",
    DESIGN: "by {}",
}

_WAYS = (
    "random, clusters, picked (by people), {within: COLUMN} (at random among the rows of each "
    "value), {chance: COLUMN}, {weight: COLUMN} or {design: design.json of another workspace}"
)


@dataclasses.dataclass(frozen=True)
class LabelsAtHand:
    """The column of labels that some rows have already, and how these rows were drawn."""

    column: str  # whose value is the label; a row without a value has none
    drawn: str  # `RANDOM`, `CLUSTERS`, `PICKED`, `WITHIN`, `CHANCE`, `WEIGHT` or `DESIGN`
    # column of the groups, chances or weights, or absolute path of the design; else None
    source: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the pool that labels at hand take, besides slices."""
        return (self.column,) if self.number is None else (self.column, self.number)

    @property
    def number(self) -> str | None:
        """The column of a number for each labelled row: its chance or its weight."""
        return self.source if self.drawn in (CHANCE, WEIGHT) else None

    @property
    def turn(self) -> int:
        """Number XORed into the seed: an evaluation of the same seed may have drawn these rows."""
        return 0x9E3779B97F4A7C15 if self.drawn in (CHANCE, WEIGHT, DESIGN) else 0

    @property
    def words(self) -> str:
        """How the rows were drawn, after "they were drawn"."""
        return _WORDS[self.drawn].format(self.source)

    def to_mapping(self) -> dict[str, Any]:
        """Return its keys of the section ``labels``."""
        drawn = self.drawn if self.source is None else {self.drawn: self.source}
        return {"column": self.column, "drawn": drawn}


def read_labels_at_hand(section: Section, directory: str) -> LabelsAtHand | None:
    """Return the keys ``column`` and ``drawn`` of the section ``labels``, checked."""
    column, drawn = section.text("column"), section.get("drawn")
    if column is None:
        section.refuse(["drawn"], "is of labels that are in the pool, whose labels.column is named")
        return None
    if drawn is None:
        raise InputError(
            f"labels.drawn: say how the rows were drawn that have a label in {column}, since it "
            f"cannot be found out: {_WAYS}"
        )
    drawn = drawn_by(drawn) if isinstance(drawn, str) else drawn
    if drawn in (RANDOM, CLUSTERS, PICKED):
        return LabelsAtHand(column, drawn)
    way = next(iter(drawn), None) if isinstance(drawn, Mapping) and len(drawn) == 1 else None
    if way not in (WITHIN, CHANCE, WEIGHT, DESIGN):
        raise InputError(f"labels.drawn: must be {_WAYS}, got {drawn!r}")
    source = Section("labels.drawn", drawn).text(way, required=True)
    if way == DESIGN:
        source = absolute("labels.drawn.design", source, directory)
    return LabelsAtHand(column, way, source)


def drawn_by(text: str) -> str | dict[str, str]:
    """Return the value of ``labels.drawn`` for an option of the command line.

    ``random``, ``clusters``, ``picked``, ``within:COLUMN``, ``chance:COLUMN``, ``weight:COLUMN``,
    or the path of a design.
    """
    way, colon, source = text.partition(":")
    if colon and way in (WITHIN, CHANCE, WEIGHT):
        return {way: source}
    return {DESIGN: text} if text.endswith(".json") else text

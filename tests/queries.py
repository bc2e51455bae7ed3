"""A small pool of queries with two rankers, its truth, and gains worked out item by item."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

GRADES = 3
CUT = 4


@dataclasses.dataclass(frozen=True)
class Queries:
    """Columns of queries with items and scores of two rankers, and the true grade of each item."""

    columns: dict[str, Any]
    grade: list[list[int]]

    def __len__(self) -> int:
        return len(self.grade)

    def ranked(self, query: int, ranker: str, cut: int = CUT) -> list[int]:
        """Places of the items that a ranker lists, by falling score."""
        scores = self.columns[ranker][query]
        listed = [place for place, score in enumerate(scores) if score is not None]
        return sorted(listed, key=lambda place: -scores[place])[:cut]

    def gain(self, query: int, ranker: str, name: str, cut: int = CUT) -> float:
        """The gain of a list, term by term."""
        total, reached = 0.0, 1.0
        for rank, place in enumerate(self.ranked(query, ranker, cut), start=1):
            value = 2.0 ** self.grade[query][place] - 1
            if name == "dcg":
                total += value / float(np.log2(rank + 1))
            else:
                stop = value / 2.0 ** (GRADES - 1)
                total += reached * stop / rank
                reached *= 1 - stop
        return total

    def mean(self, ranker: str, name: str, cut: int = CUT) -> float:
        return float(np.mean([self.gain(q, ranker, name, cut) for q in range(len(self))]))

    @property
    def grade_of(self) -> dict[str, int]:
        """The true grade of each item, by the name of its task's row."""
        return {
            f"{id}/{item}": grade
            for id, items, grades in zip(
                self.columns["query"], self.columns["doc"], self.grade, strict=True
            )
            for item, grade in zip(items, grades, strict=True)
        }

    def spec(self, **keys: Any) -> dict[str, Any]:
        pool = {
            "path": "pool/*.parquet",
            "id": "query",
            "lists": {"items": "doc"},
            "cost": "cost",
            "systems": {"new": {"score": "new", "probability": "chances"}, "old": {"score": "old"}},
            "payload": ["text"],
            "slices": ["market"],
        }
        measure = [{"difference": {"name": "dcg", "cut": CUT}}, {"name": "err", "cut": CUT}]
        return {
            "pool": pool | keys.pop("pool", {}), "labels": {"classes": list(range(GRADES))},
            "measure": measure, "strata": {"leaves": 16}, "round_size": 20, "budget": 60, "seed": 3,
            "workspace": "work", **keys,
        }  # fmt: skip

    def write(self, folder: Path, files: int = 1, **keys: Any) -> Path:
        """Write pool, truth and spec; return the spec's path."""
        (folder / "pool").mkdir()
        table = pa.table(self.columns)
        bounds = np.linspace(0, len(self), files + 1).astype(int)
        for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
            part = table.slice(begin, end - begin)
            pq.write_table(part, folder / f"pool/part-{number}.parquet", row_group_size=40)
        truth = table.select(["query", "doc"]).append_column("grade", pa.array(self.grade))
        pq.write_table(truth, folder / "truth.parquet")
        path = folder / "spec.yaml"
        path.write_text(yaml.safe_dump(self.spec(**keys)))
        return path


def make_queries(queries: int = 160, seed: int = 5, agree: float = 0.5) -> Queries:
    """Queries of 3 to 8 items; a share of them is ranked alike by both, some items by one only."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "query": [f"q{number}" for number in range(queries)],
        "text": [f"text {number}" for number in range(queries)],
        "market": ["uk" if number % 3 else "us" for number in range(queries)],
        "doc": [], "new": [], "old": [], "chances": [], "cost": [],
    }  # fmt: skip
    grade = []
    for _ in range(queries):
        items = int(rng.integers(3, 9))
        quality = rng.normal(rng.normal(-0.5, 0.7), 1.0, items)
        first = np.exp(quality)
        chance = np.stack([np.ones(items), first, first**1.5], axis=1)
        chance /= chance.sum(axis=1, keepdims=True)
        grade.append([int(rng.choice(GRADES, p=row)) for row in chance])
        score = quality + rng.normal(0, 0.5, items)
        other = score if rng.random() < agree else score + rng.normal(0, 0.8, items)
        columns["doc"].append([f"d{place}" for place in range(items)])
        columns["new"].append(score.tolist())
        columns["old"].append([s if rng.random() < 0.95 else None for s in other.tolist()]
                              if other is not score else score.tolist())  # fmt: skip
        columns["chances"].append(chance.tolist())
        columns["cost"].append(float(items))
    return Queries(columns, grade)

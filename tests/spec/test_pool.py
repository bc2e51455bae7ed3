"""Specs of pools of queries: what they say, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling.errors import InputError
from evalsampling.evaluation.specs import check_buildable
from evalsampling.spec import EvaluationSpec
from tests.queries import make_queries


def load(**keys: Any) -> EvaluationSpec:
    spec = EvaluationSpec.from_mapping(make_queries(2).spec(**keys), Path("/nowhere"))
    check_buildable(spec)
    return spec


def test_defaults_are_filled_in_and_read_again() -> None:
    spec = load()
    assert spec.sampler.name == "ranking"
    assert spec.strata.by_features
    assert spec.reading.signature_shape == (1, 2)
    again = EvaluationSpec.from_mapping(spec.to_mapping(), "/nowhere")
    assert again == spec
    assert spec.pool.payload == ("text",)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"pool": {"lists": {}}}, "pool.lists.items: missing"),
        ({"pool": {"lists": {"items": "doc", "price": "cost"}}}, "unknown key pool.lists.price"),
        ({"pool": {"systems": {"new": {}}}}, "pool.systems.new.score: missing"),
        ({"pool": {"systems": {}}}, "pool.systems: must name at least one system"),
        ({"pool": {"systems": None}}, "pool.systems: missing, with pool.lists"),
        ({"pool": {"score": "new"}}, "pool.score: with pool.lists, rows are queries"),
        ({"pool": {"weight": "w"}}, "pool.weight: with pool.lists, rows are queries"),
        ({"pool": {"variance": "v"}}, "pool.variance: with pool.lists, rows are queries"),
        ({"pool": {"logits": {0: "l"}}}, "pool.logits: with pool.lists, rows are queries"),
        ({"pool": {"systems": {"new": {"score": "new", "prediction": "x"}}}},
         "unknown key pool.systems.new.prediction"),
        ({"pool": {"systems": {f"s{n}": {"score": "new"} for n in range(9)}},
          "measure": "dcg", "strata": {"leaves": 256}},
         "pool.systems: 9 rankers are too many for 256 leaves"),
        ({"strata": {"method": "csf"}}, "strata.method: with pool.lists, strata are cut"),
        ({"strata": {"edges": [0.5]}}, "strata.edges: with pool.lists, strata are cut"),
        ({"measure": "f1"}, "measure: unknown measure 'f1'"),
        ({"measure": {"name": "dcg", "cut": 0}}, "measure: dcg: cut must be between 1 and 1000"),
        ({"measure": {"name": "dcg", "cut": "all"}}, "measure: dcg: cut must be a whole number"),
        ({"measure": {"name": "dcg", "depth": 3}}, "unknown key measure.depth of dcg"),
        ({"sampler": "ais"}, "sampler: ais: queries are drawn by ranking, passive or"),
        ({"sampler": {"name": "ranking", "variant": "best"}}, "sampler: ranking: variant must be"),
        ({"sampler": {"name": "ranking", "floor": 2}}, "sampler: ranking: floor must be between"),
        ({"sampler": {"name": "ranking", "gains": 2}}, "unknown key sampler.gains of ranking"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(**keys)
    assert str(caught.value).startswith(message)


def test_gains_and_their_sampler_are_for_queries() -> None:
    plain = {"pool": {"path": "pool.parquet"}}
    for keys, message in [({"measure": "dcg"}, "unknown measure 'dcg'"),
                          ({"sampler": "ranking"}, "it draws queries")]:  # fmt: skip
        with pytest.raises(InputError, match=message):
            check_buildable(EvaluationSpec.from_mapping({**plain, **keys}, Path("/nowhere")))

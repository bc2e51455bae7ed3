"""JSON twins of reports, made by hand."""

from typing import Any


def number(measure: str, value: float | None = 0.5, **told: Any) -> dict[str, Any]:
    """An object of `estimate --json`; the interval is a tenth to both sides unless it is given."""
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    one: dict[str, Any] = {
        "measure": measure, "system": None, "against": None, "slice": None, "threshold": None,
        "value": value, "standard_error": 0.05, "low": low, "high": high, "confidence": 0.95,
        "method": "calibration-curve", "reason": None, "effective_size": 10.0,
        "design_effect": 0.5, "largest_share": 0.1, "largest_weight": 0.1, "sensitivity": [],
        "unsearched": None, "statement": f"{measure} is {value}. More of it.", **told,
    }  # fmt: skip
    default = {"low": one["low"], "high": one["high"], "kind": "model-based",
               "method": one["method"]}  # fmt: skip
    one.setdefault("intervals", [default])
    return one


def band(place: int, **told: Any) -> dict[str, Any]:
    """A band of ten leaves with 100 rows, of which 10 have a label and `place` are met."""
    rate = {"value": place / 10, "low": place / 20, "high": (place + 10) / 20}
    return {
        "first_leaf": 10 * place, "last_leaf": 10 * place + 9, "low": float(place),
        "high": place + 1.0, "rows": 100, "labelled": 10, "met": place, "prior": place / 10,
        "observed": rate, "model": rate, **told,
    }  # fmt: skip


def twin(*measures: dict[str, Any], **told: Any) -> dict[str, Any]:
    """The JSON twin of a report on these numbers; keys of the parts may be given."""
    estimate = {
        "round": 2, "labels": 40, "open": 0, "rejects": 0, "done": False,
        "warnings": [], "notes": [],
        "measures": list(measures) or [number("f1")], "regions": [], "half_width": None,
        "assumes": {}, "hidden": [], "missing": None, "label_error": None,
        "guarantee": None, **told.pop("estimate", {}),
    }  # fmt: skip
    evaluation = {
        "rows": 1000, "budget": 100, "classes": ["0", "1"], "positive": "1", "systems": [None],
        "sampler": "ais", "oracle": "deterministic", "hidden_share": 0.05,
        **told.pop("evaluation", {}),
    }  # fmt: skip
    return {
        "version": 1, "title": "Pairs", "workspace": "/data/run", "as_of": "2026-01-02T03:04:05",
        "evaluation": evaluation, "estimate": estimate, "rounds": [],
        "bands": [{"label": "1", "bands": [band(place) for place in range(4)]}],
        "slices": [], "annotators": [],
        "quality": {"rows asked about": 40, "rows open": 2},
        "provenance": {
            "seed": 7, "spec": {"measure": ["f1"]}, "spec_sha256": "s" * 64, "prior": "column",
            "pool": {"files": 1, "bytes": 10, "sha256": "p" * 64}, "leaves": 16, "cells": 20,
            "rounds": [], "deliveries": [], "versions": {"python": "3"}, "command": "estimate",
        },
        **told,
    }  # fmt: skip

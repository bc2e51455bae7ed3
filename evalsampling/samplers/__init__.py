"""Samplers: one module for each published system, found by its name."""

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from evalsampling.samplers.active_baselines import ActiveCosts as ActiveCosts
    from evalsampling.samplers.active_baselines import ActiveError as ActiveError
    from evalsampling.samplers.active_baselines import ActiveUniformCosts as ActiveUniformCosts
    from evalsampling.samplers.active_baselines import ActiveUniformLabels as ActiveUniformLabels
    from evalsampling.samplers.active_risk import ActiveRisk as ActiveRisk
    from evalsampling.samplers.adastrat import AdaStrat as AdaStrat
    from evalsampling.samplers.ais import AdaptiveImportance as AdaptiveImportance
    from evalsampling.samplers.base import ReplacementSampler as ReplacementSampler
    from evalsampling.samplers.base import Sampler as Sampler
    from evalsampling.samplers.calibrated import CalibratedDesign as CalibratedDesign
    from evalsampling.samplers.compare import Compare as Compare
    from evalsampling.samplers.given import Given as Given
    from evalsampling.samplers.importance import Importance as Importance
    from evalsampling.samplers.logstrat import LogStrat as LogStrat
    from evalsampling.samplers.oasis import Oasis as Oasis
    from evalsampling.samplers.optimal_importance import OptimalImportance as OptimalImportance
    from evalsampling.samplers.passive import Passive as Passive
    from evalsampling.samplers.poisson import Poisson as Poisson
    from evalsampling.samplers.ranked import RankedSampler as RankedSampler
    from evalsampling.samplers.ranking import Ranking as Ranking
    from evalsampling.samplers.strat import OnlineStratified as OnlineStratified
    from evalsampling.samplers.strat_model import ModelStratified as ModelStratified
    from evalsampling.samplers.stratified import Stratified as Stratified

_HOMES = {
    "ActiveCosts": "active_baselines",
    "ActiveError": "active_baselines",
    "ActiveUniformCosts": "active_baselines",
    "ActiveUniformLabels": "active_baselines",
    "ActiveRisk": "active_risk",
    "AdaStrat": "adastrat",
    "AdaptiveImportance": "ais",
    "ReplacementSampler": "base",
    "Sampler": "base",
    "CalibratedDesign": "calibrated",
    "Compare": "compare",
    "Given": "given",
    "Importance": "importance",
    "LogStrat": "logstrat",
    "Oasis": "oasis",
    "OptimalImportance": "optimal_importance",
    "Passive": "passive",
    "Poisson": "poisson",
    "RankedSampler": "ranked",
    "Ranking": "ranking",
    "OnlineStratified": "strat",
    "ModelStratified": "strat_model",
    "Stratified": "stratified",
}
"""The module of each class that is offered here."""

_CLASSES = {
    "passive": "Passive",
    "stratified": "Stratified",
    "importance": "Importance",
    "oasis": "Oasis",
    "ais": "AdaptiveImportance",
    "calibrated": "CalibratedDesign",
    "poisson": "Poisson",
    "optimal_importance": "OptimalImportance",
    "active_risk": "ActiveRisk",
    "compare": "Compare",
    "ranking": "Ranking",
    "given": "Given",
    "adastrat": "AdaStrat",
    "logstrat": "LogStrat",
    "strat": "OnlineStratified",
    "strat_model": "ModelStratified",
    "active_err": "ActiveError",
    "active_uniC": "ActiveUniformCosts",
    "active_uniD": "ActiveUniformLabels",
    "active_lambda": "ActiveCosts",
}
"""The class of each name that a spec may have."""


def __getattr__(name: str) -> Any:
    """Return a class, imported when it is first asked for: an evaluation needs one sampler."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"evalsampling.samplers.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'evalsampling.samplers' has no attribute {name!r}")


class _ByName(Mapping[str, "type[Sampler]"]):
    """Samplers by name; a class is imported when it is looked up."""

    def __getitem__(self, name: str) -> "type[Sampler]":
        return cast("type[Sampler]", __getattr__(_CLASSES[name]))

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


BY_NAME: Mapping[str, "type[Sampler]"] = _ByName()
"""What a spec may name."""

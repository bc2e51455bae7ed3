"""Samplers: one module for each published system, found by its name."""

import lazy_loader

from evalsampling.parts.registry import Registry

# An evaluation needs one sampler: a class is imported when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

BY_NAME = Registry(
    "samplers",
    {
        "passive": "evalsampling.samplers.importance:Passive",
        "stratified": "evalsampling.samplers.stratified:Stratified",
        "importance": "evalsampling.samplers.importance:Importance",
        "oasis": "evalsampling.samplers.oasis:Oasis",
        "ais": "evalsampling.samplers.ais:AdaptiveImportance",
        "calibrated": "evalsampling.samplers.calibrated:CalibratedDesign",
        "clusters": "evalsampling.samplers.calibrated:Clusters",
        "poisson": "evalsampling.samplers.poisson:Poisson",
        "active_risk": "evalsampling.samplers.active_risk:ActiveRisk",
        "compare": "evalsampling.samplers.compare:Compare",
        "ranking": "evalsampling.samplers.ranking:Ranking",
        "given": "evalsampling.samplers.importance:Given",
        "adastrat": "evalsampling.samplers.ranked:AdaStrat",
        "logstrat": "evalsampling.samplers.ranked:LogStrat",
    },
    "evalsampling.samplers.base:Sampler",
)
"""The class of each name that a spec may have; those of `published` are entry points."""

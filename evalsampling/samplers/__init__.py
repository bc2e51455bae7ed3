"""Samplers: one module for each published system, found by its name."""

from collections.abc import Mapping

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

BY_NAME: Mapping[str, type[Sampler]] = {
    "passive": Passive,
    "stratified": Stratified,
    "importance": Importance,
    "oasis": Oasis,
    "ais": AdaptiveImportance,
    "calibrated": CalibratedDesign,
    "poisson": Poisson,
    "optimal_importance": OptimalImportance,
    "active_risk": ActiveRisk,
    "compare": Compare,
    "ranking": Ranking,
    "given": Given,
    "adastrat": AdaStrat,
    "logstrat": LogStrat,
    "strat": OnlineStratified,
    "strat_model": ModelStratified,
    "active_err": ActiveError,
    "active_uniC": ActiveUniformCosts,
    "active_uniD": ActiveUniformLabels,
    "active_lambda": ActiveCosts,
}
"""What a spec may name."""

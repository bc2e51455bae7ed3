import evalsampling.parts.registry

from .active_risk import ActiveRisk as ActiveRisk
from .ais import AdaptiveImportance as AdaptiveImportance
from .base import ReplacementSampler as ReplacementSampler
from .base import Sampler as Sampler
from .calibrated import CalibratedDesign as CalibratedDesign
from .calibrated import Clusters as Clusters
from .compare import Compare as Compare
from .importance import Given as Given
from .importance import Importance as Importance
from .importance import Passive as Passive
from .oasis import Oasis as Oasis
from .poisson import Poisson as Poisson
from .published.optimal_importance import ActiveCosts as ActiveCosts
from .published.optimal_importance import ActiveError as ActiveError
from .published.optimal_importance import ActiveUniformCosts as ActiveUniformCosts
from .published.optimal_importance import ActiveUniformLabels as ActiveUniformLabels
from .published.optimal_importance import OptimalImportance as OptimalImportance
from .published.strat import ModelStratified as ModelStratified
from .published.strat import OnlineStratified as OnlineStratified
from .ranked import AdaStrat as AdaStrat
from .ranked import LogStrat as LogStrat
from .ranked import RankedSampler as RankedSampler
from .ranking import Ranking as Ranking
from .stratified import Stratified as Stratified

BY_NAME: evalsampling.parts.registry.Registry[type[Sampler]]

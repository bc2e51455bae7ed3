import evalsampling.parts.registry

from .active_risk import ActiveRisk as ActiveRisk
from .adastrat import AdaStrat as AdaStrat
from .ais import AdaptiveImportance as AdaptiveImportance
from .base import ReplacementSampler as ReplacementSampler
from .base import Sampler as Sampler
from .calibrated import CalibratedDesign as CalibratedDesign
from .clusters import Clusters as Clusters
from .compare import Compare as Compare
from .given import Given as Given
from .importance import Importance as Importance
from .logstrat import LogStrat as LogStrat
from .oasis import Oasis as Oasis
from .passive import Passive as Passive
from .poisson import Poisson as Poisson
from .published.active_baselines import ActiveCosts as ActiveCosts
from .published.active_baselines import ActiveError as ActiveError
from .published.active_baselines import ActiveUniformCosts as ActiveUniformCosts
from .published.active_baselines import ActiveUniformLabels as ActiveUniformLabels
from .published.optimal_importance import OptimalImportance as OptimalImportance
from .published.strat import OnlineStratified as OnlineStratified
from .published.strat_model import ModelStratified as ModelStratified
from .ranked import RankedSampler as RankedSampler
from .ranking import Ranking as Ranking
from .stratified import Stratified as Stratified

BY_NAME: evalsampling.parts.registry.Registry[type[Sampler]]

"""Samplers: one module for each published system, found by its name."""

from collections.abc import Mapping

from evalsampling.samplers.ais import AdaptiveImportance as AdaptiveImportance
from evalsampling.samplers.base import ReplacementSampler as ReplacementSampler
from evalsampling.samplers.base import Sampler as Sampler
from evalsampling.samplers.importance import Importance as Importance
from evalsampling.samplers.passive import Passive as Passive

BY_NAME: Mapping[str, type[ReplacementSampler]] = {
    "passive": Passive,
    "importance": Importance,
    "ais": AdaptiveImportance,
}
"""What a spec may name."""

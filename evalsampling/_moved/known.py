"""Moved: see simulation.truth and preparation.local."""

from evalsampling.preparation.local import read_table as read_table
from evalsampling.preparation.local import stratify_pool as read_partition
from evalsampling.simulation.truth import KnownPool as KnownPool

__all__ = ["KnownPool", "read_partition", "read_table"]

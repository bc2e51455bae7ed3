"""Moved: see simulation.plan."""

from evalsampling.simulation.plan import plan as plan

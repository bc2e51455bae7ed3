"""Evaluations of pools whose truth is known, or imagined."""

from evalsampling.simulation.simulate import Plan as Plan
from evalsampling.simulation.simulate import simulate as simulate

"""Evaluations of pools whose truth is known, or imagined."""

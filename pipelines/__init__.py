"""Beam pipelines: parse, build, run."""

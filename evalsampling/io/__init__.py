"""Pools on disk: what there is to read, and reading it as Arrow batches. No Beam."""

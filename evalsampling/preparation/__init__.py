"""The two passes over a pool, as plain functions and mergeable states."""

"""Moved: see pool."""

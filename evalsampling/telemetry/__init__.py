"""Logs, progress, and what must not be written down."""

"""Logs, progress, and the removal of credentials and values of rows from both."""

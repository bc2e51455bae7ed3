"""Moved: see preparation.summary."""

from evalsampling.preparation.summary import summary_columns as summary_columns

"""Beam pipelines: parse, build, run."""

import logging


def _not_about_bigquery(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("apitools not found")


# Importing Beam without its gcp extra logs that BigQuery is missing, which nothing here uses.
logging.getLogger().addFilter(_not_about_bigquery)

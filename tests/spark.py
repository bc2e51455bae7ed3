"""A session of Spark on this machine, for the tests of several files."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
MASTER = "local[2,4]"
"""Two workers, four tries of a task."""

SPARK = [
    pytest.mark.runners,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark.*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark.*"),
    # PySpark leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("pyspark", "pandas")),
        reason="pip install '.[spark]': mapInArrow needs pandas too",
    ),
]
"""Marks of a file of tests that ask for Spark."""


def environment(master: str = MASTER) -> dict[str, str]:
    """Variables of a process that starts Spark here, and whose workers find this package."""
    options = ["--master", master, "--conf", "spark.ui.enabled=false"]
    return {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": " ".join([*options, "pyspark-shell"]),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def started_session() -> Iterator[Any]:
    """Yield a session, which is stopped then."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        started = SparkSession.builder.getOrCreate()
        started.sparkContext.setLogLevel("OFF")
        yield started
        started.stop()

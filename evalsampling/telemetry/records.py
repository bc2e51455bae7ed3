"""The format of log records: one JSON object each."""

from collections.abc import Callable, Mapping
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from evalsampling.telemetry.redaction import without_values


class RecordFormatter(JsonFormatter):
    """A formatter with Cloud Logging's names; it removes values of rows and credentials."""

    def __init__(self, fields: Callable[[], Mapping[str, Any]]) -> None:
        """Format records of a job."""
        names = {"levelname": "severity"}
        super().__init__(["levelname", "message"], rename_fields=names, timestamp="time")
        self._job_fields = fields

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Return the object of a record; the fields that every job has come first."""
        for key in {"message", "exc_info"} & log_data.keys():
            log_data[key] = without_values(log_data[key])
        first = {key: log_data.pop(key) for key in ("time", "severity", "message")}
        return {**first, **self._job_fields(), **log_data}

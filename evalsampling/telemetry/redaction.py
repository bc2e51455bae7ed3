"""Removes credentials from texts, and from logs also values of rows of the pool."""

import contextlib
import json
import re
from typing import Any

HIDDEN = "..."

_HINTS = "passw|pwd|secret|token|credential|key|authorization|signature|connection_string"
_CREDENTIAL = rf"[\w.-]*(?:{_HINTS})[\w.-]*"
_NAME = re.compile(_CREDENTIAL, re.IGNORECASE)
_STRING = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_ASSIGNED = re.compile(
    rf"""({_CREDENTIAL}["']?\s*[=:]\s*)({_STRING}|(?:bearer |basic )?[^\s,;&"'}}]+)""",
    re.IGNORECASE,
)
"""``name=value`` or ``"name": "value"`` within a text."""

_USER = re.compile(r"(?<=://)[^/\s@]+@")
"""Name and password within a URL."""

_QUOTED = re.compile(rf"(?<!\w)(?:{_STRING})|(?<=\bgot )\S.*")
"""A value as messages quote it: its ``repr``."""


_SLICE = re.compile(
    r"(\blabelled row where [^=]*=).*|(\bwhere [^=]*=).*(?=: | is undefined )|(\bwhere [^=]*=).*",
    re.DOTALL,
)
"""The slice in a warning: ``where column=value``; a value may be any text."""


def without_credentials(value: Any, name: str = "") -> Any:
    """Return an option without values whose names mark them as credentials.

    >>> without_credentials({"region": "here", "s3_session_token": "abc"})
    {'region': 'here', 's3_session_token': '...'}
    >>> without_credentials("http://user:abc@host/?api_key=abc")
    'http://...@host/?api_key=...'
    """
    if _NAME.search(name):
        return HIDDEN
    if isinstance(value, dict):
        return {str(key): without_credentials(part, str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_credentials(part) for part in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    with contextlib.suppress(ValueError, RecursionError):
        if str(value).startswith("{"):
            return json.dumps(without_credentials(json.loads(str(value))))
    return _ASSIGNED.sub(rf"\1{HIDDEN}", _USER.sub(f"{HIDDEN}@", str(value)))


def without_passwords(message: str) -> str:
    """Return a message for people without the user and password of URLs in it.

    >>> without_passwords("s3://key:secret@bucket/a.csv: no such file")
    's3://...@bucket/a.csv: no such file'
    """
    return _USER.sub(f"{HIDDEN}@", message)


def without_values(message: str) -> str:
    """Return a message without quoted values and credentials, fit for a log.

    >>> without_values("labels.csv: line 3: label 'maybe' is none of: 0, 1")
    "labels.csv: line 3: label '...' is none of: 0, 1"
    >>> without_values("f1 where city=Bern: fewer than 10 draws")
    'f1 where city=...: fewer than 10 draws'
    """
    message = _SLICE.sub(lambda match: "".join(filter(None, match.groups())) + HIDDEN, message)
    return str(without_credentials(_QUOTED.sub(f"'{HIDDEN}'", message)))

"""The example of a stream, for the tests that run it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "stream"))

import daily as daily
import events as events

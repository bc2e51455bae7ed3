"""What the guide to pipelines of one's own sends to a queue; the rest of it is run by others.

`test_pubsub.py` and `test_bigquery.py` run its sinks and sources against servers of ours,
`tests/runners/test_sinks.py` on other runners.
"""

import json
from types import ModuleType

TASK = {"task": "7f3a", "name": "Zürich", "label": ""}


def test_messages_hold_the_task(sinks: ModuleType) -> None:
    assert json.loads(sinks.message(TASK)) == TASK

"""From labelled rows to estimates with intervals. A ``confidence`` is always in (0, 1)."""

"""From labelled rows to estimates with intervals."""

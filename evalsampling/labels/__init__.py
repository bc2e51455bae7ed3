"""Tasks out, votes in: their formats and the checks on what comes back."""

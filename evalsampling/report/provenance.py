"""The section of a report that says how to reproduce its numbers."""

import json

from evalsampling.report.facts import Facts
from evalsampling.report.section import Section, code
from evalsampling.stats.counted import counted

MOST_LINES = 200
"""Most rounds, and most deliveries, that the page lists: the last ones."""


def provenance(facts: Facts) -> Section:
    """Return the section of versions, seed, fingerprints, rounds, deliveries and the spec."""
    record = facts.provenance
    pool = record["pool"]
    files = f"{counted(pool['files'], 'file')} of {pool['bytes']:,} bytes"
    selection = {f"{key} of the pool": pool[key] for key in ("table", "version", "where")
                 if key in pool}  # fmt: skip
    rows = {
        "workspace": facts.workspace,
        "pool": f"{facts.rows:,} rows in {files}",
        **{
            name: code(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))
            for name, text in selection.items()
        },
        "SHA-256 of the list of files": code(pool["sha256"]),
        "SHA-256 of the spec": code(record["spec_sha256"]),
        "seed": record["seed"],
        "sampler": facts.sampler,
        "prior probabilities from": record["prior"],
        "leaves, cells": f"{record['leaves']:,}, {record['cells']:,}",
        "versions": ", ".join(f"{name} {it}" for name, it in record["versions"].items()),
        "state as of": facts.as_of or "-",
        "the numbers again": code(record["command"]),
    }
    content = {
        "rows": list(rows.items()),
        "rounds": [
            (entry["round"], entry["sampler"], f"{entry['draws']:,}", f"{entry['new_rows']:,}",
             "yes" if entry["closed"] else "")
            for entry in record["rounds"][-MOST_LINES:]
        ],
        "deliveries": [
            (code(delivery["sha256"]), f"{delivery['rejects']:,}")
            for delivery in record["deliveries"][-MOST_LINES:]
        ],
        "spec": json.dumps(record["spec"], indent=1, ensure_ascii=False),
    }  # fmt: skip
    return Section("provenance", "How to make these numbers again", content)

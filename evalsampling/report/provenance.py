"""The section of a report that says how to reproduce its numbers."""

import json
from collections.abc import Mapping
from typing import Any

from evalsampling.report.facts import Facts
from evalsampling.report.markup import Section, escape, folded, paragraph, table

MOST_LINES = 200
"""Most rounds, and most deliveries, that the page lists: the last ones."""


def provenance(facts: Facts) -> Section:
    """Return the section of versions, seed, fingerprints, rounds, deliveries and the spec."""
    record = facts.provenance
    pool = record["pool"]
    files = f"{pool['files']:,} file{'s' * (pool['files'] != 1)}"
    rows = [
        ["workspace", escape(facts.workspace)],
        ["pool", f"{facts.rows:,} rows in {files} of {pool['bytes']:,} bytes"],
        *_selection(pool),
        ["SHA-256 of the list of files", f"<code>{escape(pool['sha256'])}</code>"],
        ["SHA-256 of the spec", f"<code>{escape(record['spec_sha256'])}</code>"],
        ["seed", escape(record["seed"])],
        ["sampler", escape(facts.sampler)],
        ["prior probabilities from", escape(record["prior"])],
        ["leaves, cells", f"{record['leaves']:,}, {record['cells']:,}"],
        ["versions", escape(", ".join(f"{k} {v}" for k, v in record["versions"].items()))],
        ["state as of", escape(facts.as_of or "-")],
        ["the numbers again", f"<code>{escape(record['command'])}</code>"],
    ]
    body = [table("What these numbers rest on", ["what", "which"], rows)]
    rounds = [
        [str(entry["round"]), escape(entry["sampler"]), f"{entry['draws']:,}",
         f"{entry['new_rows']:,}", "yes" if entry["closed"] else ""]
        for entry in record["rounds"][-MOST_LINES:]
    ]  # fmt: skip
    if rounds:
        head = ["round", "sampler", "draws", "new rows", "closed early"]
        body.append(folded("Rounds", table("Rounds", head, rounds, (2, 3))))
    deliveries = [
        [f"<code>{escape(delivery['sha256'])}</code>", f"{delivery['rejects']:,}"]
        for delivery in record["deliveries"][-MOST_LINES:]
    ]
    if deliveries:
        head = ["SHA-256 of the content", "rejected rows"]
        body.append(folded("Deliveries of labels",
                           table("Deliveries of labels", head, deliveries, (1,))))  # fmt: skip
    spec = json.dumps(record["spec"], indent=1, ensure_ascii=False)
    body.append(folded("The spec, with every default",
                       f'<pre tabindex="0">{escape(spec)}</pre>'))  # fmt: skip
    note = "The JSON and CSV files beside this page hold the same numbers with all their digits."
    return Section("provenance", "How to make these numbers again", "".join(body) + paragraph(note))


def _selection(pool: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of the table about a table, its version, and a condition on the rows."""
    return [
        [f"{key} of the pool", f"<code>{escape(_text(pool[key]))}</code>"]
        for key in ("table", "version", "where")
        if key in pool
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

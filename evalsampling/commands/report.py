"""Writing a report that can be sent to somebody: a page, and its numbers as JSON and CSV."""

import dataclasses
import json
from pathlib import PurePath

from evalsampling.commands.options import WorkspaceOptions, flag, many, option
from evalsampling.commands.outputs import OVERWRITE, check_outputs
from evalsampling.commands.report_facts import report_facts
from evalsampling.commands.result import Result
from evalsampling.errors import UsageError
from evalsampling.labels.vendor import escaped
from evalsampling.report.facts import Facts
from evalsampling.report.numbers import COLUMNS, as_csv
from evalsampling.report.page import BEGINS, page
from evalsampling.spec.gates import GatesSpec
from evalsampling.storage import replace_files
from evalsampling.storage.outputs import WRITTEN_BY, Output
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class ReportOptions(WorkspaceOptions):
    """What the report is on, and where it goes."""

    to: str = option("page to write; .json and .csv files beside it", default="report.html",
                     metavar="FILE")  # fmt: skip
    short: bool = flag("one page: claims, comparisons, numbers, and what they rest on")
    at_least: tuple[str, ...] = many("claims to judge: least values, as recall=0.9 (default: the "
                                     "spec's gates)", "NAME=VALUE")  # fmt: skip
    at_most: tuple[str, ...] = many("claims to judge: greatest values, as mse=0.1", "NAME=VALUE")
    anonymous: bool = flag("call annotators by numbers, not by their names")
    title: str | None = option("title of the page (default: name of the workspace)",
                               metavar="TEXT")  # fmt: skip
    overwrite: bool = flag(OVERWRITE)


@dataclasses.dataclass(frozen=True)
class ReportResult(Result):
    """The three files, the size of the page, and the labels that it rests on."""

    page: str
    json: str
    csv: str
    bytes: int
    labels: int


def report(
    options: ReportOptions, place: str | None = None, gates: GatesSpec | None = None
) -> ReportResult:
    """Write a report on a workspace: one HTML file, and JSON and CSV files of the same name.

    Nothing in the workspace is changed. Earlier reports are replaced, each file as a whole, files
    of others only where asked. Where a disk has no room for all of them, none is. A page is there
    only beside its own JSON and CSV: if this is killed between them there is no page until it is
    run again. The page calls the workspace ``place``, by default by its path; ``gates`` are judged
    in place of those of the options.
    """
    if PurePath(options.to).suffix != ".html":
        raise UsageError(f"--to: {options.to}: a report is written as .html")
    snapshot = Snapshot.at(options.workspace)
    stem = options.to.removesuffix(".html")
    begins = {
        f"{stem}.json": json.dumps(WRITTEN_BY, indent=1).removesuffix("\n}").encode(),
        f"{stem}.csv": ",".join(COLUMNS).encode("utf-8-sig"),
        options.to: BEGINS.encode(),
    }
    check_outputs(snapshot.pool, [Output(*each) for each in begins.items()], options.overwrite)
    gates = gates or GatesSpec.parse(options.at_least, options.at_most)
    gates = gates or snapshot.pool.spec.gates
    content = report_facts(snapshot, options.title, options.anonymous, gates)
    if place is not None:  # JSON writes a path as it is, but for what it escapes.
        path, name = (json.dumps(each)[1:-1] for each in (snapshot.pool.workspace.path, place))
        content = json.loads(json.dumps(content).replace(path, name))
    facts = Facts.from_json(content)
    html = page(facts, options.short).encode()
    twin = json.dumps(WRITTEN_BY | content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    # The page comes last, and the one before it goes first: it is beside its own twins or away.
    replace_files(
        {
            f"{stem}.json": twin.encode(),
            f"{stem}.csv": as_csv(content, escaped).encode("utf-8-sig"),
            options.to: html,
        }
    )
    return ReportResult(options.to, f"{stem}.json", f"{stem}.csv", len(html), facts.labels)

"""Tables that Spark wrote, in both formats: the rows of its own SELECT, or a refusal."""

import dataclasses
import datetime
import json
import os
import pickle
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from evalsampling import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.source import pinned, planned_files
from evalsampling.spec import EvaluationSpec

pytestmark = pytest.mark.connectors

LAKES = Path(__file__).with_name("lakes")
ENVIRONMENT = Path(
    os.environ.get("LAKES_ENVIRONMENT") or Path(__file__).parents[2] / ".venv" / "lakes"
)
"""A virtual environment with PySpark, and the folder `jars`, as `make test-connectors` makes it."""

REWRITE = (
    "options => map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true', "
    "'use-starting-sequence-number', 'false')"
)
"""What a refusal says of delete files of Iceberg."""

EVERYWHERE = {
    "country = 'DE'": None, "country IS NULL": None, "country <> 'DE'": None,
    "NOT country IN ('FR', 'A B/ü=1')": None,
    "day = DATE '2024-01-01'": None, "day IS NULL": None, "NOT day >= DATE '2023-12-30'": None,
    "moment > '2024-01-03T00:00:00Z'": "moment > TIMESTAMP '2024-01-03T00:00:00Z'",
    "NOT moment < '2262-01-01T00:00:00Z'": "NOT moment < TIMESTAMP '2262-01-01T00:00:00Z'",
    "moment IS NULL": None,
    "local < '1970-01-01 00:00:00'": "local < TIMESTAMP_NTZ '1970-01-01 00:00:00'",
    "local > '1970-01-04 00:00:00'": "local > TIMESTAMP_NTZ '1970-01-04 00:00:00'",
    "amount = 2.5": None, "NOT amount > 100.255": None, "amount IN (5, 10.00, 11.25)": None,
    "narrow > 16.1": None, "narrow <= 2": None, "id BETWEEN 98 AND 165 OR id = 3": None,
    "prediction = 1 AND id > 195": None, "offer.title = 'Offer 7'": None,
    "offer.price > 20": None, "offer.price IS NULL": None, "offer.count < 100": None,
}  # fmt: skip
"""Conditions as `pool.where` has them, and Spark's of the same meaning if it is another."""

EVOLVED = EVERYWHERE | {
    "chance > 2.4": None, "NOT chance > 2.4 AND id > 10": None, "extra IS NULL": None,
    "extra = 'x'": None, "NOT extra = 'y'": None, "offer.old > 3": None, "offer.old < 0": None,
    "offer.count > 4000000000": None,
}  # fmt: skip

GROWN = EVERYWHERE | {"extra = 'x'": None, "offer.stock = 7": None, "offer.stock IS NULL": None}


@dataclasses.dataclass(frozen=True)
class Case:
    """A table that is read, as Spark names it in a folder `{lake}`, and conditions on its rows."""

    table: str
    conditions: dict[str, str | None] = dataclasses.field(default_factory=dict)
    score: str = "score"


CASES = {
    "iceberg evolved": Case("lake.db.evolved", EVOLVED, "chance"),
    "iceberg evolved at before": Case("lake.db.evolved VERSION AS OF 'before'", EVERYWHERE),
    "iceberg evolved at side": Case("lake.db.evolved VERSION AS OF 'side'", score="chance"),
    "iceberg positions": Case("lake.db.positions", EVERYWHERE),
    "iceberg vectors": Case("lake.db.vectors"),
    "iceberg equality": Case("lake.db.equality"),
    "iceberg expired": Case("lake.db.expired"),
    "delta history": Case("delta.`{lake}/history`", GROWN),
    "delta history at 1": Case("delta.`{lake}/history` VERSION AS OF 1", EVERYWHERE),
    "delta cloned": Case("delta.`{lake}/cloned`", {"country IS NULL": None}),
    "delta clustered": Case("delta.`{lake}/clustered`", EVERYWHERE),
    "delta vectors": Case("delta.`{lake}/vectors`"),
    "delta copied": Case("delta.`{lake}/copied`", score="chance"),
}


@dataclasses.dataclass(frozen=True)
class Lake:
    """A folder with tables, and what Spark says of them."""

    folder: Path
    answers: dict[str, Any]

    @property
    def catalog(self) -> dict[str, str]:
        """Properties of the catalog of Iceberg's tables."""
        uri = f"sqlite:///{self.folder}/catalog.db"
        return {"name": "lake", "type": "sql", "uri": uri, "warehouse": str(self.folder)}

    def iceberg(self, name: str) -> Any:
        """A table as pyiceberg knows it."""
        return load_catalog(**self.catalog).load_table(f"db.{name}")

    def snapshot(self, name: str, number: int) -> int:
        """Number of one of the snapshots of a table, in the order of time."""
        return self.iceberg(name).snapshots()[number].snapshot_id

    def spec(self, case: str, **pool: Any) -> EvaluationSpec:
        """A spec with a table as its pool, at what stands behind `at`."""
        kind, name, *at = case.replace(" at ", " ").split()
        table: dict[str, Any] = {kind: str(self.folder / name)}
        if kind == "iceberg":
            table = {kind: f"db.{name}", "catalog": self.catalog}
        if at and kind == "iceberg":
            table["snapshot"] = self.iceberg(name).metadata.refs[at[0]].snapshot_id
        elif at:
            table["version"] = int(at[0])
        pool = {"table": table | pool.pop("table", {}), **pool}
        spec = EvaluationSpec.from_mapping({"pool": pool, "budget": 10}, "/")
        return spec.with_pool(pinned(spec.pool))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """All tables, written once."""
    python, jars = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "jars"
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not here")
    if not python.exists() or not any(jars.glob("*.jar")):
        pytest.skip("no Spark that writes Iceberg and Delta in .venv/lakes: see the Makefile")
    folder = tmp_path_factory.mktemp("lake")
    text = (LAKES / "tables.sql").read_text()
    text = text.replace("{lake}", str(folder)).replace("{rewrite}", REWRITE)
    statements = [statement for part in text.split(";\n") if (statement := part.strip())]
    questions = {
        name: {
            "table": case.table.replace("{lake}", str(folder)),
            "conditions": [spark or own for own, spark in case.conditions.items()],
        }
        for name, case in CASES.items()
    }
    given = {"statements.json": statements, "questions.json": questions}
    for name, content in given.items():
        (folder / name).write_text(json.dumps(content))
    command = [python, LAKES / "spark.py", jars, folder, *(folder / name for name in given)]
    variables = {"SPARK_LOCAL_IP": "127.0.0.1", "TZ": "UTC", "PYSPARK_PYTHON": str(python)}
    done = subprocess.run(
        [*map(str, command), str(folder / "answers")],
        env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return Lake(folder, pickle.loads((folder / "answers").read_bytes()))


def read(spec: EvaluationSpec, columns: list[str]) -> list[dict[str, Any]]:
    rows = [
        row for item in Catalog.read(spec.reading).items for batch in read_batches(item, columns)
        for row in batch.rows.to_pylist()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row["id"])


def as_spark_says(value: Any) -> Any:
    """Spark's points of time are in the zone of its process."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_spark(lake: Lake, name: str) -> None:
    wanted = sorted(lake.answers[name]["rows"], key=lambda row: row["id"])
    columns = list(wanted[0])
    payload = [each for each in columns if each not in ("id", CASES[name].score, "prediction")]
    rows = read(lake.spec(name, score=CASES[name].score, payload=payload), columns)
    assert [{key: as_spark_says(value) for key, value in row.items()} for row in rows] == wanted


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.conditions])
def test_conditions_choose_the_rows_that_they_choose_in_spark(lake: Lake, name: str) -> None:
    found = {}
    for where in CASES[name].conditions:
        spec = lake.spec(name, where=where, score=CASES[name].score)
        try:
            found[where] = [row["id"] for row in read(spec, ["id"])]
        except InputError as error:
            if not str(error).startswith("pool.where: no row of"):
                raise
            found[where] = []
    assert found == dict(zip(CASES[name].conditions, lake.answers[name]["ids"], strict=True))
    assert any(found.values())


@pytest.mark.parametrize("name", ["positions", "vectors"])
def test_rows_that_iceberg_deletes_by_their_places_are_not_read(lake: Lake, name: str) -> None:
    counts = [
        len(read(lake.spec(f"iceberg {name}", table={"snapshot": lake.snapshot(name, n)}), ["id"]))
        for n in (0, 1)
    ]
    assert counts[0] > counts[1] == len(lake.answers[f"iceberg {name}"]["rows"])


def test_rows_that_iceberg_deletes_by_their_values_are_refused_until_they_are_gone(
    lake: Lake,
) -> None:
    """The statement of the message ran since: later snapshots are read."""
    spec = lake.spec("iceberg equality", table={"snapshot": lake.snapshot("equality", 1)})
    with pytest.raises(InputError, match=r"^db\.equality at snapshot \d+: cannot be pl") as error:
        planned_files(spec.pool)
    assert REWRITE in str(error.value)
    assert "\n" not in str(error.value)


def test_deletion_vectors_of_delta_are_refused_until_they_are_gone(lake: Lake) -> None:
    spec = lake.spec("delta vectors at 1")
    message = rf"/vectors at version 1: .*; run REORG TABLE delta\.`{re.escape(str(lake.folder))}"
    with pytest.raises(InputError, match=rf"{message}/vectors` APPLY \(PURGE\) first$"):
        planned_files(spec.pool)
    assert len(read(lake.spec("delta vectors at 0"), ["id"])) == 50
    with pytest.raises(InputError, match=r"/marked at version \d: rows of file:/.* are deleted"):
        planned_files(lake.spec("delta marked").pool)


def test_column_mapping_of_delta_is_refused(lake: Lake) -> None:
    with pytest.raises(InputError, match=r"/mapped at version 1: has column mapping .*AS SELECT"):
        planned_files(lake.spec("delta mapped", score="chance").pool)


def test_what_was_removed_is_refused(lake: Lake) -> None:
    first = min((lake.folder / "db/expired/metadata").glob("00000-*.metadata.json"))
    number = json.loads(first.read_text())["current-snapshot-id"]
    with pytest.raises(InputError, match=rf"snapshot {number} is not there or has expired"):
        lake.spec("iceberg expired", table={"snapshot": number})
    with pytest.raises(InputError, match=r"no such file; .*/clustered at version 0 has it"):
        planned_files(lake.spec("delta clustered at 0").pool)

"""What the wheel claims and holds."""

import email
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TEMPLATES = Path(__file__).parents[2] / "evalsampling/report/templates"


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_it_has_types_templates_and_beam_jobs_below_one_top_level_name(names: list[str]) -> None:
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"evalsampling"}
    templates = {f"evalsampling/report/templates/{path.name}" for path in TEMPLATES.iterdir()}
    assert {"evalsampling/report/templates/page.css", *templates} <= set(names)
    jobs = ("prepare", "sample", "estimate", "spark_prepare")
    assert {f"evalsampling/pipelines/{job}.py" for job in jobs} <= set(names)
    assert "evalsampling/py.typed" in names


def test_its_description_is_the_readme(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = email.message_from_bytes(archive.read(name))
    assert told["Summary"]
    assert told["Requires-Python"] == ">=3.11"
    assert told["License"] == "Apache-2.0" or told["License-Expression"] == "Apache-2.0"
    assert "record linkage" in told["Keywords"]
    assert "Typing :: Typed" in told.get_all("Classifier")
    assert "First result in Python" in told.get_payload()

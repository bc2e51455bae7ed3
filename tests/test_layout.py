"""Where tests are: the tests of a module are found by its path."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = ROOT / "evalsampling", ROOT / "tests"

ELSEWHERE = {
    # module: the file that tests it.
    "cli/command.py": "cli/test_main.py",
    "cli/estimate.py": "cli/test_main.py",
    "cli/init.py": "commands/test_init.py",
    "cli/label_studio.py": "commands/test_label_studio.py",
    "cli/parser.py": "cli/test_main.py",
    "cli/prepare.py": "cli/test_main.py",
    "cli/report.py": "commands/test_report.py",
    "cli/sample.py": "cli/test_main.py",
    "cli/export.py": "commands/test_label_studio.py",
    "commands/batches.py": "commands/test_sample.py",
    "commands/export.py": "commands/test_label_studio.py",
    "commands/estimate_result.py": "commands/test_estimate.py",
    "commands/plan.py": "cli/test_main.py",
    "commands/prepare.py": "pipelines/test_prepare.py",
    "commands/report_facts.py": "commands/test_report.py",
    "commands/simulate.py": "cli/test_main.py",
    "commands/status.py": "commands/test_result.py",
    "commands/verify.py": "faults/test_bit_flips.py",
    "evaluation/analysis.py": "evaluation/test_evaluation.py",
    "evaluation/missing_labels.py": "commands/test_findings.py",
    "errors.py": "pipelines/test_prepare_bad_pools.py",
    "inference/estimand.py": "inference/test_estimates.py",
    "inference/inputs.py": "inference/test_estimates.py",
    "labels/controls.py": "commands/test_controls.py",
    "labels/delivered_ids.py": "commands/test_pairs.py",
    "labels/label_studio.py": "labels/test_sinks.py",
    "labels/questions.py": "labels/test_exports.py",
    "labels/register.py": "labels/test_votes.py",
    "labels/splink.py": "labels/test_sinks.py",
    "labels/vendor.py": "labels/test_sinks.py",
    "measures/base.py": "measures/test_all.py",
    "measures/joint.py": "measures/test_stacked.py",
    "measures/other_names.py": "measures/test_build.py",
    "notebook/saving.py": "notebook/test_evaluation.py",
    "pool/tables/spark.py": "pipelines/test_spark_dataframe.py",
    "pool/formats/registry.py": "pipelines/test_prepare_formats.py",
    "pool/guesses.py": "commands/test_init.py",
    "pool/label_file.py": "commands/test_estimate_labelled.py",
    "pool/sampled_columns.py": "commands/test_init.py",
    "pool/splits.py": "pool/formats/test_text.py",
    "preparation/plan.py": "commands/test_prepare_plan.py",
    "preparation/stages.py": "commands/test_prepare_plan.py",
    "report/charts.py": "report/test_pictures.py",
    "report/facts.py": "report/test_page.py",
    "report/sections.py": "report/test_page.py",
    "samplers/wave.py": "samplers/test_adastrat.py",
    "preparation/held_rows.py": "commands/test_top_up.py",
    "preparation/reserve_builder.py": "preparation/test_reserve.py",
    "spec/id_columns.py": "commands/test_pairs.py",
    "spec/budget.py": "commands/test_budget.py",
    "spec/labels.py": "spec/test_evaluation.py",
    "spec/measures.py": "spec/test_evaluation.py",
    "spec/parameters.py": "measures/test_build.py",
    "spec/rounds.py": "spec/test_evaluation.py",
    "spec/sections.py": "spec/test_evaluation.py",
    "spec/strata.py": "spec/test_evaluation.py",
    "spec/systems.py": "spec/test_evaluation.py",
    "spec/values.py": "spec/test_evaluation.py",
    "stats/outputs.py": "stats/test_history.py",
    "storage/checksums.py": "storage/test_durability.py",
    "telemetry/records.py": "telemetry/test_logs.py",
    "workspace/deliveries.py": "workspace/test_snapshot.py",
    "workspace/prepared.py": "workspace/test_in_store.py",
    "workspace/reserve.py": "commands/test_top_up.py",
    "workspace/rounds.py": "workspace/test_snapshot.py",
    "workspace/workspace.py": "workspace/test_in_store.py",
}

FILES = sorted(TESTS.rglob("*.py"))


def with_code() -> set[str]:
    """Modules that define functions or classes; `__init__` apart."""
    return {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if not path.stem.startswith("__")
        if re.search("^(def|class) ", path.read_text(), re.M)
    }


def mirrored(module: str) -> Path:
    """The file of tests that has the module's path."""
    path = Path(module)
    return TESTS / path.parent / f"test_{path.name}"


def test_every_module_has_its_tests() -> None:
    without = {module for module in with_code() if not mirrored(module).exists()}
    assert without == set(ELSEWHERE), "either a test is missing, or the list says too much"
    assert not {told for told in ELSEWHERE.values() if not (TESTS / told).exists()}


def test_files_are_small() -> None:
    assert not [path for path in FILES if len(path.read_text().splitlines()) > 600]


def test_no_file_imports_from_tests_of_another() -> None:
    """What several of them need is in a module of its own, or a `conftest.py`."""
    for path in FILES:
        assert not re.search(r"^ *from ([\w.]+\.)?test_\w+ import ", path.read_text(), re.M), path

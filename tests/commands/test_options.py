"""Options described once: the command line and a job read the same of them."""

import argparse
import dataclasses
from typing import Any

import pytest

from evalsampling.commands.estimate import EstimateOptions
from evalsampling.commands.options import (
    SpecOptions,
    add_to_command,
    add_to_job,
    job_arguments,
    option,
    positive,
    read_options,
)
from evalsampling.commands.plan import PlanOptions
from evalsampling.commands.prepare import PrepareOptions
from evalsampling.commands.sample import SampleOptions
from evalsampling.commands.simulate import SimulateOptions


def parsed(add: Any, options: type[Any], arguments: list[str]) -> Any:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add(parser, options)
    return read_options(options, parser.parse_args(arguments))


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (["run"], SampleOptions("run")),
        (["run", "--size", "7", "--next"], SampleOptions("run", size=7, next=True)),
        (["a.yaml", "--check-ids"], PrepareOptions("a.yaml", check_ids=True)),
        (
            ["run", "--labels", "a", "b", "--labels", "c", "--replace", "d", "--measure", "f1",
             "--close", "--strict"],
            EstimateOptions("run", ("a", "b", "c"), ("d",), ("f1",), close=True, strict=True),
        ),
        (["run"], EstimateOptions("run")),
        (["run", "--at", "9,5", "20"], EstimateOptions("run", at=(5, 9, 20))),
        (["run", "--budget", "60.5", "--budget-labels", "7"],
         SampleOptions("run", budget=60.5, budget_labels=7)),
    ],
)  # fmt: skip
def test_what_a_command_reads_its_job_reads_too(line: list[str], options: Any) -> None:
    assert parsed(add_to_command, type(options), line) == options
    assert parsed(add_to_job, type(options), job_arguments(options)) == options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], False),
        (["--check-ids"], True),
        (["--check_ids"], True),
        (["--check_ids=true"], True),
        (["--check-ids=false"], False),
    ],
)
def test_flags_of_jobs_are_given_as_templates_have_them(given: list[str], expected: bool) -> None:
    assert parsed(add_to_job, PrepareOptions, ["--spec=s", *given]).check_ids is expected


def test_values_and_defaults() -> None:
    assert parsed(add_to_command, PlanOptions, ["s"]) == PlanOptions("s", repeats=50)
    line = ["s", "--budgets", "40,10", "--sampler", "ais", "passive", "--half-width", "0.1"]
    assert parsed(add_to_command, PlanOptions, line) == PlanOptions(
        "s", ("ais", "passive"), (10, 40), 0.1
    )
    for both in (["--budgets", "40", "10"], ["--budgets=40", "--budgets", "10,40"]):
        for names in (["ais,passive"], ["ais", "passive"], ["ais,", "passive"]):
            line = ["s", *both, "--sampler", *names, "--half-width", "0.1"]
            assert parsed(add_to_command, PlanOptions, line) == PlanOptions(
                "s", ("ais", "passive"), (10, 40), 0.1
            )
    assert parsed(add_to_command, SimulateOptions, ["s", "--truth", "t"]).truth == "t"
    for wrong in (["s", "--budgets", "0"], ["s", "--repeats", "x"], ["s", "--sampler", "magic"]):
        with pytest.raises(argparse.ArgumentError):
            parsed(add_to_command, PlanOptions, wrong)


def test_an_option_that_may_be_given_alone() -> None:
    @dataclasses.dataclass(frozen=True)
    class Rows(SpecOptions):
        rows: int | None = option("how many", type=positive, alone=0)

    for line, rows in ((["s"], None), (["s", "--rows"], 0), (["s", "--rows", "5"], 5)):
        assert parsed(add_to_command, Rows, line).rows == rows


@pytest.mark.parametrize("option", ["--labels", "--replace", "--measure", "--at-least"])
@pytest.mark.parametrize("add", [add_to_command, add_to_job])
def test_a_variable_that_is_not_set_is_no_value(add: Any, option: str) -> None:
    """Its empty text would be the folder of the command."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add(parser, EstimateOptions)
    with pytest.raises(argparse.ArgumentError, match="an empty text is no value"):
        parser.parse_args([option, ""])

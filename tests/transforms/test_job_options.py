"""Options of Beam jobs."""

import pickle
from typing import Any

import pytest
from apache_beam.options import pipeline_options
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    StandardOptions,
    TypeOptions,
)

from evalsampling.errors import UsageError
from evalsampling.pipelines.running import parse_options


def test_views_share_values() -> None:
    options = parse_options(["--direct_num_workers=3"])
    assert options.view_as(DirectOptions).direct_num_workers == 3
    options.view_as(DirectOptions).direct_num_workers = 5
    assert options.view_as(DirectOptions).direct_num_workers == 5
    assert options.get_all_options()["direct_num_workers"] == 5
    assert options.view_as(TypeOptions).view_as(DirectOptions).direct_num_workers == 5
    again = pickle.loads(pickle.dumps(options))
    assert again.view_as(DirectOptions).direct_num_workers == 5
    assert again.view_as(StandardOptions).runner == options.view_as(StandardOptions).runner


def test_a_class_of_options_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser of arguments for each of hundreds of views took a quarter of the start of a job."""
    made: list[Any] = []
    parser = pipeline_options._BeamArgumentParser

    class Counted(parser):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            made.append(self)
            super().__init__(*arguments, **options)

    monkeypatch.setattr(pipeline_options, "_BeamArgumentParser", Counted)
    options = parse_options([])
    made.clear()
    views = [options.view_as(kind) for kind in (TypeOptions, StandardOptions) for _ in range(100)]
    assert len(made) == 2
    assert len({id(view) for view in views}) == 2
    assert isinstance(views[0], PipelineOptions)


@pytest.mark.parametrize("mode", ["multi_threading", "multi_processing"])
@pytest.mark.parametrize("runner", [[], ["--runner=FnApiRunner"], ["--runner=DirectRunner"]])
def test_modes_in_which_beam_loses_data_are_refused(mode: str, runner: list[str]) -> None:
    with pytest.raises(UsageError, match=f"direct_running_mode={mode}: .* can lose data"):
        parse_options([*runner, f"--direct_running_mode={mode}"])
    parse_options(["--runner=FlinkRunner", f"--direct_running_mode={mode}"])

"""Options of Beam jobs."""

import pickle

import pytest
from apache_beam.options.pipeline_options import DirectOptions, StandardOptions, TypeOptions

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


@pytest.mark.parametrize("mode", ["multi_threading", "multi_processing"])
@pytest.mark.parametrize("runner", [[], ["--runner=FnApiRunner"], ["--runner=DirectRunner"]])
def test_modes_in_which_beam_loses_data_are_refused(mode: str, runner: list[str]) -> None:
    with pytest.raises(UsageError, match=f"direct_running_mode={mode}: .* can lose data"):
        parse_options([*runner, f"--direct_running_mode={mode}"])
    parse_options(["--runner=FlinkRunner", f"--direct_running_mode={mode}"])

"""Commands as functions: their results are what `--json` prints."""

from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.commands.status import status
from tests.jobs import Job, call


def test_functions_return_what_the_commands_print(drawn: Job) -> None:
    workspace = WorkspaceOptions(drawn.workspace)
    assert sample(SampleOptions(drawn.workspace)).to_json() == drawn.sample().json
    path = drawn.deliver(drawn.answers(1))
    result = estimate(EstimateOptions(drawn.workspace, labels=(str(path),), measure=("recall",)))
    assert list(result.messages) == [f"{path}: 20 taken, 0 rejected"]
    assert result.to_json() == drawn.estimate("--measure", "recall").json
    assert status(workspace).to_json() == call("status", drawn.workspace, "--json").json
    assert sample(SampleOptions(drawn.workspace, 5, True)).rows == 5

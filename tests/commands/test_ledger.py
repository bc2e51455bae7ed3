"""The commands under the name they had: `evalsampling.ledger.Ledger`."""

from evalsampling.ledger import Ledger, Options

from evalsampling.workspace import Workspace
from tests.jobs import Job, call


def test_methods_return_what_the_commands_print(drawn: Job) -> None:
    ledger = Ledger(Workspace(drawn.workspace))
    assert ledger.sample() == drawn.sample().json
    path = drawn.deliver(drawn.answers(1))
    result, messages = ledger.estimate([path], options=Options(measures=("recall",)))
    assert messages == [f"{path}: 20 taken, 0 rejected"]
    assert result == drawn.estimate("--measure", "recall").json
    assert ledger.status() == call("status", drawn.workspace, "--json").json
    assert ledger.diagnose() == call("diagnose", drawn.workspace, "--json").json
    assert ledger.sample(size=5, next_round=True)["rows"] == 5

"""A receiver of results: a badge with the first number, for a page that shows such pictures."""

from evalsampling.errors import InputError
from evalsampling.receivers.run import Run
from evalsampling.storage import replace_json
from evalsampling.storage.outputs import Output

COLOURS = {True: "green", False: "red", None: "grey"}


class Badge:
    """Writes what shields.io reads: a label, a message and a colour by the gates."""

    def output(self, where: str | None) -> Output:
        """Return the file; one that begins otherwise is of others, and stays."""
        return Output(str(where), b'{"schemaVersion": 1')

    def check(self, where: str | None) -> None:
        """Check that a file is named."""
        if not where:
            raise InputError("--report-to badge: name a file: badge:recall.json")

    def send(self, run: Run, where: str | None) -> str:
        """Write the file as a whole."""
        first, reached = run.numbers[0], None if run.gates is None else run.gates.reached
        message = "unknown" if first.value is None else f"{first.value:.2f}"
        badge = {"schemaVersion": 1, "label": first.title, "message": message}
        replace_json(str(where), badge | {"color": COLOURS[reached]})
        return str(where)


BADGE = Badge()

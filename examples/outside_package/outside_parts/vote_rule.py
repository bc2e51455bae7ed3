"""A rule of votes: ``labels: {votes: 2, rule: unanimous}``."""

from collections.abc import Mapping, Sequence

from evalsampling.labels.vote_rules import CastVote


class Unanimous:
    """Decides the rows on which all annotators agree; of all others there is a dispute."""

    def decide(self, votes: Sequence[CastVote]) -> Mapping[int, int]:
        """Return the class code of each row that is decided."""
        codes: dict[int, set[int]] = {}
        for vote in votes:
            codes.setdefault(vote.row, set()).add(vote.code)
        return {row: next(iter(said)) for row, said in codes.items() if len(said) == 1}


UNANIMOUS = Unanimous()

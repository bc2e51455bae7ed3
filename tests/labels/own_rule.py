"""A rule of votes of a user's own."""

from collections.abc import Mapping, Sequence

from evalsampling.labels.vote_rules import CastVote


class Least:
    """Decides for the least class that was voted for."""

    def decide(self, votes: Sequence[CastVote]) -> Mapping[int, int]:
        """Return the class code of each row."""
        return {vote.row: vote.code for vote in reversed(votes)}


LEAST = Least()

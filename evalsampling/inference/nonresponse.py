"""Questions without an answer: weights for those that have one."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.stats.history import NO_LABEL, History

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Response:
    """Which draws count, and how much.

    Attributes:
        draw: shape (n,): places, among all draws of the history, of those that count.
        factor: shape (n,): what to multiply their weights by: 0 for a row without a label, above
            1 for a row that stands for such rows, 1 everywhere if all rows have labels.
    """

    draw: npt.NDArray[np.int64]
    factor: FloatArray


def adjust_for_nonresponse(
    history: History, count: npt.NDArray[np.int64], ask_again: bool = False
) -> Response:
    """Weight the rows that have a label for those that have none.

    Labels are taken to be missing at random among the rows that a round met first: of these, a
    share rho has a label, and each that has one counts 1 / rho (the weighting-class adjustment
    of surveys, classes being rounds). A round all of whose new rows lack a label, a silent one,
    does not count: its other draws, all of them of rows labelled before, would stand for the
    whole pool. Nor do later draws of its rows; in later rounds the U rows of a cell that nobody
    had seen stand for the S silent ones of the cell too, by a factor of (U + S) / U.

    Args:
        history: rounds and labels.
        count: shape (cells,): rows of each cell.
        ask_again: whether every draw is a question, so that no row is lost with a silent round.
    """
    rounds = len(history.rounds)
    met = np.repeat(np.arange(rounds), [int(r.new.sum()) for r in history.rounds])
    asked = np.bincount(met, minlength=rounds)
    answered = np.bincount(met, history.label != NO_LABEL, minlength=rounds)
    silent = (asked > 0) & (answered == 0)
    drawn = np.repeat(np.arange(rounds), [len(r.question) for r in history.rounds])
    question = history.question
    draw = np.flatnonzero(~silent[drawn] & ~silent[met[question]])
    question = question[draw]
    share = answered / np.maximum(asked, 1)
    has_label = history.label[question] != NO_LABEL
    factor = np.zeros(len(question))
    factor[has_label] = 1 / share[met[question[has_label]]]
    for number in range(1, rounds) if silent.any() and not ask_again else ():
        before = met < number
        unseen = count - np.bincount(history.cell[before], minlength=len(count))
        lost = np.bincount(history.cell[before & silent[met]], minlength=len(count))
        new = (drawn[draw] == number) & (met[question] == number)
        cell = history.cell[question[new]]
        factor[new] *= (unseen[cell] + lost[cell]) / unseen[cell]
    return Response(draw, factor)

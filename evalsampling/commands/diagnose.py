"""Comparing scores, labels and model of an evaluation, leaf by leaf."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.stats.partition import Partition
from evalsampling.stats.verdicts import named_verdicts
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace


@dataclasses.dataclass(frozen=True)
class LeafReport:
    """What was expected of a leaf and what its labels say, as shares of each class.

    Attributes:
        leaf: number, from the lowest score to the highest where leaves are cut from a score.
        rows: of the pool.
        labelled: distinct questions with an answer.
        prior: by the scores.
        observed: among the labels, None without any.
        posterior: by the model that the latest round was chosen by (`calibrated` has one with next
            to no hidden positives), None if the sampler has none.
    """

    leaf: int
    rows: int
    labelled: int
    prior: Mapping[str, float]
    observed: Mapping[str, float] | None
    posterior: Mapping[str, float] | None


@dataclasses.dataclass(frozen=True)
class DiagnoseResult(Result):
    """Scores, labels and model of every leaf.

    Attributes:
        positive: the positive class.
        leaves: in order.
        label_likelihood: how good the scores' probabilities are by the labels, in (0, 1]; None of
            too few (`inference.label_likelihood`).
        label_likelihood_of: the same for each slice that has labels enough, ``column=value``.
        paths: of a partition the value of each of its columns, for each leaf, or what each system
            predicts in it; else none, and not in JSON.
        by_score: whether leaves are cut from a score; not in JSON.
    """

    positive: str
    leaves: tuple[LeafReport, ...]
    label_likelihood: float | None = None
    label_likelihood_of: Mapping[str, float] = dataclasses.field(default_factory=dict)
    paths: Sequence[Sequence[str]] = ()
    by_score: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the object that the command prints with `--json`."""
        content: dict[str, Any] = super().to_json()
        del content["by_score"]
        return content if self.paths else {k: v for k, v in content.items() if k != "paths"}


def diagnose(options: WorkspaceOptions) -> DiagnoseResult:
    """Return, leaf by leaf, what the scores said, what the labels say and what the model believes.

    Raises:
        InputError: if the workspace is not prepared, or a file of it cannot be read.
    """
    pool = PreparedPool.read(Workspace(options.workspace))
    if not pool.spec.has_classes:
        raise InputError(
            f"diagnose: its rates are of classes, and here {pool.spec.labels.space.are}"
        )
    classes = [str(value) for value in pool.spec.labels.classes]

    def by_class(shares: Sequence[float] | None) -> Any:
        return None if shares is None else dict(zip(classes, shares, strict=True))

    analysis = Snapshot.read(pool).analysis
    slices = [domain for domain in analysis.scope.domains if domain.count is not None]
    grouped, table = pool.stratification.grouped, pool.table
    paths = grouped.paths if isinstance(grouped, Partition) else ()
    named = named_verdicts(table, classes) if table.exchangeable else paths
    likelihood, *of_slices = analysis.label_likelihoods(
        [None, *((domain.column, domain.value) for domain in slices)]
    )
    return DiagnoseResult(
        positive=classes[pool.spec.labels.positive],
        leaves=tuple(
            LeafReport(
                leaf.leaf,
                leaf.rows,
                leaf.labelled,
                *map(by_class, (leaf.prior, leaf.observed, leaf.posterior)),
            )
            for leaf in analysis.diagnose()
        ),
        label_likelihood=likelihood,
        label_likelihood_of={
            str(domain.title): value
            for domain, value in zip(slices, of_slices, strict=True)
            if value is not None
        },
        paths=named,
        by_score=pool.spec.strata.by_score,
    )

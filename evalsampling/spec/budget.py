"""The budget of an evaluation: a number of labels, an amount of money, or both."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section
from evalsampling.spec.values import Count, Positive

NO_BUDGET = 10**9
"""Budget of labels that stands for no limit, where only money is limited."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """Limits of labels and of money; an evaluation ends at the one it reaches first."""

    # most labels in all, or draws if the oracle is stochastic; `NO_BUDGET` for no limit
    labels: int
    # greatest total cost of labels, in the unit of ``pool.cost``; None for no limit
    money: float | None = None

    @classmethod
    def read(cls, top: Section) -> "Budget":
        """Return the key ``budget``, checked: labels (``1000``), money (``{cost: 500}``), both."""
        if not isinstance(top.get("budget"), Mapping):
            return cls(top.value("budget", Count, 1000))
        section = top.section("budget")
        section.check_keys("cost", "labels")
        money = section.value("cost", Positive)
        return cls(section.value("labels", Count, 1000 if money is None else NO_BUDGET), money)

    @property
    def planned(self) -> int | None:
        """The number of labels that is planned; None if only money is limited."""
        return None if self.labels == NO_BUDGET else self.labels

    def to_mapping(self) -> Any:
        """Return the value of the key ``budget`` in a spec."""
        if self.money is None:
            return self.labels
        labels = {} if self.labels == NO_BUDGET else {"labels": self.labels}
        return {"cost": self.money, **labels}

    @property
    def words(self) -> str:
        """The budget in words: ``1,000 labels``, ``money 500.00``."""
        labels = f"{self.labels:,} label{'s' * (self.labels != 1)}"
        if self.money is None:
            return labels
        return f"money {self.money:,.2f}" + f" and {labels}" * (self.labels != NO_BUDGET)

    @property
    def arguments(self) -> str:
        """The options of `evalsampling sample` that set this budget."""
        if self.money is None:
            return f"--budget {self.labels}"
        labels = f" --budget-labels {self.labels}" * (self.labels != NO_BUDGET)
        return f"--budget {self.money:g}{labels}"

    def allows(self, other: "Budget") -> bool:
        """Tell whether another budget is within the limits of this one."""
        if self.money is None or other.money is None:
            return self.money == other.money and self.labels >= other.labels
        return self.money >= other.money and self.labels >= other.labels

    def raised(self, amount: float, labels: int | None) -> "Budget":
        """Return the budget with another amount, of money if it has any, else of labels."""
        if self.money is not None:
            return Budget(labels or self.labels, amount)
        if labels is not None:
            raise InputError("--labels: the budget is of labels, which stand after the workspace")
        if amount != int(amount):
            raise InputError(f"the budget is of labels, a whole number, got {amount:g}")
        return Budget(int(amount))

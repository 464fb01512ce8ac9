"""A test statistic as a number with notes."""

from __future__ import annotations

__all__ = ["TestStatistic"]


class TestStatistic(float):
    """A test statistic.

    ``mu_hat`` is the signal strength of the best fit. ``notes`` lists circumstances that a reader
    should know: several minima, a signal strength at its bound, a negative background.
    """

    __test__ = False  # pytest would collect it by its name.
    __slots__ = ("mu_hat", "notes")

    mu_hat: float
    notes: list[str]

    def __new__(cls, value: float, mu_hat: float, notes: list[str]) -> TestStatistic:
        """Create the number."""
        made = super().__new__(cls, value)
        made.mu_hat, made.notes = mu_hat, notes
        return made

    def __reduce__(self) -> tuple[type[TestStatistic], tuple[float, float, list[str]]]:
        """Support copying and pickling."""
        return TestStatistic, (float(self), self.mu_hat, self.notes)

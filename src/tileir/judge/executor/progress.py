"""How far a sweep is, and what it came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tileir.judge.results.results import Results
from tileir.judge.verdicts.verdict import Verdict


@dataclass(slots=True)
class SweepProgress:
    """How far a sweep is; it only ever counts what is in the file of results."""

    total: int | None
    """How many items there are; None as long as nobody knows."""
    judged: int = 0
    """Items judged by this sweep."""
    known: int = 0
    """Items that an earlier one has judged."""
    outdated: int = 0
    """Of these, those that another tileir has judged, whose results may differ."""
    duplicates: int = 0
    """Items with the same content as another one."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How many came to which outcome, those that were known included."""
    seconds: float = 0.0
    """Since the sweep began."""
    lost: int = 0
    """Chunks that were handed out again, since whoever had them died."""
    latest: list[tuple[str, Verdict]] = field(default_factory=list)
    """Names and verdicts that have been written since progress was last told."""

    @property
    def done(self) -> int:
        return self.judged + self.known + self.duplicates

    @property
    def failed(self) -> int:
        return sum(self.outcomes.values()) - self.outcomes["passed"]

    @property
    def rate(self) -> float:
        """Items judged in a second."""
        return self.judged / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or not self.judged:
            return None
        return max(0, self.total - self.done) / self.rate


@dataclass(slots=True)
class SweepResult:
    """What a sweep came to: counts, and the file with everything."""

    path: str
    """The file of results."""
    plan: str
    """The digest of the plan, under which the file has the results."""
    progress: SweepProgress
    """As it was at the end."""

    @property
    def outcomes(self) -> dict[str, int]:
        """How many came to which outcome, those that an earlier sweep had judged included."""
        return dict(sorted(self.progress.outcomes.items()))

    @property
    def passed(self) -> bool:
        """Whether all passed."""
        return not self.progress.failed

    def results(self) -> Results:
        """The file of results, opened; close it, or use it in a `with`."""
        return Results(self.path, self.plan)

    def __repr__(self) -> str:
        counts = [f"{count} {outcome}" for outcome, count in self.outcomes.items()]
        return f"<SweepResult {', '.join(counts) or 'nothing judged'}, {self.path}>"

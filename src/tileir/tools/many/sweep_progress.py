"""What `tileir sweep` prints while it works: how far it is, and the first failure of each cause."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tileir.ir.quoting import harmless
from tileir.judge.report.contents import counted
from tileir.judge.report.tables import shortened
from tileir.tools.terminal import Progress, in_outcome

if TYPE_CHECKING:
    from tileir.judge.executor.scheduler import SweepProgress
    from tileir.judge.model import Verdict
    from tileir.judge.reductions import Reduced, ReductionProgress

_MOST_CAUSES: Final = 20
_LONGEST_MESSAGE: Final = 200
_LONGEST_CAUSE: Final = 80


class SweepReporter:
    """Prints progress to standard error, and results to standard output."""

    def __init__(self, is_quiet: bool, color: bool) -> None:
        self.progress: Progress = Progress(is_quiet=is_quiet)
        self._is_quiet: bool = is_quiet
        self._color: bool = color
        self._causes: set[str] = set()

    def show(self, progress: SweepProgress) -> None:
        if self._is_quiet:
            return
        for name, verdict in progress.latest:
            if verdict.outcome != "passed" and verdict.cause not in self._causes:
                self._causes.add(verdict.cause)
                self._show_cause(name, verdict)
        self.progress.show(lambda: line(progress))

    def _show_cause(self, name: str, verdict: Verdict) -> None:
        count = len(self._causes)
        if count > _MOST_CAUSES:
            return
        self.progress.clear()
        step = next((step for step in verdict.steps if step.outcome not in ("passed", "skipped")), None)
        message = step.message.strip().partition("\n")[0] if step is not None else verdict.cause
        outcome = in_outcome(verdict.outcome, verdict.outcome) if self._color else verdict.outcome
        where = f"{step.name}: " if step is not None else ""
        line = f"{outcome}: {harmless(name)}: {where}{harmless(shortened(message, _LONGEST_MESSAGE, at_end=True))}"
        print(line, file=sys.stderr, flush=True)
        if count == _MOST_CAUSES:
            print("more kinds of failures are in the report only", file=sys.stderr, flush=True)

    def show_reduction(self, progress: ReductionProgress) -> None:
        """Show how far the reduction of kinds of failures is, on a terminal."""
        if self.progress.is_terminal:
            self.progress.show(
                lambda: (
                    f"reducing {progress.number} of {progress.total}, {harmless(progress.name)}: "
                    f"{progress.size:,} of {progress.original:,}, {progress.tests:,} tests"
                )
            )

    def reduced(self, reduced: Reduced) -> None:
        """Print the result of one of them."""
        self.progress.clear()
        if not self._is_quiet:
            cause = harmless(shortened(reduced.cluster.title, _LONGEST_CAUSE, at_end=True))
            print(f"{cause}: {harmless(reduced.name)}: {harmless(reduced.note)}", flush=True)

    def interrupted(self, path: str) -> None:
        self.progress.clear()
        if not self._is_quiet:
            print(f"interrupted: what is done is in '{harmless(path)}'; the same command goes on", file=sys.stderr)

    def finished(self, progress: SweepProgress, path: str) -> None:
        self.progress.clear()
        if self._is_quiet:
            return
        print(summary(progress))
        if progress.outdated:
            verb = "was" if progress.outdated == 1 else "were"
            another = "judged by another tileir than this one: give another file to judge all of them anew"
            print(f"{progress.outdated:,} {verb} {another}")
        if progress.failed:
            print(f"tileir report {harmless(path)}  shows what is wrong with which")


def line(progress: SweepProgress) -> str:
    """`1,204 of 10,000: 1,190 passed, 9 failed, 5 timeout; 84 a second, 2 minutes left`"""
    total = f" of {progress.total:,}" if progress.total is not None else ""
    left = progress.seconds_left
    words = f"{progress.done:,}{total}: {_outcomes(progress) or 'none judged yet'}"
    if progress.judged:
        words += f"; {_rate(progress.rate)}"
    return words if left is None else f"{words}, {duration(left)} left"


def summary(progress: SweepProgress) -> str:
    """`10,000 programs: 9,871 passed, 129 failed; 9,000 judged in 2 minutes, 1,000 known before, ..`"""
    words = f"{counted(progress.done, 'program')}: {_outcomes(progress) or 'nothing'}"
    parts = [f"{progress.judged:,} judged in {duration(progress.seconds)}"] if progress.judged else []
    parts += [f"{progress.known:,} judged before"] if progress.known else []
    parts += [f"{progress.duplicates:,} the same as another one"] if progress.duplicates else []
    parts += [f"{counted(progress.lost, 'chunk')} lost and judged again"] if progress.lost else []
    return f"{words}; {', '.join(parts)}" if parts else words


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} seconds" if seconds < 10 else f"{seconds:.0f} seconds"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _rate(rate: float) -> str:
    return f"{rate * 60:.1f} a minute" if rate < 1 else f"{rate:.{0 if rate >= 10 else 1}f} a second"


def _outcomes(progress: SweepProgress) -> str:
    order = sorted(progress.outcomes.items(), key=lambda each: (each[0] != "passed", -each[1], each[0]))
    return ", ".join([f"{count:,} {outcome}" for outcome, count in order if count])

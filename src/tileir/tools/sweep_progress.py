"""What `tileir sweep` says while it works: a line that changes on a terminal, lines now and then elsewhere.

The first failure of each cause is told when it is found; the others are for the report."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING, Final

from tileir.ir.quoting import harmless

if TYPE_CHECKING:
    from tileir.judge.executor.scheduler import SweepProgress
    from tileir.judge.reductions import Reduced, ReductionProgress
    from tileir.judge.verdicts.verdict import Verdict

_EVERY: Final = 30.0
"""Seconds between lines where they stay."""
_MOST_CAUSES: Final = 20
_LONGEST_MESSAGE: Final = 200
_LONGEST_CAUSE: Final = 80
_RED: Final = "\x1b[31m"
_PLAIN: Final = "\x1b[0m"


class Teller:
    """Tells progress on standard error."""

    def __init__(self, is_quiet: bool, colours: bool) -> None:
        self._is_quiet: bool = is_quiet
        self._colours: bool = colours
        self._changes: bool = sys.stderr.isatty() and not is_quiet
        self._said: float = time.monotonic()
        self._causes: set[str] = set()

    def tell(self, progress: SweepProgress) -> None:
        if self._is_quiet:
            return
        for name, verdict in progress.latest:
            if verdict.outcome != "passed" and verdict.cause not in self._causes:
                self._causes.add(verdict.cause)
                self._tell_cause(name, verdict)
        if self._changes:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{line(progress)[:width]}")
            sys.stderr.flush()
        elif time.monotonic() - self._said >= _EVERY:
            self._said = time.monotonic()
            print(line(progress), file=sys.stderr, flush=True)

    def _tell_cause(self, name: str, verdict: Verdict) -> None:
        count = len(self._causes)
        if count > _MOST_CAUSES:
            return
        self.clear()
        step = next((step for step in verdict.steps if step.outcome not in ("passed", "skipped")), None)
        message = step.message.strip().partition("\n")[0] if step is not None else verdict.cause
        if len(message) > _LONGEST_MESSAGE:
            message = message[: _LONGEST_MESSAGE - 2] + ".."
        outcome = f"{_RED}{verdict.outcome}{_PLAIN}" if self._colours else verdict.outcome
        words = f"{outcome}: {harmless(name)}: {f'{step.name}: ' if step is not None else ''}{harmless(message)}"
        print(words, file=sys.stderr, flush=True)
        if count == _MOST_CAUSES:
            print("more kinds of failures are told in the report only", file=sys.stderr, flush=True)

    def tell_reduction(self, progress: ReductionProgress) -> None:
        """How far the reduction of kinds of failures is."""
        if self._changes:
            width = shutil.get_terminal_size().columns - 1
            words = (
                f"reducing {progress.number} of {progress.total}, {harmless(progress.name)}: "
                f"{progress.size:,} of {progress.original:,}, {progress.tests:,} tests"
            )
            sys.stderr.write(f"\r\x1b[K{words[:width]}")
            sys.stderr.flush()

    def tell_reduced(self, reduced: Reduced) -> None:
        """What came of one of them."""
        self.clear()
        if not self._is_quiet:
            cause = reduced.cluster.title
            if len(cause) > _LONGEST_CAUSE:
                cause = cause[: _LONGEST_CAUSE - 2] + ".."
            print(f"{harmless(cause)}: {harmless(reduced.name)}: {harmless(reduced.note)}", flush=True)

    def clear(self) -> None:
        """Take the line that changes away."""
        if self._changes:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def interrupted(self, path: str) -> None:
        self.clear()
        if not self._is_quiet:
            print(f"interrupted: what is done is in '{harmless(path)}'; the same command goes on", file=sys.stderr)

    def finished(self, progress: SweepProgress, path: str) -> None:
        self.clear()
        if self._is_quiet:
            return
        print(summary(progress))
        if progress.outdated:
            count = f"{progress.outdated:,} {'was' if progress.outdated == 1 else 'were'}"
            print(f"{count} judged by another tileir than this one: give another file to judge all of them anew")
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
    words = f"{progress.done:,} {'program' if progress.done == 1 else 'programs'}: {_outcomes(progress) or 'nothing'}"
    parts = [f"{progress.judged:,} judged in {duration(progress.seconds)}"] if progress.judged else []
    if progress.known:
        parts.append(f"{progress.known:,} judged before")
    if progress.duplicates:
        parts.append(f"{progress.duplicates:,} the same as another one")
    if progress.lost:
        parts.append(f"{progress.lost:,} {'chunk' if progress.lost == 1 else 'chunks'} lost and judged again")
    return f"{words}; {', '.join(parts)}" if parts else words


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} seconds" if seconds < 10 else f"{seconds:.0f} seconds"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _rate(rate: float) -> str:
    return (
        f"{rate:.0f} a second" if rate >= 10 else f"{rate:.1f} a second" if rate >= 1 else f"{rate * 60:.1f} a minute"
    )


def _outcomes(progress: SweepProgress) -> str:
    order = sorted(progress.outcomes.items(), key=lambda each: (each[0] != "passed", -each[1], each[0]))
    return ", ".join([f"{count:,} {outcome}" for outcome, count in order if count])

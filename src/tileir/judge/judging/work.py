"""What a child is given, and how it tells what comes of it.

Each step is announced before it begins and told when it is over: where the child dies, what was done before is known,
and in which step it died.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

from tileir.judge.items import Item
from tileir.judge.judging.failures import failed_step
from tileir.judge.messages import BEGIN, END, HAND_OVER, STEP, encoded, frame
from tileir.judge.plans import Plan
from tileir.judge.verdicts import Step

MOST_MESSAGE: Final = 4000
"""Characters of a message: a paragraph, and not a program's worth of diagnostics."""


class Work:
    """One item to judge in this process."""

    def __init__(self, item: Item, plan: Plan, scratch: str, handed: bytes, write: Callable[[bytes], None]) -> None:
        self.item: Final = item
        self.plan: Final = plan
        self.scratch: Final = scratch
        """The one directory that this process may write to; it is the current one."""
        self.handed: Final = handed
        """What the child before this one has handed over."""
        self.steps: Final[dict[str, Step]] = {}
        self.begun: str = ""
        """The step that is under way, or was the last."""
        self._write: Final = write

    def begin(self, name: str) -> None:
        """Say which step begins."""
        self.begun = name
        self._write(frame(BEGIN, name.encode("utf-8", "replace")))

    def tell(self, step: Step) -> None:
        """Say what came of a step."""
        # Where a child works is different each time.
        step.message = _cut(step.message.replace(self.scratch, "."))
        self.steps[step.name] = step
        self._write(frame(STEP, encoded(step)))

    def do(self, judge: Callable[[Work], None]) -> None:
        """Do all of it, whatever it raises, and say that it is over."""
        begun = time.perf_counter()
        try:
            judge(self)
        except BaseException as error:
            step = Step(self.begun or "start", "crashed")
            failed_step(step, error)
            self.tell(step)
        flush_output()
        self._write(frame(END, str(time.perf_counter() - begun).encode()))

    def hand_over(self, data: bytes) -> None:
        """Leave something to the next child of this item."""
        self._write(frame(HAND_OVER, data))

    def passed(self, *names: str) -> bool:
        """Whether all of these steps passed."""
        return all(name in self.steps and self.steps[name].outcome == "passed" for name in names)

    def attempt(self, name: str, function: Callable[[Step], None], needs: tuple[str, ...] = ()) -> Step:
        """Do a step: `function` completes it, or raises; skipped where a step that it needs did not pass."""
        step = Step(name, "passed")
        missing = next((each for each in needs if not self.passed(each)), None)
        if missing is not None:
            step.outcome, step.message = "skipped", f"'{missing}' did not pass"
        else:
            self.begin(name)
            begun = time.perf_counter()
            try:
                function(step)
            except Exception as error:
                failed_step(step, error)
            step.measured["seconds"] = time.perf_counter() - begun
        self.tell(step)
        return step


def flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            # Foreign code may have closed or replaced it.
            continue


def _cut(text: str) -> str:
    return text if len(text) <= MOST_MESSAGE else text[:MOST_MESSAGE] + " .."

"""What a child is given, and how it reports what comes of it.

Each step is announced before it begins and reported when it is over: where the child dies, what was done before is
known, and in which step it died.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, NamedTuple, TypeAlias

from tileir.judge.items import Item
from tileir.judge.plans import Plan
from tileir.judge.verdicts.exceptions import failed_step
from tileir.judge.verdicts.verdict import Step
from tileir.processes.child import flush_output, report

_MOST_MESSAGE: Final = 4000
"""Characters of a message: a paragraph, and not a program's worth of diagnostics."""


class Work:
    """One item to judge in this process."""

    def __init__(self, item: Item, plan: Plan, scratch: str, send: Callable[[Any], None] = report) -> None:
        self.item: Final = item
        self.plan: Final = plan
        self.scratch: Final = scratch
        """The one directory that this process may write to; it is the current one."""
        self.steps: Final[dict[str, Step]] = {}
        self._begun: str = ""
        """The step that is under way, or was the last."""
        self._send: Final = send

    def do(self, task: Task) -> None:
        """Do all of it, whatever it raises, and say that it is over."""
        begun = time.perf_counter()
        try:
            value = task(self)
            if value is not None:
                self._send({"value": value})
        except BaseException as error:
            step = Step(self._begun or "start", "crashed")
            failed_step(step, error)
            self._report(step)
        flush_output()
        self._send({"end": time.perf_counter() - begun})

    def begin(self, name: str) -> None:
        """Say which step begins."""
        self._begun = name
        self._send({"begin": name})

    def attempt(self, name: str, function: Callable[[Step], None], needs: tuple[str, ...] = ()) -> Step:
        """Do a step: `function` completes it, or raises; skipped where a step that it needs did not pass."""
        step = Step(name, "passed")
        missing = [each for each in needs if each not in self.steps or self.steps[each].outcome != "passed"]
        if missing:
            step.outcome, step.message = "skipped", f"'{missing[0]}' did not pass"
        else:
            self.begin(name)
            begun = time.perf_counter()
            try:
                function(step)
            except Exception as error:
                failed_step(step, error)
            step.measured["seconds"] = time.perf_counter() - begun
        self._report(step)
        return step

    def _report(self, step: Step) -> None:
        # Where a child works is different each time.
        message = step.message.replace(self.scratch, ".")
        step.message = message if len(message) <= _MOST_MESSAGE else message[:_MOST_MESSAGE] + " .."
        self.steps[step.name] = step
        self._send({"step": asdict(step)})


Task: TypeAlias = Callable[[Work], object]
"""What a child does; a value, of JSON, goes to the parent."""


class Part(NamedTuple):
    """What one child does for an item."""

    task: Task
    processes: bool = False
    """Whether it may start other processes: NVIDIA's assembler is one."""
    needs: tuple[str, ...] = ()
    """Steps of children before without which there is nothing to do for it."""

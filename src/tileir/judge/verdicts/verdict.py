"""What came of judging one program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from tileir.judge.items import Item

Outcome = Literal["passed", "failed", "crashed", "timeout", "memory", "forbidden", "refused", "skipped"]
"""passed; failed: the program is wrong, or results differ; crashed: the process died; timeout and memory: a limit was
reached; forbidden: it tried what its confinement denies (files, network, processes); refused: an engine or a target
does not take it; skipped: an earlier step it needs did not pass.  Reports name them in this order."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
FINE: Final[tuple[Outcome, ...]] = ("passed", "skipped")
"""Outcomes of a step that are no failure."""

# Where memory lies: of 9 digits and more, so that small numbers in a program's line stay.  Of 16 are bits of floats,
# but also addresses far from any array, where they are called so.
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{9,15}\b|(?<=\baddress )0x[0-9a-f]+|(?<=\baddress is )0x[0-9a-f]+")


@dataclass(slots=True)
class Step:
    """One thing done to a program: `check`, `optimize`, `run cpu`, `compare cpu`, `sanitize`, `compile sm_90`, .."""

    name: str
    outcome: Outcome
    message: str = ""
    """For people, one paragraph; the same on every machine (no paths of scratch directories, addresses, times)."""
    cause: str = ""
    """What failures are clustered by: the message without names, numbers and places."""
    details: dict[str, Any] = field(default_factory=dict)
    """JSON values that are the same on every machine: findings, counts, digests of results, estimated costs."""
    measured: dict[str, float] = field(default_factory=dict)
    """Seconds, bytes: what differs from run to run, and is left out when two tables are compared."""


@dataclass(slots=True)
class Verdict:
    """All of it for one item under one plan."""

    digest: str
    outcome: Outcome
    """Of the first step that did not pass."""
    cause: str
    steps: list[Step]
    output: str = ""
    """What it printed, cut to the limit; not part of what makes two results equal."""
    measured: dict[str, float] = field(default_factory=dict)
    """`seconds`, `peak_bytes`, `overhead_seconds`."""


def verdict_of(item: Item, steps: list[Step], output: str = "", measured: dict[str, float] | None = None) -> Verdict:
    """The verdict that the steps amount to: that of the first that did not pass."""
    for step in steps:
        step.message = _ADDRESS.sub("0x...", step.message)
    first = next((step for step in steps if step.outcome not in FINE), Step("", "passed"))
    return Verdict(item.digest, first.outcome, first.cause, steps, output, measured or {})

"""Whether a program computes the same as another one for all inputs: translation validation of what passes do.

A proof is the work of `correspondence.py`.  A failed proof shows nothing about the programs: they differ only if a
launch shows it, one in which the sanitizer finds nothing wrong with the first program, and after which the arrays, the
output or the errors of the second one are others.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Final, Literal

from tileir.analyze.difference.difference import ProgramDifference
from tileir.analyze.difference.semantic import KernelRuns, run_both
from tileir.analyze.reducing.candidate_tests import DIED, RAISED, TOOK_TOO_LONG, ObservationTest
from tileir.dialect.ops import ENTRY, GLOBAL
from tileir.execute.arguments.argument_text import LaunchDescription
from tileir.execute.errors import LaunchError
from tileir.execute.launching.kernel import Kernel
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traversal import functions
from tileir.proofs.equivalence.correspondence import Mismatch, correspond

Verdict = Literal["proved", "refuted", "unknown"]

# Attributes of globals and kernels that have no meaning for results.
_IGNORED: Final = frozenset(("constant", "symbol_visibility", "optimization_hints", "sym_name", "function_type"))
_LAUNCHES: Final = 8
_SECONDS_OF_LAUNCHES: Final = 10.0
"""For all of them."""
_ORDER: Final[dict[Verdict, int]] = {"refuted": 0, "unknown": 1, "proved": 2}


@dataclass(frozen=True)
class Equivalence:
    """Whether two programs compute the same for all inputs.

    "proved"; "refuted" by `launch`, which was run; or "unknown".  `reason` is what differs, or where the proof ends.
    """

    verdict: Verdict
    reason: str = ""
    launch: LaunchDescription | None = None

    def __str__(self) -> str:
        if self.verdict == "proved":
            return "equivalent for all inputs"
        if self.verdict == "refuted":
            text = "" if self.launch is None else f" for {self.launch.text()}"
            return f"differs{text}: {self.reason}"
        return f"unknown: {self.reason}"

    def to_dict(self) -> dict[str, str | None]:
        """The same as JSON takes it."""
        launch = None if self.launch is None else self.launch.text()
        return {"verdict": self.verdict, "reason": self.reason or None, "launch": launch}


def equivalent(
    before: Operation,
    after: Operation,
    *,
    entry: str | None = None,
    seconds: float = 30,
) -> Equivalence:
    """Whether `after` computes the same as `before` for all inputs, for one kernel or all.

    `seconds` is for the proof of all kernels; those that are not proved equal are then launched with arguments that are
    found by trying.
    """
    ends = time.monotonic() + seconds
    found = Equivalence("proved")
    for kernel, partner in _pairs(before, after, entry):
        one = _of_kernel(before, after, kernel, partner, ends)
        if _ORDER[one.verdict] < _ORDER[found.verdict]:
            found = one
    return found


def _pairs(before: Operation, after: Operation, entry: str | None) -> list[tuple[Operation, Operation | None]]:
    """The kernels of the first program, each with that of the second one by the same name."""
    kernels, others = [
        {each.symbol_name or "": each for each in functions(module) if each.declaration is ENTRY}
        for module in (before, after)
    ]
    if entry is not None:
        name = entry.removeprefix("@")
        if name not in kernels:
            known = ", ".join([f"@{each}" for each in kernels]) or "none"
            raise LaunchError(f"the first program has no kernel @{name}: it has {known}")
        return [(kernels[name], others.get(name))]
    if len(kernels) == len(others) == 1:
        return list(zip(kernels.values(), others.values(), strict=True))
    return [(kernel, others.get(name)) for name, kernel in kernels.items()]


def _of_kernel(
    before: Operation, after: Operation, kernel: Operation, partner: Operation | None, ends: float
) -> Equivalence:
    name = f"@{kernel.symbol_name}"
    if partner is None:
        return Equivalence("unknown", f"the second program has no kernel {name}")
    try:
        if _attributes(kernel) != _attributes(partner):
            raise Mismatch("the kernels have different attributes")
        if _globals(before) != _globals(after):
            raise Mismatch("the programs have different globals")
        correspond(kernel, partner, ends)
    except Mismatch as mismatch:
        reason = f"{name}: {mismatch}"
    except RecursionError:
        reason = f"{name}: its expressions nest too deeply"
    else:
        return Equivalence("proved")
    return _refutation(before, after, kernel, partner) or Equivalence("unknown", reason)


def _attributes(operation: Operation) -> dict[str, object]:
    return {name: value for name, value in operation.attributes.items() if name not in _IGNORED}


def _globals(module: Operation) -> dict[str, dict[str, object]]:
    found = [operation for operation in module.walk() if operation.declaration is GLOBAL]
    return {each.symbol_name or "": _attributes(each) for each in found}


# --- refutations ---


def _refutation(before: Operation, after: Operation, kernel: Operation, partner: Operation) -> Equivalence | None:
    """A launch whose results differ although the first program is right to make it; None if none was found."""

    def tried(_: object) -> str:
        found = _different(before, after, kernel, partner)
        return json.dumps(found) if found is not None else ""

    # In a child process, because a program may not end.
    answer = ObservationTest[None](tried, bool, _SECONDS_OF_LAUNCHES).observe(None)
    if not answer or answer.startswith((TOOK_TOO_LONG, DIED, RAISED)):
        return None
    reason, grid, arguments = json.loads(answer)
    return Equivalence("refuted", reason, LaunchDescription(tuple(grid), arguments))


def _different(
    before: Operation, after: Operation, kernel: Operation, partner: Operation
) -> tuple[str, tuple[int, ...], list[str]] | None:
    """What differs in a launch, its grid and its arguments."""
    programs = ProgramDifference(before, after, names=False, locations=False)
    for seed in range(_LAUNCHES):
        try:
            runs = run_both(programs, kernel, partner, None, "interpreter", 1, seed)
        except TileIRError:
            return None
        if runs.skipped:
            return None
        if runs and runs.launch is not None and not runs.failures[0] and _is_sound(kernel, runs.launch):
            return _what(runs), runs.launch.grid, list(runs.launch.arguments)
    return None


def _is_sound(kernel: Operation, launch: LaunchDescription) -> bool:
    """Whether the sanitizer finds nothing in a launch, so that its results mean something."""
    sanitizer = Sanitizer()
    arguments = launch.launch(kernel)
    try:
        Kernel(kernel, backend="interpreter").launch(
            arguments.grid, arguments.arguments, observer=sanitizer, output=lambda text: None
        )
    except TileIRError:
        return False
    return not sanitizer.report.findings


def _what(runs: KernelRuns) -> str:
    if runs.failures[1]:
        return f"the second program fails: {runs.failures[1]}"
    if runs.arrays:
        return runs.arrays[0].text()
    return "the programs print different text"

"""Two programs run on the same arguments: what they compute differently, and the first value that differs.

To find that value both launches are recorded in the interpreter.  The values of operations that are matched are then
compared tile block by tile block, each time they are computed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy

from tileir.analyze.comparing.recordings import BlockValues
from tileir.analyze.comparing.widened import compared_element
from tileir.analyze.difference.listing import Listing
from tileir.analyze.difference.programs import MatchedPrograms
from tileir.analyze.random_arguments import random_launch
from tileir.dialect.ops import ENTRY
from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.argument_text import LaunchArguments, LaunchDescription
from tileir.execute.array_difference import Difference, difference_of
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.launching.kernel import Kernel
from tileir.execute.locations.wording import bracketed, parenthesized, several
from tileir.execute.recording.recording import record
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.traversal import functions

_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")
_NOWHERE: Final = (
    "every value that both programs compute is equal in the interpreter: the difference is in operations that only "
    "one of them has, in what they store, or in the backend"
)
_NOT_FOUND: Final = "the values compared so far are equal; later ones were not compared"


class FirstValue(NamedTuple):
    left: Operation
    right: Operation
    result: int
    """The number of the result."""
    block: BlockId
    time: int
    """How often the operation was executed before in this tile block."""
    difference: Difference
    before: str
    """The first element that differs, in the first program."""
    after: str


class DifferentArray(NamedTuple):
    """An array that two programs leave differently."""

    argument: int
    difference: Difference
    before: str
    """The first element that differs, after the first program."""
    after: str

    def text(self) -> str:
        apart = "" if self.difference.largest == float("inf") else f", by at most {self.difference.largest:.6g}"
        return (
            f"argument {self.argument} differs in {self.difference.different} of "
            f"{several(self.difference.count, 'element')}, first at {bracketed(self.difference.index)}: "
            f"{self.before} -> {self.after}{apart}"
        )


@dataclass(eq=False)
class KernelRuns:
    """The runs of one kernel of both programs; true if the results differ."""

    name: str
    runs: int = 0
    launch: LaunchDescription | None = None
    """The launch in which something differed, else the last one."""
    arrays: list[DifferentArray] = field(default_factory=list)
    failures: tuple[str, str] = ("", "")
    """The errors that ended the runs."""
    printed: bool = False
    """Whether they printed different texts."""
    first: FirstValue | None = None
    skipped: str = ""
    """Why they cannot be compared."""
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.arrays) or self.printed or not self.fail_equally

    @property
    def fail_equally(self) -> bool:
        """Whether both ended in the same error, or none did; the addresses of arrays differ from run to run."""
        return len({_ADDRESS.sub("0x..", failure) for failure in self.failures}) == 1


class SemanticDifference:
    """What two programs compute differently; true if they do.  Made by `ProgramDifference.semantic`."""

    def __init__(self, programs: MatchedPrograms, listing: Listing, kernels: list[KernelRuns]) -> None:
        self._programs: MatchedPrograms = programs
        self._listing: Listing = listing
        self.kernels: list[KernelRuns] = kernels

    def __bool__(self) -> bool:
        return any(self.kernels)

    def __repr__(self) -> str:
        return f"<SemanticDifference: {'different' if self else 'the same'} results of {len(self.kernels)} kernels>"

    def text(self) -> str:
        """For people, a paragraph for each kernel."""
        return "\n".join([line for kernel in self.kernels for line in self._lines(kernel)])

    def _lines(self, kernel: KernelRuns) -> list[str]:
        if kernel.skipped:
            return [f"@{kernel.name} is not compared: {kernel.skipped}"]
        notes = [f"  note: {note}" for note in kernel.notes]
        if not kernel:
            failed = f"; both end in the same error: {kernel.failures[0]}" if kernel.failures[0] else ""
            return [f"@{kernel.name}: the same results in {several(kernel.runs, 'run')}{failed}", *notes]
        lines = [f"@{kernel.name}: different results in run {kernel.runs}"]
        if kernel.launch is not None:
            lines.append(f"  launched with {kernel.launch.text()}")
        for title, failure in zip(self._programs.titles, kernel.failures, strict=True):
            if failure and not kernel.fail_equally:
                lines.append(f"  {title} fails: {failure}")
        lines += [f"  {array.text()}" for array in kernel.arrays]
        if kernel.printed:
            lines.append("  the programs print different text")
        if kernel.first is not None:
            lines += self._origin(kernel.first)
        return [*lines, *notes]

    def _origin(self, first: FirstValue) -> list[str]:
        time = f", iteration {first.time + 1} of its operation" if first.time else ""
        left, right = self._listing.line(first.left), self._listing.line(first.right)
        value = self._programs.name(first.left.results[first.result])
        lines = [f"  the first value that differs is {value} in tile block {parenthesized(first.block)}{time}"]
        if left == right:
            lines.append(f"    {left}")
        else:
            lines += [f"    - {left}", f"    + {right}"]
        place = f" at {bracketed(first.difference.index)}" if first.difference.index else ""
        many = f"; {first.difference.different} of {several(first.difference.count, 'element')} differ"
        lines.append(f"    {first.before} -> {first.after}{place}{many if first.difference.count > 1 else ''}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON takes it."""
        return {"same": not self, "kernels": [self._answer(kernel) for kernel in self.kernels]}

    def _answer(self, kernel: KernelRuns) -> dict[str, Any]:
        first = kernel.first
        return {
            "name": kernel.name,
            "same": not kernel,
            "runs": kernel.runs,
            "skipped": kernel.skipped or None,
            "launch": kernel.launch.text() if kernel.launch is not None else None,
            "failures": list(kernel.failures),
            "arrays": [
                {
                    "argument": array.argument,
                    "different": array.difference.different,
                    "elements": array.difference.count,
                    "first": list(array.difference.index),
                    "before": array.before,
                    "after": array.after,
                }
                for array in kernel.arrays
            ],
            "first": None
            if first is None
            else {
                "block": list(first.block),
                "time": first.time,
                "operation": first.left.name,
                "left": self._listing.line(first.left),
                "right": self._listing.line(first.right),
                "element": list(first.difference.index),
                "before": first.before,
                "after": first.after,
            },
            "notes": kernel.notes,
        }


def run_both(
    programs: MatchedPrograms,
    left: Operation,
    right: Operation,
    stated: LaunchDescription | None,
    backend: str,
    runs: int,
    seed: int,
) -> KernelRuns:
    """Run a pair of kernels until a run comes out differently, `runs` times at most."""
    result = KernelRuns(left.symbol_name or "")
    mine, theirs = [
        ", ".join([value.type.spelling for value in each.regions[0].blocks[0].arguments]) for each in (left, right)
    ]
    if mine != theirs:
        result.skipped = f"its parameters are ({mine}) in one program and ({theirs}) in the other"
        return result
    kernels = [Kernel(each, backend=backend) for each in (left, right)]
    for run in range(runs):
        if stated is not None:
            launch = stated.varied(run).launch(left)
        else:
            try:
                launch = random_launch(left, seed + run)
            except LaunchError:
                # Where the first program leaves its arrays, the second one may be what corrects it.
                launch = random_launch(right, seed + run)
        result.runs, result.launch = run + 1, launch.words
        _launch(result, kernels, launch)
        if result:
            try:
                result.first, is_whole = first_value(programs, left, right, launch)
            except TileIRError as error:
                result.notes.append(f"the values cannot be compared: {error.message}")
                break
            if result.first is None:
                result.notes.append(_NOWHERE if is_whole else _NOT_FOUND)
            break
    return result


def _launch(result: KernelRuns, kernels: list[Kernel], launch: LaunchArguments) -> None:
    """Launch both kernels, and write down what is different then."""
    arguments = [launch.copies() for _ in kernels]
    failures = ["", ""]
    printed: tuple[list[str], list[str]] = [], []
    for number, kernel in enumerate(kernels):
        try:
            kernel.launch(launch.grid, arguments[number], output=printed[number].append)
        except TileIRError as error:
            failures[number] = error.message
    result.failures = (failures[0], failures[1])
    if any(failures):
        # What a launch that failed leaves in arrays depends on what had run by then.
        return
    result.printed = "".join(printed[0]) != "".join(printed[1])
    for number, parameter in enumerate(kernels[0].entry.regions[0].blocks[0].arguments):
        element = parameter.type.element if isinstance(parameter.type, TileType) else None
        if isinstance(element, PointerType):
            here, there = arguments[0][number], arguments[1][number]
            difference = difference_of(element.pointee, here, there)
            if difference is not None:
                shown = _element_text(here, difference), _element_text(there, difference)
                result.arrays.append(DifferentArray(number, difference, *shown))


def first_value(
    programs: MatchedPrograms, left: Operation, right: Operation, launch: LaunchArguments
) -> tuple[FirstValue | None, bool]:
    """The first value that differs in the first tile block that has one, and whether all values were compared."""
    interpreted = [Kernel(each, backend="interpreter") for each in (left, right)]
    here, there = [
        record(kernel, launch.grid, launch.copies(), sanitize=False, output=lambda text: None) for kernel in interpreted
    ]
    is_whole = not here.notes and not there.notes
    for block in here.order.tolist():
        if there.blocks.place(block) is None:
            continue
        mine, theirs = BlockValues(here, block), BlockValues(there, block)
        is_whole &= mine.is_whole and theirs.is_whole
        found: list[tuple[int, int, FirstValue]] = []
        for number, times in mine.found.items():
            value = here.program.values[number]
            operation, element = value.defining_operation, compared_element(value)
            assert operation is not None and element is not None
            partner = programs.partner(operation)
            if partner is None or [each.type for each in operation.results] != [each.type for each in partner.results]:
                continue
            others = theirs.found.get(there.program.value_numbers[partner.results[value.index]], [])
            for time, ((step, content), (_, other)) in enumerate(zip(times, others, strict=False)):
                difference = difference_of(element, content, other)
                if difference is not None:
                    texts = _element_text(content, difference), _element_text(other, difference)
                    place = block_at(block, here.grid)
                    first = FirstValue(operation, partner, value.index, place, time, difference, *texts)
                    found.append((step, number, first))
                    break
        if found:
            return min(found, key=lambda each: each[:2])[2], is_whole
    return None, is_whole


def _element_text(content: Any, difference: Difference) -> str:
    """The first element that differs, as a number."""
    value = numpy.asarray(content)[difference.index]
    if value.dtype.kind in "biu":
        return str(value.item())
    return f"{float(value):.9g}"


def kernels_of(programs: MatchedPrograms, entry: str | None) -> list[tuple[Operation, Operation]]:
    """The kernels that both programs have, or one of them by name."""
    pairs = [
        (kernel, partner)
        for kernel in functions(programs.left)
        if kernel.declaration is ENTRY and (partner := programs.partner(kernel)) is not None
    ]
    name = entry.removeprefix("@") if entry is not None else None
    chosen = [pair for pair in pairs if name is None or name in (pair[0].symbol_name, pair[1].symbol_name)]
    if not chosen:
        known = f"they have {_named([kernel for kernel, _ in pairs])}"
        if not pairs:
            mine, theirs = [_named(functions(module)) for module in (programs.left, programs.right)]
            known = f"the first has {mine}, the second {theirs}"
        raise LaunchError(f"the programs have no kernel {f'@{name} ' if name else ''}in common: {known}")
    return chosen


def _named(found: list[Operation]) -> str:
    return ", ".join([f"@{each.symbol_name}" for each in found if each.declaration is ENTRY]) or "none"

"""Launches that a proof proposes are run: nothing is refuted unless the sanitizer found it in one of them.

A candidate is the solver's idea of a launch that goes wrong.  It may be wrong, as the solver knows less than the
program does.  So each is run in a child process with limits, under the sanitizer, and refutes a claim only by a finding
of the same question at the same operation.  Arrays too large for the sanitizer's shadow are run without it: the
interpreter alone reports accesses outside of memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any, Final, cast

from tileir.analyze.reducing.candidate_tests import DIED, RAISED, TOOK_TOO_LONG, ObservationTest
from tileir.dialect.ops import ASSUME, ASSUME_COND
from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.pointer_origins import origin_of_access
from tileir.execute.arguments.argument_text import VALUES, LaunchDescription, argument
from tileir.execute.dtypes import memory_bytes
from tileir.execute.errors import BlockId, ExecutionError
from tileir.execute.launching.kernel import Kernel
from tileir.execute.observing.observer import Observer, Observers, TileBlock
from tileir.execute.sanitizer.coverage import Coverage
from tileir.execute.sanitizer.report import Finding, FindingLocation
from tileir.execute.sanitizer.sanitizer import Sanitizer, finding_of
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors
from tileir.ir.types import IntegerType
from tileir.ir.values import Value
from tileir.proofs.records import Candidate, Claim, Memory

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "bounds": ("out-of-bounds", "index-space", "inbounds", "index"),
    "race": ("race",),
    "tokens": ("unordered",),
    "coverage": ("unwritten", "written-twice"),
    "termination": ("error", "overflow"),
    "overflow": ("overflow", "out-of-bounds", "index-space"),
    "division": ("division-by-zero",),
    "asserts": ("assert", "assume"),
}
"""The kinds of findings that answer a question."""

_MOST_CANDIDATES: Final = 6
_SECONDS: Final = 10.0
"""For one launch."""
_MOST_SHADOWED: Final = 256 << 20
"""Bytes of arrays with a shadow: it takes up to five times as much again."""
_MOST_BYTES: Final = 15 << 30
"""Of all arrays: they are address space, of which a launch touches little."""
_MOST_BLOCKS: Final = 4096
_MOST_FINDINGS: Final = 16


@dataclass(frozen=True)
class Confirmation:
    """A launch that was run, and what was found in it.  `sanitize` is how `tileir run` finds the same again."""

    launch: LaunchDescription
    finding: Finding
    sanitize: str


class Confirmer:
    """Runs the launches that are proposed for a kernel, each once."""

    def __init__(self, entry: Operation) -> None:
        self._entry: Operation = entry
        self._operations: list[Operation] = list(_root(entry).walk())
        self._known: dict[tuple[str, str], list[Finding] | str] = {}
        self._launches: dict[tuple[str, str], LaunchDescription] = {}

    def confirm(self, claim: Claim, seconds: float) -> Confirmation | str:
        """The first candidate of a claim that fails as the claim predicts; else why the claim stays unknown."""
        until = time.monotonic() + seconds
        reason = "the solver proposed no launch that shows it"
        for candidate in islice(claim.candidates(), _MOST_CANDIDATES):
            left = min(until - time.monotonic(), _SECONDS)
            if left <= 0:
                return "no time was left to run the proposed launches"
            found = self.run(claim, candidate, left)
            if isinstance(found, Confirmation):
                return found
            reason = found
        # What was proposed for another claim may show this one.
        for key, launch in self._launches.items():
            found = _confirmation(claim, launch, self._known[key], key[1])
            if isinstance(found, Confirmation):
                return found
        return reason

    def run(self, claim: Claim, candidate: Candidate, seconds: float) -> Confirmation | str:
        """Run one candidate; what it found, or why it refutes nothing."""
        launch, size = description(candidate, self._entry)
        sanitize = "" if size > _MOST_SHADOWED else "all" if claim.question == "coverage" else "errors"
        key = launch.text(), sanitize
        if size > _MOST_BYTES or prod(candidate.grid) > _MOST_BLOCKS:
            findings: list[Finding] | str = "is too large to run"
        elif key in self._known:
            findings = self._known[key]
        else:
            findings = self._known[key] = self._findings(launch, sanitize, seconds)
        if key in self._known:
            self._launches[key] = launch
        found = _confirmation(claim, launch, findings, sanitize)
        return found if isinstance(found, Confirmation) else f"a proposed launch {found}: {launch.text()}"

    def _findings(self, launch: LaunchDescription, sanitize: str, seconds: float) -> list[Finding] | str:
        """What a launch finds in a child process; or how that ended, as text."""

        def launched(_: object) -> str:
            found = _launched(self._entry, launch, sanitize)
            return json.dumps([_packed(each.worded(), self._operations) for each in found[:_MOST_FINDINGS]])

        answer = ObservationTest[None](launched, bool, seconds).observe(None)
        if answer == TOOK_TOO_LONG:
            return f"was still running after {seconds:.3g} seconds"
        if answer.startswith((DIED, RAISED)):
            return f"could not be run ({answer.removeprefix(RAISED)})"
        return [_unpacked(each, self._operations) for each in json.loads(answer)]


def _confirmation(
    claim: Claim, launch: LaunchDescription, findings: list[Finding] | str, sanitize: str
) -> Confirmation | str:
    """What a launch shows about a claim; text if it shows nothing."""
    if isinstance(findings, str):
        return findings
    is_broken = any(each.operation.declaration in (ASSUME, ASSUME_COND) for each in findings)
    if is_broken and claim.question != "asserts":
        # The program's own assumptions are part of the contract.
        return "breaks an assumption of the program"
    for finding in findings:
        if _answers(claim, finding):
            return Confirmation(launch, finding, sanitize)
    others = ", ".join(dict.fromkeys([each.kind for each in findings]))
    return f"had another finding ({others})" if others else "had no finding"


def _answers(claim: Claim, finding: Finding) -> bool:
    """Whether a finding is what a claim predicts: of its kind, at the claim's operation or its other one."""
    if finding.kind not in KINDS[claim.question]:
        return False
    found = [finding.operation, *([finding.other.operation] if finding.other is not None else [])]
    claimed = [each for each in (claim.operation, claim.other) if each is not None]
    if any(each in claimed for each in found):
        return True
    if claim.question == "coverage":
        # It is reported at the first store to the array, or is about the whole array.
        origins = [origin_of_access(each) for each in claimed if each.declaration.accesses_memory]
        return not claimed or origin_of_access(finding.operation) in origins
    if claim.question == "overflow":
        # The number that has wrapped is an index of a later access.
        return any(_reaches(each, finding.operation) for each in claimed)
    return False


def _reaches(start: Operation, end: Operation) -> bool:
    """Whether an operation is computed from another one."""
    pending: list[Operation] = [start]
    seen = {start}
    while pending:
        operation = pending.pop()
        if operation is end:
            return True
        inner = [each for region in operation.regions for block in region.blocks for each in block.arguments]
        values: list[Value] = [*operation.results, *inner]
        if operation.declaration.is_terminator:
            values += ancestors(operation)[0].results
        for user in [user for value in values for user in value.users]:
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return False


# --- a candidate as `tileir run` takes it ---


def description(candidate: Candidate, entry: Operation) -> tuple[LaunchDescription, int]:
    """The description of the launch, and the bytes of its arrays."""
    size = 0
    words: list[str] = []
    for number, parameter in enumerate(entry.regions[0].blocks[0].arguments):
        value = candidate.values.get(number, 0)
        element = cast(TileType, parameter.type).element
        if isinstance(element, PointerType):
            memory = value if isinstance(value, Memory) else Memory(1)
            size += memory.count * memory_bytes(element.pointee)
            words.append(_array(element.pointee.spelling, memory))
        elif isinstance(element, IntegerType):
            words.append(str(_signed(int(cast(Any, value)), element.width)))
        else:
            words.append(repr(float(cast(Any, value))))
    grid = candidate.grid
    used = max([axis for axis in range(3) if grid[axis] > 1], default=0) + 1
    several = sum(each.declaration is entry.declaration for each in _root(entry).walk()) > 1
    return LaunchDescription(grid[:used], words, entry.symbol_name if several else None), size


def _array(element: str, memory: Memory) -> str:
    if memory.contents is None or not memory.count:
        return f"zeros:{element}:{memory.count}"
    values = [*memory.contents[: memory.count], *[0] * (memory.count - len(memory.contents))]
    return f"{VALUES}:{element}:{','.join([repr(value) for value in values])}"


def _signed(number: int, width: int) -> int:
    """An integer as its type has it: the bits of 2**32 - 1 are those of -1."""
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


# --- in the child ---


def _launched(entry: Operation, launch: LaunchDescription, sanitize: str) -> list[Finding]:
    """Run a launch in the interpreter; what was found."""
    types = [parameter.type for parameter in entry.regions[0].blocks[0].arguments]
    values = [argument(text, type) for text, type in zip(launch.arguments, types, strict=True)]
    observer: Observer
    if not sanitize:
        observer = errors = _Errors()
        findings = errors.findings
    else:
        sanitizer = Sanitizer()
        findings = sanitizer.report.findings
        coverage = [Coverage(report=sanitizer.report)] if sanitize == "all" else []
        observer = Observers([sanitizer, *coverage]) if coverage else sanitizer
    Kernel(entry, backend="interpreter").launch(launch.grid, values, observer=observer, output=lambda text: None)
    return findings


class _Errors(Observer):
    """What ends tile blocks without a sanitizer: accesses outside of memory, failed asserts."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        found = finding_of(error, block)
        if found.kind == "error" and error.operation.declaration.accesses_memory:
            found.kind = "out-of-bounds"
        self.findings.append(found)
        return True


# Findings as plain data: operations are numbered in the order in which they are walked.


def _packed(finding: Finding, operations: Sequence[Operation]) -> list[Any]:
    numbers = {operation: number for number, operation in enumerate(operations)}

    def packed_location(found: FindingLocation | None) -> list[Any] | None:
        return None if found is None else [numbers[found.operation], found.block, found.element]

    texts = [finding.kind, finding.title, finding.details, finding.help, finding.relation]
    return [*texts, finding.count, packed_location(finding.location), packed_location(finding.other)]


def _unpacked(packed: list[Any], operations: Sequence[Operation]) -> Finding:
    def unpacked_location(found: list[Any] | None) -> FindingLocation | None:
        if found is None:
            return None
        number, block, element = found
        block_id = None if block is None else cast(BlockId, tuple([int(each) for each in block]))
        return FindingLocation(operations[number], block_id, None if element is None else tuple(element))

    kind, title, details, help, relation, count, first, second = packed
    location = unpacked_location(first)
    assert location is not None
    finding = Finding(kind, title, location, details, help, relation, unpacked_location(second))
    finding.count = count
    return finding


def _root(operation: Operation) -> Operation:
    return [operation, *ancestors(operation)][-1]

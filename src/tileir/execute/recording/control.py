"""Which operations a tile block executed, in order: its path through the program.

A path is kept as the operations at which control flow decides something: those with regions (`for`, `loop`, `if`) when
they begin, and terminators.  What runs between two of them is the same each time: the operations of one block behind
the last such operation.  So a step is found by adding up lengths, most tile blocks have the path of another one, and a
loop of a million rounds is a sequence that compresses well.

A step is one execution of an operation, counted from 1 in its tile block.  One with regions is a step when it begins;
the bodies of `reduce` and `scan` run on slices and have no steps.
"""

from __future__ import annotations

import zlib
from array import array
from typing import Final

import numpy

from tileir.dialect.ops import REDUCE, SCAN
from tileir.execute.dtypes import Array
from tileir.execute.recording.program import NumberedProgram
from tileir.ir.core import Operation

CHUNK: Final = 1 << 14
"""So many decisions are compressed together; fewer are kept as they are."""
DECISION: Final = "i"
"""How `array` calls what a decision is kept in: four bytes."""


class ControlFlow:
    """Where control flow decides something, and what runs between."""

    def __init__(self, program: NumberedProgram) -> None:
        self.distances: dict[Operation, int] = {}
        """For each operation, which step it is behind the last decision before it in its block."""
        self.decisions: dict[Operation, int] = {}
        """The operations at which control flow decides something, with their numbers."""
        # For each operation what runs from behind the last decision to the next one.
        self._stretches: list[list[int]] = [[] for _ in program.operations]
        since: dict[object, list[int]] = {}
        for number, operation in enumerate(program.operations):
            if operation in program.in_reductions:
                continue
            stretch = self._stretches[number] = since.setdefault(operation.parent, [])
            stretch.append(number)
            self.distances[operation] = len(stretch)
            if decides(operation):
                self.decisions[operation] = number
                since[operation.parent] = []
        decided = set(self.decisions.values())
        lengths = [len(stretch) if number in decided else 0 for number, stretch in enumerate(self._stretches)]
        self._lengths: Array = numpy.array(lengths, numpy.int64)
        self._starts: Array = numpy.cumsum(self._lengths) - self._lengths
        flat = [one for number in sorted(decided) for one in self._stretches[number]]
        self._flat: Array = numpy.array(flat, numpy.int32)

    @property
    def steps(self) -> set[int]:
        """The operations that can be steps of a tile block, by number."""
        return {number for number, stretch in enumerate(self._stretches) if stretch}

    def executed(self, path: Path) -> Array:
        """The operation of each step of a path, by number."""
        decisions = path.decisions()
        lengths = self._lengths[decisions]
        ends = numpy.cumsum(lengths)
        total = int(ends[-1]) if ends.size else 0
        places = numpy.arange(total) + numpy.repeat(self._starts[decisions] - (ends - lengths), lengths)
        steps: Array = self._flat[places]
        rest = self._rest(path)
        return numpy.concatenate((steps, numpy.array(rest, numpy.int32))) if rest else steps

    def count(self, path: Path) -> int:
        """The number of steps of a path."""
        return int(self._lengths[path.decisions()].sum()) + len(self._rest(path))

    def _rest(self, path: Path) -> list[int]:
        """The steps behind the last decision of a tile block that did not come to its end."""
        if path.last < 0:
            return []
        stretch = self._stretches[path.last]
        return stretch[: stretch.index(path.last) + 1]


class Path:
    """A path: its decisions, whole chunks compressed; `last` is the operation that a tile block failed in, or -1."""

    __slots__ = ("chunks", "last", "tail")

    def __init__(self, chunks: tuple[bytes, ...], tail: bytes, last: int = -1) -> None:
        self.chunks: tuple[bytes, ...] = chunks
        self.tail: bytes = tail
        self.last: int = last

    @classmethod
    def of(cls, decisions: Array, last: int = -1) -> Path:
        """The path of decisions."""
        whole = len(decisions) // CHUNK * CHUNK
        chunks = [zlib.compress(decisions[at : at + CHUNK].tobytes(), 1) for at in range(0, whole, CHUNK)]
        return cls(tuple(chunks), decisions[whole:].tobytes(), last)

    @property
    def key(self) -> tuple[tuple[bytes, ...], bytes, int]:
        return self.chunks, self.tail, self.last

    @property
    def nbytes(self) -> int:
        return len(self.tail) + sum([len(chunk) for chunk in self.chunks])

    def decisions(self) -> Array:
        """The numbers of the operations at which something was decided, in order."""
        whole = b"".join([*[zlib.decompress(chunk) for chunk in self.chunks], self.tail])
        return numpy.frombuffer(whole, numpy.int32)


class PathWriter:
    """The path of a tile block that runs."""

    __slots__ = ("_chunks", "_tail", "nbytes", "steps")

    def __init__(self) -> None:
        self.steps: int = 0
        """The steps up to the last decision."""
        self.nbytes: int = 0
        """What whole chunks take."""
        self._chunks: list[bytes] = []
        self._tail: array[int] = array(DECISION)

    def decide(self, number: int, distance: int) -> int:
        """Control flow comes to the operation of a number, so many steps behind the decision before.

        Gives how many bytes the path takes more, if a chunk is full.
        """
        self.steps += distance
        self._tail.append(number)
        if len(self._tail) < CHUNK:
            return 0
        chunk = zlib.compress(self._tail.tobytes(), 1)
        self._chunks.append(chunk)
        self._tail = array(DECISION)
        self.nbytes += len(chunk)
        return len(chunk)

    def finish(self, last: int = -1) -> Path:
        return Path(tuple(self._chunks), self._tail.tobytes(), last)


def decides(operation: Operation) -> bool:
    """Whether control flow decides something at an operation."""
    if operation.declaration.is_terminator:
        return True
    return bool(operation.regions) and operation.declaration is not REDUCE and operation.declaration is not SCAN

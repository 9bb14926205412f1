"""What is kept of a launch: the tile blocks, their accesses, the states of memory, when findings were seen."""

from __future__ import annotations

from array import array

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.recording.accesses import AccessTable, Allowed
from tileir.execute.recording.control import Path
from tileir.execute.recording.findings import Seen
from tileir.execute.recording.states import States
from tileir.execute.sanitizer.report import Finding


class BlockTable:
    """The tile blocks of a launch in the order in which they began: their numbers, paths and steps, and how many
    accesses had happened when each began."""

    def __init__(self) -> None:
        self._number: array[int] = array("i")
        self._path: array[int] = array("i")
        self._steps: array[int] = array("I")
        self._began: array[int] = array("q")
        self.paths: list[Path] = []
        self._path_numbers: dict[object, int] = {}
        self._places: dict[int, int] | None = None
        self.nbytes: int = 0

    def __len__(self) -> int:
        return len(self._number)

    def begin(self, number: int, time: int) -> int:
        """A tile block begins; gives its place."""
        self._number.append(number)
        self._path.append(-1)
        self._steps.append(0)
        self._began.append(time)
        self._places = None
        self.nbytes += 20
        return len(self._number) - 1

    def finish(self, place: int, path: Path, steps: int) -> None:
        key = path.key
        number = self._path_numbers.get(key)
        if number is None:
            number = self._path_numbers[key] = len(self.paths)
            self.paths.append(path)
            self.nbytes += path.nbytes + 300
        self._path[place] = number
        self._steps[place] = steps

    def truncate(self, place: int) -> None:
        """Forget the tile blocks from a place on."""
        self.nbytes -= 20 * (len(self._number) - place)
        for column in (self._number, self._path, self._steps, self._began):
            del column[place:]
        self._places = None

    def restore(
        self, number: Array, path: Array, steps: Array, began: Array, decisions: Array, starts: Array, last: Array
    ) -> None:
        """Take the columns of a table, and the decisions of all paths one after the other."""
        for column, values in ((self._number, number), (self._path, path), (self._steps, steps), (self._began, began)):
            column.frombytes(values.tobytes())
        self.nbytes = 20 * len(number)
        for one, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            self.paths.append(Path.of(decisions[start:end], int(last[one])))
            self.nbytes += self.paths[-1].nbytes + 300

    @property
    def number(self) -> Array:
        return numpy.frombuffer(self._number, numpy.int32)

    @property
    def steps(self) -> Array:
        return numpy.frombuffer(self._steps, numpy.uint32)

    @property
    def began(self) -> Array:
        return numpy.frombuffer(self._began, numpy.int64)

    def place(self, number: int) -> int | None:
        """The place of the tile block of a number; None if it did not begin."""
        if self._places is None:
            self._places = {number: place for place, number in enumerate(self._number)}
        return self._places.get(number)

    @property
    def path_numbers(self) -> Array:
        """For each tile block which of `paths` it took."""
        return numpy.frombuffer(self._path, numpy.int32)

    def path(self, place: int) -> Path:
        return self.paths[self._path[place]]


class Records:
    """All that is kept of a launch."""

    def __init__(self) -> None:
        self.accesses: AccessTable = AccessTable()
        self.blocks: BlockTable = BlockTable()
        self.allowed: Allowed = Allowed()
        self.states: States = States([], 0, self.began, False)
        self.seen: dict[Finding, Seen] = {}
        """When findings were first seen."""

    def truncate(self, place: int) -> None:
        """Go back to where the tile block of a place began, and forget it and those behind it."""
        time = int(self.blocks.began[place])
        self.states.truncate(time)
        self.accesses.truncate(time)
        self.blocks.truncate(place)

    def began(self) -> Array:
        """For each tile block the time at which it began."""
        return self.blocks.began

    @property
    def nbytes(self) -> int:
        return self.accesses.nbytes + self.blocks.nbytes + self.allowed.nbytes + self.states.nbytes

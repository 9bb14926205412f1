"""What is kept of a launch: the tile blocks, their accesses, the states of memory, when findings were first seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tileir.execute.dtypes import Array
from tileir.execute.recording.accesses import AccessTable, Allowed, Column, Table
from tileir.execute.recording.memory_states import States
from tileir.execute.recording.program import Path
from tileir.execute.sanitizer.report import Finding


class Seen(NamedTuple):
    """When a finding was first seen: the step of its tile block, the row of the access, and the element of the row's
    array at which two accesses meet; -1 where there is none."""

    step: int
    row: int = -1
    element: int = -1


class BlockTable(Table):
    """The tile blocks of a launch in the order in which they began."""

    number = Column("<i4")
    path = Column("<i4")
    """Which of `paths` it took."""
    steps = Column("<u4")
    began = Column("<i8")
    """How many accesses had happened when it began."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[Path] = []
        self._path_numbers: dict[object, int] = {}
        self._places: dict[int, int] | None = None
        self.nbytes: int = 0

    def __len__(self) -> int:
        return len(self.data["number"])

    def begin(self, number: int, time: int) -> int:
        """A tile block begins; returns its place."""
        for column, value in zip(self.data.values(), (number, -1, 0, time), strict=True):
            column.append(value)
        self._places = None
        self.nbytes += 20
        return len(self) - 1

    def finish(self, place: int, path: Path, steps: int) -> None:
        number = self._path_numbers.get(path.key)
        if number is None:
            number = self._path_numbers[path.key] = len(self.paths)
            self._add_path(path)
        self.data["path"][place] = number
        self.data["steps"][place] = steps

    def _add_path(self, path: Path) -> None:
        self.paths.append(path)
        self.nbytes += path.nbytes + 300

    def truncate(self, place: int) -> None:
        """Forget the tile blocks from a place on."""
        self.nbytes -= 20 * (len(self) - place)
        for column in self.data.values():
            del column[place:]
        self._places = None

    def restore(self, columns: Mapping[str, Array], decisions: Array, starts: Array, last: Array) -> None:
        """Take the columns of a table, and the decisions of all paths one after the other."""
        self._load(columns)
        self.nbytes = 20 * len(self)
        for one, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            self._add_path(Path.of(decisions[start:end], int(last[one])))

    def place(self, number: int) -> int | None:
        """The place of the tile block of a number; None if it did not begin."""
        if self._places is None:
            self._places = {number: place for place, number in enumerate(self.data["number"])}
        return self._places.get(number)

    def path_of(self, place: int) -> Path:
        return self.paths[self.data["path"][place]]


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

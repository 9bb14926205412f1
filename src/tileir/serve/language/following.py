"""The operations of a text after an edit: those that it touched are looked for again, the others are moved.

The scanner goes on from an operation before the edit, in the innermost region that holds all of it, until an operation
begins behind the edit where one began before: from there on it would find what it found.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tileir.serve.language.structure import Scanner, Structure, WrittenOperation, WrittenRegion
from tileir.text.edits import TokenChange

# What the scanner looks at behind a token before it decides what the token is.
_AHEAD = 3


def follow(before: Structure, after: Structure, change: TokenChange) -> None:
    """Let the structure of a text have what is known of the text before an edit.

    The other one knows nothing then.  Where an edit goes too far, everything is looked for when it is asked for.
    """
    top = before.hand_over()
    if top is None:
        return
    region = _region_around(top, change)
    scanner = _Again(after, region, change)
    if scanner.run():
        _move_behind(region, scanner.kept, change.new_end - change.old_end)
        top.closing = after.count
        after.adopt(top)


def _first(operation: WrittenOperation) -> int:
    return operation.first


def _region_around(top: WrittenRegion, change: TokenChange) -> WrittenRegion:
    """The innermost region that an edit is in, with its braces not near."""
    region = top
    while True:
        index = bisect_right(region.operations, change.first, key=_first) - 1
        if index < 0:
            return region
        found = None
        for inner in region.operations[index].regions:
            closed = inner.closing < top.closing
            if closed and inner.opening + _AHEAD < change.first and change.old_end + _AHEAD < inner.closing:
                found = inner
        if found is None:
            return region
        region = found


class _Again(Scanner):
    """Looks for the operations of a region again, from before an edit to behind it."""

    def __init__(self, structure: Structure, region: WrittenRegion, change: TokenChange) -> None:
        super().__init__(structure)
        self.target = region
        self.draft = self.region = WrittenRegion(region.opening, region.owner)
        self.change = change
        self.shift = change.new_end - change.old_end
        self.kept: int = -1
        """The first operation of the region, as it is now, that was only moved; -1 while there is none."""
        self._old = -1

    def run(self) -> bool:
        """Look; whether an end was found and the region has the new operations."""
        operations = self.target.operations
        index = bisect_left(operations, self.change.first, key=_first) - 1
        while index >= 0:
            # One that was begun without a look at what changed, and of which it is plain where its name is.
            operation = operations[index]
            if operation.name >= 0 and operation.last + _AHEAD < self.change.first:
                break
            index -= 1
        position = self.target.opening + 1
        if index >= 0:
            begun = operations[index]
            position = begun.first
            super().begin(begun.first, begun.name, begun.results)
            if self.operation is not None:
                self.operation.last = begun.name
            self.go_through(begun.name + 1)
        else:
            index = 0
            self.go_through(position)
        if not self.is_over:
            if self.target.owner is not None:
                return False
            while self.region is not self.draft:
                super().end_region(self.count)
            self._old = len(operations)
        if self._old < 0:
            return False
        self._splice(index, position)
        return True

    def _splice(self, index: int, position: int) -> None:
        region = self.target
        old = region.operations
        behind = old[self._old].first if self._old < len(old) else region.closing
        for operation in self.draft.operations:
            operation.region = region
        region.labels[:] = [
            *[label for label in region.labels if label < position],
            *self.draft.labels,
            *[label + self.shift for label in region.labels if label >= behind],
        ]
        old[index : self._old] = self.draft.operations
        self.kept = index + len(self.draft.operations)

    def begin(self, first: int, name: int, results: list[int]) -> None:
        if self.region is self.draft and first >= self.change.new_end:
            operations = self.target.operations
            index = bisect_left(operations, first - self.shift, key=_first)
            if index < len(operations) and operations[index].first == first - self.shift:
                self._old = index
                self.is_over = True
                return
        super().begin(first, name, results)

    def end_region(self, position: int) -> None:
        if self.region is self.draft:
            # Another brace closes the region now, unless it is the one that did.
            if position == self.target.closing + self.shift and position >= self.change.new_end:
                self._old = len(self.target.operations)
            self.is_over = True
            return
        super().end_region(position)


def _move_behind(region: WrittenRegion, index: int, shift: int) -> None:
    """Move what stands behind an edit in a region, and around it."""
    if not shift:
        return
    _move(region.operations[index:], shift)
    while True:
        region.closing += shift
        owner = region.owner
        if owner is None:
            return
        owner.last += shift
        place = owner.regions.index(region)
        for later in owner.regions[place + 1 :]:
            _move_region(later, shift)
        behind = owner.first
        region = owner.region
        region.labels[:] = [label + shift if label > behind else label for label in region.labels]
        _move(region.operations[bisect_right(region.operations, behind, key=_first) :], shift)


def _move_region(region: WrittenRegion, shift: int) -> None:
    region.opening += shift
    region.closing += shift
    if region.labels:
        region.labels[:] = [label + shift for label in region.labels]
    _move(region.operations, shift)


def _move(operations: list[WrittenOperation], shift: int) -> None:
    pending = [operations]
    while pending:
        for operation in pending.pop():
            operation.first += shift
            operation.last += shift
            if operation.name >= 0:
                operation.name += shift
            if operation.results:
                operation.results = [result + shift for result in operation.results]
            for region in operation.regions:
                region.opening += shift
                region.closing += shift
                if region.labels:
                    region.labels[:] = [label + shift for label in region.labels]
                pending.append(region.operations)

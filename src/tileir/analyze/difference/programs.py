"""Two programs whose operations are matched, and the names of values where they are shown.

On the left the names are those in the text of the author, else those of the printer.  On the right a value has the name
of its partner, so that what is the same reads the same, unless the author has renamed it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileir.analyze.difference.matching import Matching, Naming, matched, unwrapped
from tileir.execute.locations.program_text import printed_names, written_names
from tileir.ir.core import Operation, Region
from tileir.ir.location import Location, TextLocation, UnknownLocation
from tileir.ir.values import Value


class ProgramNames:
    def __init__(self, module: Operation) -> None:
        self.printed: Naming = printed_names(module)
        self.written: Naming = written_names(module)

    def shown(self, value: Value) -> str:
        return self.written.get(value) or self.printed.get(value, "%?")

    def chosen(self, value: Value) -> str | None:
        """The name that somebody has chosen: not the one that any printer would write."""
        written = self.written.get(value)
        return written if written is not None and written != self.printed.get(value) else None


class MatchedPrograms:
    """Two programs and which operations and values of them go together."""

    def __init__(
        self, left: Operation, right: Operation, *, names: bool, locations: bool, titles: tuple[str, str]
    ) -> None:
        self.left: Operation = unwrapped(left)
        """The first program, without a module around it that has nothing else in it."""
        self.right: Operation = unwrapped(right)
        self.titles: tuple[str, str] = titles
        self.count_names: bool = names
        self.count_locations: bool = locations
        self.names: tuple[ProgramNames, ProgramNames] = ProgramNames(self.left), ProgramNames(self.right)
        self.matching: Matching = matched(self.left, self.right, (self.names[0].written, self.names[1].written))
        mine, theirs = self.names
        given: Naming = {}
        for value, other in self.matching.values.items():
            if value in mine.printed and _may_share(value, other):
                is_own = names and self.is_renamed(value, other)
                given[other] = theirs.shown(other) if is_own else mine.shown(value)
        shown = {value: mine.shown(value) for value in mine.printed}
        self.shown: tuple[Naming, Naming] = shown, _unique_names(self.right, theirs, given)
        """The names on either side; where names do not count, partners are called the same."""

    def partner(self, operation: Operation) -> Operation | None:
        return self.matching.operations.get(operation) or self.matching.back.get(operation)

    def name(self, value: Value) -> str:
        """What a value of either program is called where they are shown."""
        return self.shown[0].get(value) or self.shown[1].get(value, "%?")

    def is_renamed(self, value: Value, other: Value) -> bool:
        """Whether both have a name that somebody has chosen, and not the same."""
        one, two = self.names[0].chosen(value), self.names[1].chosen(other)
        return one is not None and two is not None and one != two


def _may_share(one: Value, other: Value) -> bool:
    """Whether two values can have the same name: several results of an operation may share one."""
    mine, theirs = one.defining_operation, other.defining_operation
    if mine is None or theirs is None:
        return mine is theirs
    return len(mine.results) == len(theirs.results)


def _unique_names(module: Operation, names: ProgramNames, given: Naming) -> Naming:
    """The given names and those of all other values, with `_new` where two visible values would have the same."""
    reserved = {name.partition("#")[0] for name in given.values()}
    found: Naming = {}
    visible: dict[str, Operation | Value] = {}

    def claim(owner: Operation | Value, values: Sequence[Value], added: list[str]) -> None:
        for value in values:
            base, pack, index = given.get(value, names.shown(value)).partition("#")
            chosen, number = base, 1
            while (
                visible.get(chosen, owner) is not owner
                or (not pack and chosen in visible)
                or (value not in given and chosen in reserved)
            ):
                chosen = f"{base}_new{number if number > 1 else ''}"
                number += 1
            if chosen not in visible:
                visible[chosen] = owner
                added.append(chosen)
            found[value] = f"{chosen}{pack}{index}"

    # Regions to come, and names that are not visible any more.
    pending: list[Region | list[str]] = list(reversed(module.regions))
    while pending:
        region = pending.pop()
        if isinstance(region, list):
            for base in region:
                visible.pop(base, None)
            continue
        added: list[str] = []
        inside: list[Region] = []
        for block in region.blocks:
            for argument in block.arguments:
                claim(argument, [argument], added)
            for operation in block:
                claim(operation, operation.results, added)
                inside.extend(operation.regions)
        pending.append(added)
        pending.extend(reversed(inside))
    return found


def stated_location(location: Location) -> str:
    """A location that a program states; a position in its own text is not one."""
    return "" if isinstance(location, (TextLocation, UnknownLocation)) else location.inner

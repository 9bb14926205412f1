"""The names of values where two programs are shown.

On the left they are those in the text of the author, else those of the printer.  On the right a value has the name of
its partner, so that what is the same reads the same, unless the author has renamed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tileir.analyze.difference.matching import Matching, Naming
from tileir.ir.core import Operation, Region
from tileir.ir.location import SourceText, TextLocation
from tileir.ir.values import Value
from tileir.text.names import Naming as PrinterNaming

_MOST_HEAD_TOKENS: Final = 20_000
"""Of the head of an operation, in which the arguments of its blocks have their names."""


def printed_names(module: Operation) -> Naming:
    """The names that the printer gives."""
    naming = PrinterNaming(False)
    naming.name_regions(module)
    return naming.names


def written_names(module: Operation) -> Naming:
    """The names in the text that a program was read from; none for bytecode, and for operations with locations."""
    tokens: dict[SourceText, list[str]] = {}
    found: Naming = {}
    for operation in module.walk():
        location = operation.location
        if not isinstance(location, TextLocation) or (not operation.results and not operation.regions):
            continue
        source = location.source
        if source not in tokens:
            tokens[source] = source.tokens()
        words = tokens[source]
        if location.token < len(words):
            _name_results(operation, words, location.token, found)
            if operation.regions:
                _name_arguments(operation, words, location.token, found)
    return found


def _name_results(operation: Operation, words: list[str], place: int, found: Naming) -> None:
    """`%a, %b = name ..` or `%a:2 = name ..`: what stands before the name."""
    if place < 2 or words[place - 1] != "=":
        return
    names: list[str] = []
    place -= 2
    count = ""
    while place >= 0:
        word = words[place]
        if word.isdigit():
            count = word
        elif word.startswith("%"):
            names.append(word)
            if place == 0 or words[place - 1] != ",":
                break
        elif word not in (",", ":"):
            break
        place -= 1
    names.reverse()
    if count and len(names) == 1:
        names = [f"{names[0]}#{number}" for number in range(len(operation.results))]
    if len(names) == len(operation.results):
        found.update(zip(operation.results, names, strict=True))


def _name_arguments(operation: Operation, words: list[str], place: int, found: Naming) -> None:
    """Arguments of blocks stand before a colon, `in` or `=`, in front of the brace that opens the region."""
    blocks = operation.regions[0].blocks
    arguments = blocks[0].arguments if blocks else []
    if not arguments:
        return
    names: list[str] = []
    for index in range(place + 1, min(len(words) - 1, place + _MOST_HEAD_TOKENS)):
        word = words[index]
        if word == "{":
            break
        if word.startswith("%") and words[index + 1] in (":", "in", "="):
            names.append(word)
    if len(names) == len(arguments):
        found.update(zip(arguments, names, strict=True))


class ProgramNames:
    """The names of one program."""

    def __init__(self, module: Operation) -> None:
        self.module: Operation = module
        self.printed: Naming = printed_names(module)
        self.written: Naming = written_names(module)

    def shown(self, value: Value) -> str:
        return self.written.get(value) or self.printed.get(value, "%?")

    def chosen(self, value: Value) -> str | None:
        """The name that somebody has chosen: not the one that any printer would write."""
        written = self.written.get(value)
        return written if written is not None and written != self.printed.get(value) else None


def shown_names(
    left: ProgramNames, right: ProgramNames, matching: Matching, count_names: bool
) -> tuple[Naming, Naming]:
    """The names on either side; where names do not count, partners are called the same."""
    mine = {value: left.shown(value) for value in left.printed}
    partners: dict[Value, Value] = {other: value for value, other in matching.values.items() if value in mine}
    given: Naming = {}
    for value, partner in partners.items():
        if _may_share(partner, value):
            is_own = count_names and is_renamed(left, right, partner, value)
            given[value] = right.shown(value) if is_own else mine[partner]
    return mine, _unique_names(right, given)


def _may_share(one: Value, other: Value) -> bool:
    """Whether two values can have the same name: several results of an operation may share one."""
    mine, theirs = one.defining_operation, other.defining_operation
    if mine is None or theirs is None:
        return mine is theirs
    return len(mine.results) == len(theirs.results)


def _unique_names(names: ProgramNames, given: Naming) -> Naming:
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
    pending: list[Region | list[str]] = list(reversed(names.module.regions))
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


def is_renamed(left: ProgramNames, right: ProgramNames, value: Value, other: Value) -> bool:
    """Whether both have a name that somebody has chosen, and not the same."""
    one, two = left.chosen(value), right.chosen(other)
    return one is not None and two is not None and one != two

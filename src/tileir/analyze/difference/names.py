"""What values are called where two programs are shown.

On the left, as the author of the text calls them, else as they are printed.  On the right a value that has a partner is
called as that, so that what is the same reads the same; unless the author has renamed it.
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
    """What is shown on either side; where names do not count, none is told apart."""
    mine = {value: left.shown(value) for value in left.printed}
    partners: dict[Value, Value] = {other: value for value, other in matching.values.items() if value in mine}
    theirs: Naming = {}
    free: list[Value] = []
    for value in right.printed:
        partner = partners.get(value)
        if partner is None or not _is_alone_alike(partner, value):
            free.append(value)
        elif count_names and is_renamed(left, right, partner, value):
            theirs[value] = right.shown(value)
        else:
            theirs[value] = mine[partner]
    _name_others(right, free, theirs)
    _part(right.module, theirs)
    return mine, theirs


def _is_alone_alike(one: Value, other: Value) -> bool:
    """Whether two values can have the same name: several results of an operation may share one."""
    mine, theirs = one.defining_operation, other.defining_operation
    if mine is None or theirs is None:
        return mine is theirs
    return len(mine.results) == len(theirs.results)


def _name_others(names: ProgramNames, values: list[Value], found: Naming) -> None:
    """Names for values on one side only, none of which is taken."""
    used = {name.partition("#")[0] for name in found.values()}
    bases: dict[tuple[Operation | None, str], str] = {}
    for value in values:
        base, pack, index = names.shown(value).partition("#")
        # Results that share a name go on sharing it.
        owner = value.defining_operation if pack else None
        chosen = bases.get((owner, base)) if pack else None
        if chosen is None:
            chosen, number = base, 1
            while chosen in used:
                chosen = f"{base}_new{number if number > 1 else ''}"
                number += 1
            if pack:
                bases[owner, base] = chosen
        # Values in regions beside each other may have the same name; those that are added must not take another's.
        if chosen != base or pack:
            used.add(chosen)
        found[value] = f"{chosen}{pack}{index}"


def _part(module: Operation, names: Naming) -> None:
    """Give values other names that are in sight of one with the same: their partners were in regions apart."""
    # Regions to come, and names that are out of sight again.
    pending: list[Region | list[str]] = list(reversed(module.regions))
    seen: dict[str, Operation | Value] = {}
    while pending:
        region = pending.pop()
        if isinstance(region, list):
            for base in region:
                seen.pop(base, None)
            continue
        added: list[str] = []
        inside: list[Region] = []
        for block in region.blocks:
            for argument in block.arguments:
                _claim(argument, [argument], names, seen, added)
            for operation in block:
                if operation.results:
                    _claim(operation, operation.results, names, seen, added)
                inside.extend(operation.regions)
        pending.append(added)
        pending.extend(reversed(inside))


def _claim(
    owner: Operation | Value,
    values: Sequence[Value],
    names: Naming,
    seen: dict[str, Operation | Value],
    added: list[str],
) -> None:
    for value in values:
        base, pack, index = names[value].partition("#")
        chosen, number = base, 1
        while seen.get(chosen, owner) is not owner or (not pack and chosen in seen):
            chosen = f"{base}_new{number if number > 1 else ''}"
            number += 1
        if chosen not in seen:
            seen[chosen] = owner
            added.append(chosen)
        names[value] = f"{chosen}{pack}{index}"


def is_renamed(left: ProgramNames, right: ProgramNames, value: Value, other: Value) -> bool:
    """Whether both have a name that somebody has chosen, and not the same."""
    one, two = left.chosen(value), right.chosen(other)
    return one is not None and two is not None and one != two

"""The argument whose array an access of TTIR leads into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tileir.ir.core import Module, Operation
from tileir.ir.values import BlockArgument, Value

_READS: Final = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_TYPES: Final = ("!tt.ptr", "tensordesc")


class Origins:
    """The arguments that pointers and descriptors of a module come from."""

    def __init__(self, source: Module, memory: set[str]) -> None:
        """`memory` has the names of the operations that access memory."""
        self._memory = memory
        self._numbers: dict[Value, int] = {}
        self._known: dict[Value, int | None] = {}
        # Arguments that are only read need no order, if it is known where every other access leads.
        written = [
            self.of(each.operands[0])
            for each in source.walk()
            if each.operands and each.name in memory and each.name not in _READS and leads_to_memory(each.operands[0])
        ]
        self._written: set[int | None] = set(written)

    def of(self, pointer: Value) -> int | None:
        """The number of the only argument that a pointer comes from; None where it is not known."""
        if pointer not in self._known:
            self._known[pointer] = self._find(pointer)
        return self._known[pointer]

    def is_only_read(self, argument: int) -> bool:
        return None not in self._written and argument not in self._written

    def _find(self, pointer: Value) -> int | None:
        found: int | None = None
        pending, seen = [pointer], {pointer}
        while pending:
            value = pending.pop()
            try:
                sources = list(self._sources(value))
            except (LookupError, ValueError):
                # A loop or branch that is malformed, which its rule reports.
                return None
            if not sources:
                if not _is_of_kernel(value):
                    return None
                number = self._numbers.setdefault(value, len(self._numbers))
                if found not in (None, number):
                    return None
                found = number
            pending += [each for each in sources if each not in seen]
            seen.update(sources)
        return found

    def _sources(self, value: Value) -> Iterator[Value]:
        """The pointers that a value is one of, or is computed from."""
        if isinstance(value, BlockArgument):
            owner, number = value.block.parent_operation, value.index
            if owner is None or owner.name not in ("scf.for", "scf.while"):
                return
            if owner.name == "scf.for":
                yield owner.operands[2 + number]
                yield from _passed(owner.regions[0].block.last, number - 1)
            elif value.block is owner.regions[0].block:
                yield owner.operands[number]
                yield from _passed(owner.regions[1].block.last, number)
            else:
                yield from _passed(owner.regions[0].block.last, 1 + number)
            return
        operation = value.defining_operation
        assert operation is not None
        if operation.regions:
            if operation.name in ("scf.for", "scf.if", "scf.while"):
                number = next(index for index, each in enumerate(operation.results) if each is value)
                if operation.name == "scf.for":
                    yield operation.operands[3 + number]
                regions = operation.regions[:1] if operation.name == "scf.while" else operation.regions
                for region in regions:
                    yield from _passed(region.block.last, number + (operation.name == "scf.while"))
        elif operation.name not in self._memory and operation.name != "tt.call":
            yield from [each for each in operation.operands if leads_to_memory(each)]


def _is_of_kernel(value: Value) -> bool:
    """Whether a value is an argument of a kernel, not of a function that it calls."""
    function = value.block.parent_operation if isinstance(value, BlockArgument) else None
    if function is None or function.name != "tt.func":
        return False
    visibility = function.attributes.get("sym_visibility")
    return visibility is None or visibility.text == '"public"'


def leads_to_memory(value: Value) -> bool:
    """Whether a value of TTIR is a pointer or a descriptor, or a tensor of them."""
    return any(each in value.type.text for each in _TYPES)


def _passed(terminator: Operation | None, number: int) -> list[Value]:
    return [terminator.operands[number]] if terminator is not None else []

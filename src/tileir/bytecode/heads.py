"""Heads of records, remembered: what stands in front of the operands of an instruction repeats throughout a program.

The head of a record is its opcode, result types, flags and attributes.  It is read field by field once; where the same
bytes stand again, they mean the same.  How long a head is follows from its bytes, so that none is the beginning of
another.  Those that begin with the same byte have few lengths, and with the right one a look-up finds the head; where
tileir is compiled, it is found sooner in a tree: heads lead to those with other bytes.

The heads of constants differ in the number of the constant, each from nearly every other: what is remembered stands in
front of it.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.constants import ConstantTable
from tileir.bytecode.primitives import Malformed
from tileir.bytecode.records import Record
from tileir.ir.attributes import Attribute, DenseArrayAttribute
from tileir.ir.core import NO_ATTRIBUTES
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.interning import IS_COMPILED
from tileir.ir.types import Type

# Heads that are longer, or come when there are so many, are not worth remembering.
_LONGEST: Final = 48
# Up to so many bytes are compared one by one: that takes less than a copy of them.
_SHORT: Final = 10
_MOST: Final = 1 << 16

_NO_LENGTHS: Final[list[int]] = []


class Meaning:
    """The attributes and segments of operations, shared by those read from the same record prefix."""

    __slots__ = ("attributes", "segments")

    def __init__(self, attributes: dict[str, Attribute], segments: tuple[int, ...] | None) -> None:
        self.attributes: dict[str, Attribute] = attributes
        self.segments: tuple[int, ...] | None = segments


class Head:
    """A head and what it means.

    `plan` has the number of operands in each group, -1 for a group that is counted in front of its values; `fixed` is
    their number where they all are in one group, -1 otherwise.  `meaning` is the attributes and segments of
    operations with this head, where the head says it all; otherwise `variants` has it by the lengths of the groups that
    are counted, one byte each, with the attributes that remain, or `constants` by the number of the constant.
    """

    __slots__ = (
        "constants",
        "declaration",
        "fixed",
        "further",
        "key",
        "length",
        "meaning",
        "plan",
        "record",
        "result_types",
        "second",
        "segmented",
        "variants",
    )

    def __init__(
        self,
        record: Record,
        flags: int,
        result_types: list[Type],
        attributes: dict[str, Attribute],
        length: int,
    ) -> None:
        self.record: Record = record
        self.declaration: OperationDeclaration = record.declaration
        self.result_types: list[Type] = result_types
        self.length: int = length
        # Its bytes, the second of them, and the heads behind it, where it is in a tree.
        self.key: bytes = b""
        self.second: int = -1
        self.further: list[Head | None] = _NO_HEADS
        plan = record.plan
        segments: tuple[int, ...] | None = None
        self.segmented: bool = False
        if plan is None:
            plan = record.plan_with(flags)
            if -1 in plan:
                self.segmented = True
            else:
                segments = tuple(plan)
                attributes = kept_attributes(record, attributes, segments)
                plan = [sum(plan)]
        self.plan: list[int] = plan
        self.fixed: int = plan[0] if len(plan) == 1 else -1
        self.meaning: Meaning = Meaning(attributes if attributes else NO_ATTRIBUTES, segments)
        self.variants: dict[int, Meaning] | None = None
        self.constants: dict[int, Meaning] | None = {} if record.is_constant else None

    def constant(self, table: ConstantTable, index: int) -> Meaning | None:
        """What belongs to a constant; None if it is not to be had."""
        constants = self.constants
        found = constants.get(index) if constants is not None else None
        if found is None and constants is not None and index < len(table):
            type = self.result_types[0]
            try:
                value = table.get(index, type)
            except Malformed:
                return None
            attributes: dict[str, Attribute] = {self.record.attributes[0].name: value}
            found = constants[index] = Meaning(attributes, None)
        return found

    def variant(self, lengths: int) -> Meaning:
        """What belongs to the lengths of the operand groups that are counted, the last of them in the lowest byte."""
        variants = self.variants
        if variants is None:
            variants = self.variants = {}
        found = variants.get(lengths)
        if found is None:
            groups: list[int] = []
            rest = lengths
            for length in reversed(self.plan):
                groups.append(length if length >= 0 else rest & 0xFF)
                if length < 0:
                    rest >>= 8
            groups.reverse()
            segments = tuple(groups)
            attributes = kept_attributes(self.record, self.meaning.attributes, segments)
            found = variants[lengths] = Meaning(attributes, segments)
        return found


_NO_HEADS: Final[list[Head | None]] = []


class Heads:
    """The heads of a file by their bytes; `lengths` has those of the known ones by their first byte, in order.

    Or they are in trees, one for each first byte: behind the head that came first stand those with other second bytes,
    behind the first of these those with other third ones, and so on.
    """

    __slots__ = ("count", "known", "lengths", "trees")

    def __init__(self) -> None:
        self.count: int = 0
        self.trees: list[Head | None] = [None] * 256
        self.known: dict[bytes, Head] = {}
        self.lengths: list[list[int]] = [_NO_LENGTHS] * 256

    def find(self, data: bytes, start: int) -> Head | None:
        """The head in the trees that stands at a place of the data; `IndexError` if the data may end within it."""
        head = self.trees[data[start]]
        if head is None:
            return None
        position = start + 1
        second = data[position]
        while head is not None:
            # The second byte, which is mostly that of a type, tells most of them apart.
            if head.second == second:
                key = head.key
                length = head.length
                if length > _SHORT:
                    if data[start : start + length] == key:
                        return head
                else:
                    place = 2
                    while place < length and data[start + place] == key[place]:
                        place += 1
                    if place >= length:
                        return head
            further = head.further
            byte = data[position]
            position += 1
            head = further[byte] if byte < len(further) else None
        return None

    def add(self, head: bytes, meaning: Head) -> None:
        """Remember a head, which is not known yet."""
        length = len(head)
        if length > _LONGEST or self.count > _MOST:
            return
        self.count += 1
        if IS_COMPILED and length > 1:
            self.add_to_tree(head, meaning)
            return
        lengths = self.lengths[head[0]]
        if length not in lengths:
            self.lengths[head[0]] = sorted([*lengths, length])
        self.known[head] = meaning

    def add_to_tree(self, head: bytes, meaning: Head) -> None:
        """Remember a head of two bytes or more to be found in a tree."""
        meaning.key = head
        meaning.second = head[1]
        before = self.trees[head[0]]
        if before is None:
            self.trees[head[0]] = meaning
        depth = 1
        while before is not None:
            byte = head[depth]
            depth += 1
            further = before.further
            if byte >= len(further):
                # Room for the next ones too: types are numbered as they come.
                further = before.further = further + [None] * ((byte | 7) + 1 - len(further))
            before = further[byte]
            if before is None:
                further[byte] = meaning


def kept_attributes(
    record: Record, attributes: dict[str, Attribute], segments: tuple[int, ...]
) -> dict[str, Attribute]:
    """The attributes without a list that promises nothing about any index.

    Text cannot tell it from no list, so neither does the IR.  One of the wrong length stays, for the verifier to see.
    """
    promise = attributes.get("inbounds")
    if isinstance(promise, DenseArrayAttribute) and not any(promise.values):
        for declared, length in zip(record.declaration.operands, segments, strict=True):
            if declared.name == "index" and length == len(promise.values):
                attributes = {name: value for name, value in attributes.items() if name != "inbounds"}
                break
    return attributes if attributes else NO_ATTRIBUTES

"""Heads of records, remembered: what stands in front of the operands of an instruction repeats throughout a program.

The head of a record is its opcode, result types, flags and attributes.  It is read field by field once; where the same
bytes stand again, they mean the same.  How long a head is follows from its bytes, so that none is the beginning of
another: a look-up of as many bytes as the shortest known head has finds a head, or a beginning which says how many
bytes to look up next, or nothing.

The heads of constants differ in the number of the constant, each from nearly every other: what is remembered stands in
front of it.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.constants import ConstantTable
from tileir.bytecode.primitives import Malformed
from tileir.bytecode.records import COUNTED, FIXED, Record
from tileir.ir.alike import Alike
from tileir.ir.attributes import Attribute, DenseArrayAttribute
from tileir.ir.core import NO_ATTRIBUTES
from tileir.ir.declaration import ONE, VARIADIC, OperationDeclaration
from tileir.ir.types import Type

# Heads that are longer, or come when there are so many, are not worth remembering.
_LONGEST: Final = 48
_MOST: Final = 1 << 16


class Head:
    """A head and what it means, or with `further` only a beginning: as many bytes are to be looked up next.

    `plan` has the number of operands in each group, -1 for a group that is counted in front of its values.  `segments`
    are those of the operation where all are known; otherwise `variants` has them by length, with the attributes that
    remain.  `constants` has what belongs to each constant, None where no number of one follows.
    """

    __slots__ = (
        "alike",
        "attributes",
        "constants",
        "declaration",
        "further",
        "length",
        "plan",
        "record",
        "result_types",
        "segmented",
        "segments",
        "variants",
    )

    def __init__(
        self,
        record: Record,
        flags: int,
        result_types: list[Type],
        attributes: dict[str, Attribute],
        length: int,
        further: int = 0,
    ) -> None:
        self.record: Record = record
        self.declaration: OperationDeclaration = record.declaration
        self.result_types: list[Type] = [*result_types, *record.late_results]
        self.attributes: dict[str, Attribute] = attributes if attributes else NO_ATTRIBUTES
        self.length: int = length
        self.further: int = further
        self.plan: list[int] = _plan(record, flags)
        self.segmented: bool = record.operand_mode not in (FIXED, COUNTED) and -1 in self.plan
        self.segments: tuple[int, ...] | None = None
        if record.operand_mode not in (FIXED, COUNTED) and not self.segmented:
            self.segments = tuple(self.plan)
            self.attributes = kept_attributes(record, self.attributes, self.segments)
            self.plan = [sum(self.plan)]
        self.variants: dict[tuple[int, ...], Variant] = {}
        self.alike: Alike = Alike(self.result_types, self.attributes, self.segments)
        self.constants: dict[int, Variant] | None = {} if record.is_constant else None

    def constant(self, table: ConstantTable, index: int) -> Variant | None:
        """What belongs to a constant; None if it is not to be had."""
        constants = self.constants
        found = constants.get(index) if constants is not None else None
        if found is None and constants is not None and index < len(table):
            try:
                value = table.get(index, self.result_types[0])
            except Malformed:
                return None
            found = constants[index] = Variant(self, None, {self.record.attributes[0].name: value})
        return found

    def variant(self, segments: tuple[int, ...]) -> Variant:
        """What belongs to the lengths of the operand groups."""
        found = self.variants.get(segments)
        if found is None:
            found = Variant(self, segments, kept_attributes(self.record, self.attributes, segments))
            self.variants[segments] = found
        return found


class Variant:
    """The lengths of operand groups, and the attributes of an operation that has them."""

    __slots__ = ("alike", "attributes", "segments")

    def __init__(self, head: Head, segments: tuple[int, ...] | None, attributes: dict[str, Attribute]) -> None:
        self.segments: tuple[int, ...] | None = segments
        self.attributes: dict[str, Attribute] = attributes
        self.alike: Alike = Alike(head.result_types, attributes, segments)


class Heads:
    """The heads of a file by their bytes; `widths` has the length of the shortest known one by its first byte."""

    __slots__ = ("known", "widths")

    def __init__(self) -> None:
        self.known: dict[bytes, Head] = {}
        self.widths: list[int] = [0] * 256

    def add(self, head: bytes, meaning: Head) -> None:
        """Remember a head, which is not known or not found yet."""
        length = len(head)
        known = self.known
        if length > _LONGEST or len(known) > _MOST:
            return
        width = self.widths[head[0]]
        if not width or length < width:
            width = self.widths[head[0]] = length
        while width < length:
            beginning = known.get(head[:width])
            if beginning is None:
                beginning = Head(meaning.record, 0, [], NO_ATTRIBUTES, width, length)
                known[head[:width]] = beginning
            elif beginning.further > length:
                beginning.further = length
            width = beginning.further
        known[head] = meaning


def _plan(record: Record, flags: int) -> list[int]:
    """How many operands each group has, as far as the head says."""
    if record.operand_mode == FIXED:
        return [record.operand_count]
    if record.operand_mode == COUNTED:
        return [-1]
    plan: list[int] = []
    for declared, bit in zip(record.declaration.operands, record.operand_bits, strict=True):
        if declared.count == ONE:
            plan.append(1)
        elif declared.count == VARIADIC:
            plan.append(-1)
        else:
            plan.append(1 if bit >= 0 and flags >> bit & 1 else 0)
    return plan


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

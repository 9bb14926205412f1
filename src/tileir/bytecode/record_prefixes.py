"""A cache of record prefixes: the bytes in front of the operands repeat throughout a program.

The prefix of a record is its opcode, result types, flags and attributes.  It is decoded once; the same bytes have the
same meaning again.  Its length follows from its bytes, so no prefix is the beginning of another.  Prefixes that begin
with the same byte have few lengths, so that a few look-ups find one.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.records import SEGMENTED, Record
from tileir.ir.attributes import Attribute, DenseArrayAttribute
from tileir.ir.core import NO_ATTRIBUTES
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import Type

# Longer prefixes, and prefixes beyond this number, are not kept.
_LONGEST: Final = 48
_MOST: Final = 1 << 16

_NO_LENGTHS: Final[list[int]] = []


class RecordPrefix:
    """A decoded prefix, `length` bytes long, the first `opcode_length` of them the opcode.

    `group_sizes` has the number of operands in each group, -1 for a group that is counted in front of its values.
    `is_whole` says that only operands follow.
    `operand_count` is their sum, -1 where it is not known; where it is, `segments` are too.
    """

    __slots__ = (
        "attributes",
        "declaration",
        "group_sizes",
        "is_whole",
        "length",
        "opcode_length",
        "operand_count",
        "record",
        "result_types",
        "segments",
    )

    def __init__(
        self,
        record: Record,
        flags: int,
        result_types: list[Type],
        attributes: dict[str, Attribute],
        opcode_length: int,
    ) -> None:
        self.record: Record = record
        self.declaration: OperationDeclaration = record.declaration
        self.is_whole: bool = not record.region_count and not record.late_results
        self.result_types: list[Type] = result_types
        self.attributes: dict[str, Attribute] = attributes if attributes else NO_ATTRIBUTES
        self.length: int = 0
        self.opcode_length: int = opcode_length
        self.group_sizes: list[int] = record.group_sizes(flags)
        self.operand_count: int = -1 if -1 in self.group_sizes else sum(self.group_sizes)
        self.segments: tuple[int, ...] | None = None
        if self.operand_count >= 0 and record.operand_mode == SEGMENTED:
            self.segments = tuple(self.group_sizes)
            self.attributes = kept_attributes(record, attributes, self.segments)


class PrefixCache:
    """The prefixes of a file by their bytes, and the lengths that occur for each first byte."""

    __slots__ = ("_known", "_lengths")

    def __init__(self) -> None:
        self._known: dict[bytes, RecordPrefix] = {}
        self._lengths: list[list[int]] = [_NO_LENGTHS] * 256

    def find(self, data: bytes, start: int, end: int) -> RecordPrefix | None:
        """The prefix that stands at `start` and ends before `end`; None for one that is not known."""
        if start >= end:
            return None
        for length in self._lengths[data[start]]:
            found = self._known.get(data[start : start + length])
            if found is not None:
                return found if start + length <= end else None
        return None

    def add(self, data: bytes, prefix: RecordPrefix) -> None:
        length = prefix.length = len(data)
        if length > _LONGEST or len(self._known) > _MOST:
            return
        lengths = self._lengths[data[0]]
        if length not in lengths:
            self._lengths[data[0]] = sorted([*lengths, length])
        self._known[data] = prefix


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

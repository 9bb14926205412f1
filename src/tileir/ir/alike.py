"""What operations made from the same words have in common, and what was found out about one of them.

A program repeats itself: most of its operations differ from others in the values they take and give only.  Whoever
makes many alike says so, and who verifies or prints them need not find it out again for each.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.ir.attributes import Attribute
from tileir.ir.types import Type

if TYPE_CHECKING:
    from tileir.ir.core import Operation


class Finding:
    """Something that `owner` found out about an operation whose operands have these types."""

    __slots__ = ("operand_types", "owner", "what")

    def __init__(self, owner: object, operation: Operation, what: object) -> None:
        self.owner: object = owner
        self.operand_types: list[Type] = [value.type for value in operation.operands]
        self.what: object = what


class Alike:
    """The attributes, segments and types of results that operations of one declaration were made with.

    `count` is how many operations were: of one that has no like nothing needs to be remembered.  An operation may have
    changed since: `holds` tells whether it is still as it was made, also to those who keep a finding about it.  A
    finding is replaced as a whole, so that threads that verify or print at a time do not mix theirs up.
    """

    __slots__ = ("attributes", "count", "line", "result_types", "segments", "verified")

    def __init__(
        self,
        result_types: list[Type],
        attributes: dict[str, Attribute],
        segments: tuple[int, ...] | None,
    ) -> None:
        self.result_types: list[Type] = result_types
        self.attributes: dict[str, Attribute] = attributes
        self.segments: tuple[int, ...] | None = segments
        self.count: int = 0
        self.verified: Finding | None = None
        self.line: Finding | None = None

    def holds(self, finding: Finding, operation: Operation) -> bool:
        """Whether what was found out about another operation holds for this one."""
        if operation.attributes is not self.attributes or operation.segments is not self.segments:
            return False
        operands = operation.operands
        types = finding.operand_types
        count = len(types)
        if len(operands) != count:
            return False
        # Asked for every operation of a file, most of which have one or two operands: no loop for those.
        if count == 2:
            if operands[0].type is not types[0] or operands[1].type is not types[1]:
                return False
        elif count == 1:
            if operands[0].type is not types[0]:
                return False
        else:
            for index in range(count):
                if operands[index].type is not types[index]:
                    return False
        results = operation.results
        types = self.result_types
        count = len(types)
        if len(results) != count:
            return False
        if count == 1:
            return results[0].type is types[0]
        for index in range(count):
            if results[index].type is not types[index]:
                return False
        return True

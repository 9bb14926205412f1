"""A hash of a program by its structure, for the names of what is made of it: programs with the same one are the same.

Printing a program tells as much, and takes ten times as long in a process that has not printed one yet.  Locations and
the names of values do not count.  What counts is written down with its length or between characters that it cannot
contain, so that no two programs are written alike; two that are the same may be written differently, as where
attributes were set in another order.
"""

from __future__ import annotations

from _blake2 import blake2b

from tileir.annotations import Final
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import Type
from tileir.ir.values import Value

_SIZE: Final = 20


def structural_digest(root: Operation) -> bytes:
    """The hash of an operation and all that is in it; values from outside are told apart, and not looked at."""
    writer = _Writer()
    writer.write(root)
    return blake2b("".join(writer.out).encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()


class _Writer:
    """Writes a program down; values and blocks are numbered when they are first met."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self._values: dict[Value, int] = {}
        self._blocks: dict[Block, int] = {}
        self._types: dict[Type, str] = {}

    def write(self, root: Operation) -> None:
        # Not recursive, as programs may nest deeply: what is to come, blocks, braces, and where to go on in a block.
        pending: list[Block | Operation | str] = []
        self._operation(root, pending)
        while pending:
            place = pending.pop()
            if isinstance(place, str):
                self.out.append(place)
                continue
            cursor: Operation | None = self._block(place) if isinstance(place, Block) else place
            while cursor is not None:
                if cursor.regions:
                    if cursor.next is not None:
                        pending.append(cursor.next)
                    self._operation(cursor, pending)
                    break
                self._operation(cursor, pending)
                cursor = cursor.next

    def _operation(self, operation: Operation, pending: list[Block | Operation | str]) -> None:
        out = self.out
        out.append(f"\n{operation.declaration.name}(")
        values = self._values
        for operand in operation.operands:
            out.append(f"{values.setdefault(operand, len(values))},")
        if operation.segments is not None:
            out.append(f"|{operation.segments}")
        for name, attribute in operation.attributes.items():
            text = _written(attribute)
            out.append(f";{len(name)} {name} {len(text)} {text}")
        if operation.successors is not None:
            blocks = self._blocks
            out.append("^")
            for block in operation.successors:
                out.append(f"{blocks.setdefault(block, len(blocks))},")
        out.append(")")
        for result in operation.results:
            out.append(f"{values.setdefault(result, len(values))}:{self._type(result.type)},")
        for region in reversed(operation.regions):
            pending.append("}")
            pending.extend(reversed(region.blocks))
            pending.append("{")

    def _block(self, block: Block) -> Operation | None:
        """Begin a block; returns its first operation."""
        blocks, values = self._blocks, self._values
        self.out.append(f"\n^{blocks.setdefault(block, len(blocks))}")
        for argument in block.arguments:
            self.out.append(f",{values.setdefault(argument, len(values))}:{self._type(argument.type)}")
        return block.first

    def _type(self, type: Type) -> str:
        found = self._types.get(type)
        if found is None:
            # Later ones by their number.
            text = type.text
            found = f"{len(text)} {text}"
            self._types[type] = f"#{len(self._types)}"
        return found


def _written(attribute: Attribute) -> str:
    kind = type(attribute).__name__
    if isinstance(attribute, DenseAttribute):
        # Not its literal, which takes long to spell.
        return f"{kind} {attribute.type.text} {attribute.shape} {attribute.data.hex()}"
    return f"{kind} {attribute.text}"

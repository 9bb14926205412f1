"""A hash of a program's structure, for the names of what is made of it: programs with equal hashes are the same.

The printed program would identify it too, but printing takes ten times as long in a process that has not printed yet.
Locations and names of values do not count.  Each part is written with its length or a delimiter, so different programs
never hash the same text; one program may have two hashes, for example if attributes were set in another order.
"""

from __future__ import annotations

from _blake2 import blake2b

from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import Type
from tileir.ir.values import Value


def structural_digest(root: Operation) -> bytes:
    """The hash of an operation and all that is in it; values from outside are numbered, without their definitions."""
    out: list[str] = []
    # Values and blocks by numbers, given when they are first met; types by their text, later by a number.
    values: dict[Value, int] = {}
    blocks: dict[Block | None, int] = {root.parent: 0}
    types: dict[Type, str] = {}

    def typed(value: Value) -> str:
        text = value.type.text
        found = types.get(value.type) or f"{len(text)} {text}"
        types[value.type] = f"#{len(types)}" if value.type not in types else found
        return f"{values.setdefault(value, len(values))}:{found},"

    for operation in root.walk():
        out.append(f"\n{blocks.get(operation.parent)} {operation.declaration.name}(")
        out += [f"{values.setdefault(operand, len(values))}," for operand in operation.operands]
        if operation.segments is not None:
            out.append(f"|{operation.segments}")
        for name, attribute in operation.attributes.items():
            text = _written(attribute)
            out.append(f";{len(name)} {name} {len(text)} {text}")
        if operation.successors is not None:
            out += ["^", *[f"{blocks.setdefault(block, len(blocks))}," for block in operation.successors]]
        out.append(")")
        out += [typed(result) for result in operation.results]
        for region in operation.regions:
            out.append("{")
            for block in region.blocks:
                out.append(f"^{blocks.setdefault(block, len(blocks))}")
                out += [typed(argument) for argument in block.arguments]
    return blake2b("".join(out).encode("utf-8", "surrogatepass"), digest_size=20).digest()


def _written(attribute: Attribute) -> str:
    kind = type(attribute).__name__
    if isinstance(attribute, DenseAttribute):
        # Not its literal, which takes long to spell.
        return f"{kind} {attribute.type.text} {attribute.shape} {attribute.data.hex()}"
    return f"{kind} {attribute.text}"

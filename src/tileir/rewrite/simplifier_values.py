"""Integer operations on bit patterns, for constants of the expression simplifier."""

from __future__ import annotations

from tileir.dialect.ops import ADDI, ANDI, CMPI, EXTI, MAXI, MINI, MULI, NEGI, ORI, SELECT, SHLI, SHRI, SUBI, TRUNCI
from tileir.dialect.types import TileType
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import I1, IntegerType


def literal(name: str, width: int) -> int:
    """The bit pattern of a literal of a rule."""
    if name == "max":
        return (1 << (width - 1)) - 1
    if name == "min":
        return 1 << (width - 1)
    return int(name) & ((1 << width) - 1)


def _signed(width: int, bits: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def evaluate(
    operation: OperationDeclaration, flags: tuple[str, ...], widths: tuple[int, ...], operands: tuple[int, ...]
) -> int | None:
    """The bits an operation gives; None where it gives none of its own (a shift past the width).

    `widths` are those of the last operand and of the result.  A result that breaks a promise about wrapping may be
    anything, so it is the wrapped one.
    """
    width, result_width = widths
    mask = (1 << result_width) - 1
    if operation is SELECT:
        return operands[1] if operands[0] & 1 else operands[2]
    first = operands[0]
    if operation is NEGI:
        return -first & mask
    if operation is TRUNCI:
        return first & mask
    if operation is EXTI:
        return (_signed(width, first) if flags[0] == "signed" else first) & mask
    second = operands[1]
    if operation in (SHLI, SHRI):
        if second >= width:
            return None
        if operation is SHLI:
            return first << second & mask
        return (_signed(width, first) if flags[0] == "signed" else first) >> second & mask
    if operation is CMPI:
        return int(_compare(flags[0], *_read(flags[1], width, first, second)))
    if operation in (MINI, MAXI):
        left, right = _read(flags[0], width, first, second)
        return (min(left, right) if operation is MINI else max(left, right)) & mask
    if operation is ADDI:
        return first + second & mask
    if operation is SUBI:
        return first - second & mask
    if operation is MULI:
        return first * second & mask
    if operation is ANDI:
        return first & second
    if operation is ORI:
        return first | second
    return first ^ second


def _read(signedness: str, width: int, first: int, second: int) -> tuple[int, int]:
    if signedness == "signed":
        return _signed(width, first), _signed(width, second)
    return first, second


def _compare(predicate: str, left: int, right: int) -> bool:
    if predicate == "equal":
        return left == right
    if predicate == "not_equal":
        return left != right
    if predicate == "less_than":
        return left < right
    if predicate == "less_than_or_equal":
        return left <= right
    if predicate == "greater_than":
        return left > right
    return left >= right


# --- whole tiles ---


def integer_width(type: TileType) -> int:
    """The width of the elements, 0 if they are not integers that arithmetic takes."""
    element = type.element
    return element.width if isinstance(element, IntegerType) and element.width in (1, 8, 16, 32, 64) else 0


def splat(type: TileType, bits: int) -> DenseAttribute:
    return dense_attribute(type, type.shape, type.element, bits.to_bytes(element_bytes(type.element), "little"))


def splat_bits(value: DenseAttribute) -> int:
    """The bits all elements share, -1 if they differ."""
    if not value.is_splat:
        return -1
    return value.bits(0) & 1 if value.element_type is I1 else value.bits(0)


def evaluate_tiles(
    operation: OperationDeclaration, flags: tuple[str, ...], operands: list[DenseAttribute], type: TileType
) -> DenseAttribute | None:
    """An operation on constants, element by element."""
    last = operands[-1].element_type
    if not isinstance(last, IntegerType):
        return None
    widths = (last.width, integer_width(type))
    size = element_bytes(type.element)
    count = 1 if all(operand.is_splat for operand in operands) else type.count
    parts: list[bytes] = []
    masks = [(1 << integer_bits(operand)) - 1 for operand in operands]
    for index in range(count):
        bits = tuple([operand.bits(index) & mask for operand, mask in zip(operands, masks, strict=True)])
        result = evaluate(operation, flags, widths, bits)
        if result is None:
            return None
        parts.append(result.to_bytes(size, "little"))
    return dense_attribute(type, type.shape, type.element, b"".join(parts))


def integer_bits(value: DenseAttribute) -> int:
    element = value.element_type
    return element.width if isinstance(element, IntegerType) else 8 * element_bytes(element)

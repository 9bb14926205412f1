"""Reading the literal of a dense constant: a scalar, nested lists, or the raw bytes as a hexadecimal string."""

from __future__ import annotations

import re

from tileir.annotations import Final, NoReturn
from tileir.dialect.types import TileType
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.types import FLOAT_TYPES, FloatType, IntegerType, Type, integer_type
from tileir.text.types import TypeCursor

# The tensor type of MLIR: it is read for the constants of other dialects' programs.
_TENSOR: Final = re.compile(r"tensor<((?:\d+x)*)(\w+)>")


class DenseReader:
    """Collects the elements first and converts them once the type is known (`dense<..> : type` has it last)."""

    def __init__(self, cursor: TypeCursor, element: Type | None = None) -> None:
        self.cursor: TypeCursor = cursor
        # The element type, where it is known before the literal.
        self.element: Type | None = element
        self.start: int = cursor.position
        # Token numbers of the elements; a negative number is an element with a minus sign in front.
        self.elements: list[int] = []
        self.negative: list[bool] = []
        self.shape: list[int] = []
        self.is_scalar: bool = False
        self.raw: bytes | None = None
        # The elements in the element type, once converted.
        self.bits: list[int] = []

    def read(self) -> None:
        """literal ::= scalar | string | list; list ::= `[` (literal (`,` literal)*)? `]`"""
        cursor = self.cursor
        self.start = cursor.position
        token = cursor.peek()
        if token == "[":
            self._read_list()
        elif token[:1] == '"':
            self._read_raw(token)
        elif token == ">":
            self.shape = [0]
        else:
            self.is_scalar = True
            self._read_element()

    def _read_element(self) -> None:
        cursor = self.cursor
        start = cursor.position
        negative = cursor.accept("-")
        token = cursor.peek()
        if not (token[:1].isdigit() or token in ("true", "false")) or (negative and not token[:1].isdigit()):
            if isinstance(self.element, IntegerType):
                cursor.fail("expected integer value", start)
            if isinstance(self.element, FloatType):
                cursor.fail("expected floating point literal", start)
            cursor.fail("expected element literal of primitive type", start)
        self.elements.append(cursor.position)
        self.negative.append(negative)
        cursor.position += 1

    def _read_row(self) -> int:
        """Read elements with commas between them; return how many there are."""
        cursor = self.cursor
        count = 0
        while True:
            self._read_element()
            count += 1
            if cursor.peek() != "," or cursor.tokens[cursor.position + 1] == "[":
                return count
            cursor.position += 1

    def _read_list(self) -> None:
        """Read nested brackets with an explicit stack; every list of one level must have the same length."""
        cursor = self.cursor
        counts: list[int] = []
        lengths: dict[int, int] = {}
        leaf_depth = -1
        while True:
            token = cursor.peek()
            if token == "[":
                counts.append(0)
                cursor.position += 1
                # A list with nothing in it is complete as it is.
                if cursor.peek() != "]":
                    continue
            else:
                if leaf_depth not in (-1, len(counts)):
                    # An error in the element itself is reported first.
                    self._read_element()
                    self._inconsistent()
                leaf_depth = len(counts)
                counts[-1] += self._read_row()
            # Close as many lists as end here; each is a member of the one around it.
            while counts and cursor.accept("]"):
                depth = len(counts)
                length = counts.pop()
                if lengths.setdefault(depth, length) != length:
                    self._inconsistent()
                if counts:
                    counts[-1] += 1
            if not counts:
                break
            cursor.expect(",")
        self.shape = [lengths[depth] for depth in sorted(lengths)]

    @property
    def is_uniform(self) -> bool:
        """Whether all elements are written the same way."""
        tokens = self.cursor.tokens
        written = [(tokens[t], n) for t, n in zip(self.elements, self.negative, strict=True)]
        return all(element == written[0] for element in written)

    def _inconsistent(self) -> NoReturn:
        self.cursor.fail("tensor literal is invalid; ranks are not consistent between elements", self.start)

    def _read_raw(self, token: str) -> None:
        cursor = self.cursor
        body = cursor.string_value(token, cursor.position)
        if body[:2] != "0x":
            cursor.fail("elements hex string should start with '0x'")
        try:
            self.raw = bytes.fromhex(body[2:])
        except ValueError:
            cursor.fail("elements hex string only contains hex digits")
        cursor.position += 1

    def finish(self, type: Type, shape: tuple[int, ...], element: Type) -> DenseAttribute:
        """The attribute, once its type is known, and the shape and the elements of that type."""
        cursor = self.cursor
        count = 1
        for extent in shape:
            count *= extent
        size = element_bytes(element)
        if self.raw is not None:
            if len(self.raw) not in (size, count * size):
                cursor.fail("elements hex data size is invalid for provided type: " + type.text, self.start)
            # Of an integer that does not fill its bytes the rest must be zero.  Bits that a float does not have stand
            # where bytecode holds them, and are kept.
            width = element.width % 8 if isinstance(element, IntegerType) else 0
            if width and max(self.raw[size - 1 :: size]) >> width:
                cursor.fail("elements hex data does not fit the provided type: " + type.text, self.start)
            return dense_attribute(type, shape, element, self.raw)
        if not self.is_scalar:
            if not self.elements:
                cursor.fail("dense attribute cannot be empty", self.start)
            if tuple(self.shape) != shape:
                found, expected = (", ".join([str(extent) for extent in each]) for each in (self.shape, shape))
                message = f"inferred shape of elements literal ([{found}]) does not match type ([{expected}])"
                cursor.fail(message, self.start)
        bits = self.bits if element is self.element else []
        if not bits:
            bits = self._all_bits(element)
        return dense_attribute(type, shape, element, b"".join([each.to_bytes(size, "little") for each in bits]))

    def _all_bits(self, element: Type) -> list[int]:
        return [
            self._bits(element, token, negative) for token, negative in zip(self.elements, self.negative, strict=True)
        ]

    def _bits(self, element: Type, position: int, negative: bool) -> int:
        cursor = self.cursor
        token = cursor.tokens[position]
        if isinstance(element, FloatType):
            if token in ("true", "false"):
                cursor.fail("expected floating point value", position)
            return cursor.float_bits(element, negative, token, position)
        if not isinstance(element, IntegerType):
            cursor.fail("expected element type of integer or floating point", position)
        width = element.width
        if token in ("true", "false"):
            if width != 1:
                cursor.fail("expected integer value", position)
            return 1 if token == "true" else 0
        value = cursor.integer_token(token)
        if value is None:
            cursor.fail("expected integer elements, but parsed floating-point", position)
        if negative:
            value = -value
        # A literal may be read as signed or as unsigned (docs/reference/printing.md section 6); i1 takes -1, 0 and 1.
        if not -(1 << (width - 1)) <= value < 1 << width:
            cursor.fail("integer constant out of range for type", position)
        return value & ((1 << width) - 1)

    def check_elements(self, element: Type) -> None:
        """Refuse elements the element type cannot hold, before the type of the whole is read."""
        self.element = element
        self.bits = self._all_bits(element)


def parse_dense_elements(cursor: TypeCursor) -> DenseAttribute:
    """dense ::= `dense` `<` literal `>` `:` type, after the word."""
    cursor.expect("<")
    reader = DenseReader(cursor)
    reader.read()
    cursor.expect(">")
    cursor.expect(":")
    start = cursor.position
    type = cursor.parse_type()
    if isinstance(type, TileType):
        return reader.finish(type, type.shape, type.element)
    tensor = _TENSOR.fullmatch(type.text)
    if tensor is None:
        cursor.fail("elements literal must be a shaped type", start)
    name = tensor[2]
    element = integer_type(int(name[1:])) if name in ("i1", "i8", "i16", "i32", "i64") else FLOAT_TYPES.get(name)
    if element is None:
        cursor.fail(f"elements of type '{name}' are not supported", start)
    return reader.finish(type, tuple([int(each) for each in tensor[1].split("x")[:-1]]), element)

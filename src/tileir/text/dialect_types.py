"""Reading the characters of one type of the dialect, which arrives as one token."""

from __future__ import annotations

import re

from tileir.annotations import Callable, Final, NoReturn
from tileir.dialect import types as cuda_tile
from tileir.dialect.enums import PADDING
from tileir.ir.attributes import EnumAttribute
from tileir.ir.diagnostics import Code
from tileir.ir.types import F8E4M3FN, F8E5M2, FLOAT_TYPES, Type, integer_type, opaque_type
from tileir.ir.versions import Version
from tileir.text.cursor import Cursor

_BLANKS: Final = re.compile(r"(?:\s+|//[^\n]*)*", re.ASCII)
WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)
# The tile extents of a view are 32-bit.
_I32_LIMIT: Final = (1 << 31) - 1
# Names of element types that only the drafts have (docs/reference/conflicts.md A15).
_DRAFT_ELEMENTS: Final[dict[str, Type]] = {"fp8e4m3fn": F8E4M3FN, "fp8e5m2": F8E5M2}


def builtin_type(name: str) -> Type | None:
    found = FLOAT_TYPES.get(name)
    if found is not None:
        return found
    sign = name[:1] if name[:1] in ("s", "u") else ""
    letter, width = name[len(sign) : len(sign) + 1], name[len(sign) + 1 :]
    if letter == "i" and width.isascii() and width.isdigit() and width[0] != "0" and len(width) <= 8:
        return integer_type(int(width), sign)
    if name in ("index", "none"):
        return opaque_type(name)
    return None


def draft_element_type(cursor: Cursor, name: str, token: int) -> Type | None:
    """`fp8e4m3fn` and `fp8e5m2` (docs/reference/conflicts.md A15)."""
    found = _DRAFT_ELEMENTS.get(name)
    if found is None or not cursor.draft_spellings:
        return None
    cursor.remark(f"'{name}' is read as '{found.spelling}'", token)
    return found


class TypeText:
    """The characters of one dialect type."""

    def __init__(self, cursor: Cursor, text: str, token: int) -> None:
        self.cursor: Cursor = cursor
        self.text: str = text
        self.token: int = token
        self.offset: int = 0
        self.version: Version = cursor.version
        self.has_draft_spelling: bool = False

    def fail(self, message: str, offset: int = -1, code: Code | None = None) -> NoReturn:
        self.cursor.fail_inside(message, self.token, self.offset if offset < 0 else offset, code)

    def fail_expected(self, token: str, offset: int = -1) -> NoReturn:
        self.fail(f"expected '{token}'", offset, Code("expected-token", token=token))

    def check(self, error: str | None, offset: int, is_element_right: bool = True) -> None:
        if error is not None:
            self.fail(error, offset, None if is_element_right else Code("wrong-element-type"))

    def skip_blanks(self) -> None:
        match = _BLANKS.match(self.text, self.offset)
        if match is not None:
            self.offset = match.end()

    def accept(self, literal: str) -> bool:
        self.skip_blanks()
        if self.text.startswith(literal, self.offset):
            self.offset += len(literal)
            return True
        return False

    def expect(self, literal: str) -> None:
        if not self.accept(literal):
            self.fail_expected(literal)

    def word(self) -> str:
        self.skip_blanks()
        match = WORD.match(self.text, self.offset)
        if match is None:
            return ""
        self.offset = match.end()
        return match.group()

    def peek_word(self) -> str:
        start = self.offset
        found = self.word()
        self.offset = start
        return found

    def accept_key(self, key: str) -> bool:
        """`key =` with any blanks."""
        if self.peek_word() != key:
            return False
        self.word()
        self.expect("=")
        return True

    def expect_key(self, key: str) -> None:
        if not self.accept_key(key):
            self.fail_expected(key)

    def number(self) -> int | None:
        self.skip_blanks()
        match = _NUMBER.match(self.text, self.offset)
        if match is None:
            return None
        if len(match.group()) > 20:
            self.fail("integer value too large")
        self.offset = match.end()
        return int(match.group())

    def parse_whole(self) -> Type:
        result = self.parse_type()
        self.skip_blanks()
        if self.offset != len(self.text):
            self.fail("expected end of type")
        return result

    def parse_type(self) -> Type:
        """dialect-type ::= `!cuda_tile.`? name (`<` parameters `>`)?"""
        self.cursor.enter()
        found = self._parse_type()
        self.cursor.leave()
        return found

    def _parse_type(self) -> Type:
        self.skip_blanks()
        start = self.offset
        self.accept("!")
        name = self.word()
        if name.startswith("cuda_tile."):
            name = name[len("cuda_tile.") :]
        if name == "tile":
            return self.parse_tile()
        if name == "ptr":
            return self.parse_pointer()
        if name == "tensor_view":
            return self.parse_tensor_view()
        if name in ("partition_view", "strided_view", "gather_scatter_view"):
            return self.parse_view(name)
        if name == "token":
            return cuda_tile.TOKEN
        if name == "string" and self.cursor.draft_spellings:
            self.has_draft_spelling = True
            return cuda_tile.STRING
        found = builtin_type(name)
        if found is None:
            found = draft_element_type(self.cursor, name, self.token)
            self.has_draft_spelling = self.has_draft_spelling or found is not None
        if found is None:
            if name:
                self.fail(f"unknown type: {name}", start, Code("unknown-type", name=name))
            self.fail("expected valid keyword", start)
        return found

    def parse_dimension(self, allow_dynamic: bool) -> int | None:
        """dimension ::= (integer | `?`) `x`; None when an element type comes next."""
        self.skip_blanks()
        start = self.offset
        if self.text.startswith("?", start):
            if not allow_dynamic:
                self.fail("expected static shape")
            self.offset += 1
            value = cuda_tile.DYNAMIC
        else:
            # A minus sign is no part of a dimension list.
            number = self.number() if self.text[start : start + 1] != "-" else None
            if number is None:
                return None
            value = number
        self.skip_blanks()
        if not self.text.startswith("x", self.offset):
            self.fail("expected 'x' in dimension list")
        self.offset += 1
        return value

    def parse_shape(self, allow_dynamic: bool) -> tuple[int, ...]:
        shape: list[int] = []
        while (dimension := self.parse_dimension(allow_dynamic)) is not None:
            shape.append(dimension)
        return tuple(shape)

    def parse_tile(self) -> Type:
        """tile ::= `<` (integer `x`)* element `*`? `>`"""
        self.expect("<")
        start = self.offset
        shape = self.parse_shape(False)
        if self.peek_word() == "ptr" and not self.text.startswith("<", self.offset + 3):
            self.fail_expected("<", self.offset + 3)
        element = self._pointer_element(self.parse_type(), start)
        is_right = cuda_tile.is_tile_element(element, self.version)
        self.check(cuda_tile.tile_error(shape, element, self.version), start, is_right)
        self.expect(">")
        return cuda_tile.tile_type(shape, element)

    def _pointer_element(self, element: Type, start: int) -> Type:
        """The operations draft writes a tile of pointers as `tile<T*>` (docs/reference/conflicts.md A15)."""
        cursor = self.cursor
        if not cursor.draft_spellings or not self.accept("*"):
            return element
        self.check(cuda_tile.pointer_error(element, self.version), start, cuda_tile.is_number(element, self.version))
        self.has_draft_spelling = True
        cursor.remark(f"'{element.spelling}*' is read as 'ptr<{element.spelling}>'", self.token)
        return cuda_tile.pointer_type(element)

    def parse_pointer(self) -> Type:
        """ptr ::= `<` element (`,` `#cuda_tile.ptr_attr`? `<` keyword `>`)? `>`"""
        self.expect("<")
        start = self.offset
        pointee = self.parse_type()
        self.check(cuda_tile.pointer_error(pointee, self.version), start, cuda_tile.is_number(pointee, self.version))
        attribute = self.parse_pointer_attribute() if self.accept(",") else None
        self.expect(">")
        return cuda_tile.pointer_type(pointee, attribute)

    def parse_pointer_attribute(self) -> str:
        """Up to 13.4, the only pointer attribute is `none` (docs/reference/conflicts.md D1)."""
        self.skip_blanks()
        start = self.offset
        if self.accept("#"):
            name = self.word()
            if name not in ("cuda_tile.ptr_attr", "ptr_attr"):
                self.fail("expected '#cuda_tile.ptr_attr'", start)
        self.expect("<")
        keyword = self.word()
        known = cuda_tile.pointer_attributes(self.version)
        if keyword not in known:
            choices = ", ".join(known)
            code = Code("unknown-keyword", choices=choices)
            self.fail(f"expected pointer attribute to be one of: {choices}", start, code)
        self.expect(">")
        return keyword

    def parse_tensor_view(self) -> cuda_tile.TensorViewType:
        """tensor_view ::= `<` dimension* element (`,` `strides` `=` `[` strides `]`)? (`,` pointer-attribute)? `>`"""
        self.expect("<")
        start = self.offset
        shape = self.parse_shape(True)
        element = self.parse_type()
        strides: tuple[int, ...] = ()
        attribute: str | None = None
        has_strides = False
        if self.accept(","):
            if self.peek_word() == "strides":
                has_strides = True
                if not shape:
                    self.fail("strides must not be provided for 0-d tiles")
                self.accept_key("strides")
                strides = self.parse_strides()
                if self.accept(","):
                    attribute = self.parse_pointer_attribute()
            elif shape:
                self.fail_expected("strides")
            elif self.text[self.offset :].lstrip()[:1] not in ("<", "#"):
                self.fail("unexpected token after element type in 0-d tensor_view")
            else:
                attribute = self.parse_pointer_attribute()
        if shape and not has_strides:
            self.fail_expected("strides")
        is_right = cuda_tile.is_number(element, self.version)
        self.check(cuda_tile.tensor_view_error(element, shape, strides, self.version), start, is_right)
        self.expect(">")
        return cuda_tile.tensor_view_type(element, shape, strides, attribute)

    def parse_items(self, brackets: str, separator: str, parse_item: Callable[[], None]) -> None:
        """opening (item (separator item)*)? closing"""
        self.expect(brackets[0])
        if self.accept(brackets[1]):
            return
        parse_item()
        while self.accept(separator):
            parse_item()
        self.expect(brackets[1])

    def parse_strides(self) -> tuple[int, ...]:
        """strides ::= `[` ((integer | `?`) (`,` ...)*)? `]`"""
        values: list[int] = []

        def parse_stride() -> None:
            self.skip_blanks()
            start = self.offset
            if self.accept("?"):
                values.append(cuda_tile.DYNAMIC)
                return
            number = self.number()
            if number is None or number >= 1 << 63:
                self.fail("expected either 64-bit integer or question mark")
            if number <= 0:
                self.fail(f"expected strictly positive integer, got {number}", start)
            values.append(number)

        self.parse_items("[]", ",", parse_stride)
        return tuple(values)

    def parse_integer(self) -> int:
        found = self.number()
        if found is None:
            self.fail("expected integer value")
        return found

    def parse_integers(self) -> tuple[int, ...]:
        """integers ::= `[` (integer (`,` integer)*)? `]`"""
        values: list[int] = []
        self.parse_items("[]", ",", lambda: values.append(self.parse_integer()))
        return tuple(values)

    def parse_tile_shape(self) -> tuple[int, ...]:
        """`tile` `=` `(` integer (`x` integer)* `)`"""
        # One example of the operations draft leaves the shape out (docs/reference/conflicts.md A5).
        if self.cursor.draft_spellings and self.peek_word() == "tensor_view":
            self.fail("expected 'tile': nothing else states the shape of the tiles")
        self.expect_key("tile")
        shape: list[int] = []

        def parse_extent() -> None:
            number = self.parse_integer()
            if number > _I32_LIMIT:
                limit = f"expected strictly positive and less than or equal to {_I32_LIMIT}"
                self.fail(f"tile dimension {len(shape)} exceeds i32 limitations (got {number}, {limit})")
            shape.append(number)

        self.parse_items("()", "x", parse_extent)
        return tuple(shape)

    def parse_padding(self) -> EnumAttribute | None:
        """(`padding_value` `=` keyword `,`)?"""
        if not self.accept_key("padding_value"):
            return None
        self.skip_blanks()
        start = self.offset
        keyword = self.word()
        found = PADDING.cases.get(keyword)
        if found is None:
            choices = ", ".join(PADDING.values)
            message = f'invalid padding_value attribute specification. Got "{keyword}" but expect one of: {choices}'
            self.fail(message, start, Code("wrong-keyword", got=keyword, choices=choices))
        self.expect(",")
        return found

    def parse_view(self, name: str) -> Type:
        """view ::= `<` tile-shape `,` (`traversal_strides` `=` integers `,`)? padding? tensor-view last? `>`

        last ::= `,` `dim_map` `=` integers, or `,` `sparse_dim` `=` integer of a gather_scatter_view
        """
        self.expect("<")
        start = self.offset
        tile_shape = self.parse_tile_shape()
        self.expect(",")
        strides: tuple[int, ...] = ()
        if name == "strided_view":
            self.expect_key("traversal_strides")
            strides = self.parse_integers()
            self.expect(",")
        padding = self.parse_padding()
        self.skip_blanks()
        tensor_start = self.offset
        tensor = self.parse_type()
        if not isinstance(tensor, cuda_tile.TensorViewType):
            self.fail(f"expected 'tensor_view' type, but got '{tensor.text}'", tensor_start)
        if name == "gather_scatter_view":
            self.expect(",")
            self.expect_key("sparse_dim")
            sparse_dim = self.parse_integer()
            self.check(cuda_tile.view_error(tile_shape, tensor, padding, None, self.version), start)
            self.check(cuda_tile.gather_view_error(tensor, sparse_dim), start)
            self.expect(">")
            return cuda_tile.gather_scatter_view_type(tile_shape, tensor, sparse_dim, padding)
        mapping = tuple(range(len(tile_shape)))
        if self.accept(","):
            self.expect_key("dim_map")
            mapping = self.parse_integers()
        self.check(cuda_tile.view_error(tile_shape, tensor, padding, mapping, self.version), start)
        if name == "partition_view":
            self.expect(">")
            return cuda_tile.partition_view_type(tile_shape, tensor, padding, mapping)
        self.check(cuda_tile.strided_view_error(len(tile_shape), strides), start)
        self.expect(">")
        return cuda_tile.strided_view_type(tile_shape, tensor, strides, padding, mapping)

"""Reading types.

A dialect type arrives as one token and is looked up whole; only a spelling never seen before is taken apart, by
`TypeText`, character by character, so that a mistake is reported where it is.
"""

from __future__ import annotations

import re

from tileir.annotations import Final, NoReturn
from tileir.dialect.enums import PADDING
from tileir.dialect.types import (
    DYNAMIC,
    STRING,
    TOKEN,
    TensorViewType,
    gather_scatter_view_type,
    gather_view_mistake,
    partition_view_type,
    pointer_mistake,
    pointer_type,
    strided_view_mistake,
    strided_view_type,
    tensor_view_mistake,
    tensor_view_type,
    tile_extent_mistake,
    tile_mistake,
    tile_type,
    view_mistake,
)
from tileir.ir.attributes import EnumAttribute
from tileir.ir.declaration import Version
from tileir.ir.diagnostics import Diagnostic, note
from tileir.ir.interning import forget_with
from tileir.ir.location import CharacterLocation
from tileir.ir.types import FLOAT_TYPES, Type, function_type, integer_type, opaque_type
from tileir.text import draft_spellings
from tileir.text.cursor import MAXIMUM_GROWTH, Cursor, SyntaxFailure

_INTEGER: Final = re.compile(r"([su]?)i([1-9]\d{0,7})\Z", re.ASCII)
_BLANKS: Final = re.compile(r"(?:\s+|//[^\n]*)*", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)
DIALECT_TYPES: Final = frozenset(
    ["tile", "ptr", "tensor_view", "partition_view", "strided_view", "gather_scatter_view", "token"]
)

# How far a type with unmatched brackets is read to find the mistake.
_LONGEST_TYPE: Final = 4096

# How many characters the function types of any text may have together, as in bytecode.
_SPELLING_ALLOWANCE: Final = 1 << 23

# Spellings already read, per dialect version: palettes differ between versions.
_KNOWN: Final[dict[Version, dict[str, Type]]] = {}


def _forget_spellings() -> None:
    for known in list(_KNOWN.values()):
        known.clear()


forget_with(_forget_spellings)


def builtin_type(name: str) -> Type | None:
    """The builtin scalar type of a name."""
    found = FLOAT_TYPES.get(name)
    if found is not None:
        return found
    match = _INTEGER.match(name)
    if match is not None:
        return integer_type(int(match.group(2)), match.group(1))
    if name in ("index", "none"):
        return opaque_type(name)
    return None


class _OpenFunction:
    """A function type being read: its inputs, or its inputs and some of its results."""

    __slots__ = ("has_inputs", "inputs", "types")

    def __init__(self) -> None:
        self.inputs: list[Type] = []
        self.has_inputs: bool = False
        self.types: list[Type] = []


class TypeCursor(Cursor):
    """Adds types to the cursor."""

    def __init__(self, text: str, name: str, version: Version, first_line: int = 1) -> None:
        super().__init__(text, name, version, first_line)
        self.known_types: dict[str, Type] = _KNOWN.setdefault(version, {})
        self.type_aliases: dict[str, Type] = {}
        self.type_growth: int = 0

    def parse_type(self) -> Type:
        """type ::= dialect-type | builtin-type | function-type | type-alias"""
        token = self.tokens[self.position]
        found = self.known_types.get(token)
        if found is not None:
            self.position += 1
            return found
        return self._parse_new_type(token)

    def _parse_new_type(self, token: str) -> Type:
        start = self.position
        if token == "(":
            return self.parse_function_type()
        name = token.lstrip("!")
        if name.startswith("cuda_tile."):
            name = name[len("cuda_tile.") :]
        word = _WORD.match(name)
        if word is not None and self._is_dialect_type(word.group()):
            if "<" in token or word.group() in ("token", "string"):
                self.position += 1
                parser = TypeText(self, token, start)
                found = parser.parse_whole()
                # A draft spelling is not remembered, so that each use of it is remarked upon.
                if not parser.has_draft_spelling:
                    self.known_types[token] = found
                return found
            self.position += 1
            if self.peek() == "<":
                # Not one token, so its brackets do not match: read on to say where.
                offset = self.source.token_offset(start)
                TypeText(self, self.source.text[offset : offset + _LONGEST_TYPE], start).parse_type()
            self.fail("expected '<'")
        if token[:1] == "!":
            alias = self.type_aliases.get(token)
            if alias is not None:
                self.position += 1
                return alias
            if token.startswith("!cuda_tile."):
                # The two blanks are MLIR's.
                self.fail(f"unknown  type `{name}` in dialect `cuda_tile`")
            if "." not in token:
                self.fail(f"undefined symbol alias id '{name}'")
            return self._parse_opaque_type()
        builtin = builtin_type(token) if token else None
        if builtin is not None:
            self.position += 1
            self.known_types[token] = builtin
            return builtin
        element = draft_spellings.element_type(self, token, start)
        if element is not None:
            self.position += 1
            return element
        if token in ("tensor", "vector", "memref", "complex", "tuple") and self.tokens[self.position + 1] == "<":
            return self._parse_opaque_type()
        message = f"unknown type: {token}" if self.is_identifier() else "expected valid keyword"
        failure = Diagnostic("error", message, self.location(self.position))
        gap = self.gap()
        # NVIDIA's words alone would send the reader to a line that has nothing wrong with it.
        if self.recover and (isinstance(gap, CharacterLocation) or not self.is_identifier()):
            failure.notes.append(note("a type is missing here", gap))
        raise SyntaxFailure(failure, True)

    def _is_dialect_type(self, name: str) -> bool:
        return name in DIALECT_TYPES or draft_spellings.is_string_type(self, name)

    def parse_function_type(self) -> Type:
        """function-type ::= `(` types? `)` `->` (type | `(` types? `)`)"""
        # An explicit stack, because function types nest as deep as the text says.
        path: list[_OpenFunction] = []
        while True:
            if not path or self.peek() == "(":
                self.expect("(")
                path.append(_OpenFunction())
                if self.peek() != ")":
                    continue
            else:
                path[-1].types.append(self.parse_type())
            # Behind a type, or in a list without any: end as many function types as end here.
            while True:
                top = path[-1]
                if top.types and self.accept(","):
                    break
                self.expect(")")
                if not top.has_inputs:
                    top.has_inputs = True
                    top.inputs, top.types = top.types, []
                    self.expect("->")
                    if self.accept("("):
                        if self.peek() != ")":
                            break
                        continue
                    top.types.append(self.parse_type())
                path.pop()
                found = self._function_of(top.inputs, top.types)
                if not path:
                    return found
                path[-1].types.append(found)

    def _function_of(self, inputs: list[Type], results: list[Type]) -> Type:
        # A function type spells its parts out: nests and aliases of a short text can say types of boundless length.
        self.type_growth += sum([len(type.text) for type in inputs]) + sum([len(type.text) for type in results])
        if self.type_growth > MAXIMUM_GROWTH * len(self.source.text) + _SPELLING_ALLOWANCE:
            self.fail("function types are too long with their parts and aliases written out")
        return function_type(tuple(inputs), tuple(results))

    def parse_type_list_in_parentheses(self) -> list[Type]:
        self.expect("(")
        types: list[Type] = []
        if not self.accept(")"):
            types = self.parse_type_list()
            self.expect(")")
        return types

    def parse_type_list(self) -> list[Type]:
        """types ::= type (`,` type)*"""
        types = [self.parse_type()]
        while self.tokens[self.position] == ",":
            self.position += 1
            types.append(self.parse_type())
        return types

    def _parse_opaque_type(self) -> Type:
        """A type of another dialect: carried as it is written."""
        start = self.position
        self.position += 1
        if self.peek() == "<":
            self.skip_balanced()
        return opaque_type(self.written(start))

    def written(self, start: int) -> str:
        """The text from a token to the current one: comments dropped, one blank where there were any."""
        parts: list[str] = []
        end = self.source.token_offset(start)
        for position in range(start, self.position):
            offset = self.source.token_offset(position)
            if offset > end:
                parts.append(" ")
            parts.append(self.tokens[position])
            end = offset + len(self.tokens[position])
        return "".join(parts)

    def skip_balanced(self) -> None:
        """Step over a bracketed piece of text that is kept without looking inside."""
        closing: list[str] = []
        pairs = {"<": ">", "(": ")", "[": "]", "{": "}"}
        while True:
            token = self.tokens[self.position]
            if token == "":
                self.fail("unbalanced brackets")
            if token in pairs:
                closing.append(pairs[token])
            elif closing and token == closing[-1]:
                closing.pop()
            elif token in (">", ")", "]", "}"):
                self.fail(f"expected '{closing[-1]}'" if closing else "unbalanced brackets")
            self.position += 1
            if not closing:
                return


class TypeText:
    """The characters of one dialect type."""

    def __init__(self, cursor: TypeCursor, text: str, token: int) -> None:
        self.cursor: TypeCursor = cursor
        self.text: str = text
        self.token: int = token
        self.offset: int = 0
        self.version: Version = cursor.version
        self.has_draft_spelling: bool = False

    def fail(self, message: str, offset: int = -1) -> NoReturn:
        self.cursor.fail_inside(message, self.token, self.offset if offset < 0 else offset)

    def check(self, mistake: str | None, offset: int) -> None:
        if mistake is not None:
            self.fail(mistake, offset)

    # --- characters ---

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
            self.fail(f"expected '{literal}'")

    def word(self) -> str:
        self.skip_blanks()
        match = _WORD.match(self.text, self.offset)
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
        if self.peek_word() != key:
            self.fail(f"expected '{key}'")
        self.accept_key(key)

    def number(self) -> int | None:
        self.skip_blanks()
        match = _NUMBER.match(self.text, self.offset)
        if match is None:
            return None
        if len(match.group()) > 20:
            self.fail("integer value too large")
        self.offset = match.end()
        return int(match.group())

    # --- types ---

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
        if name == "partition_view":
            return self.parse_partition_view()
        if name == "strided_view":
            return self.parse_strided_view()
        if name == "gather_scatter_view":
            return self.parse_gather_scatter_view()
        if name == "token":
            return TOKEN
        if draft_spellings.is_string_type(self.cursor, name):
            self.has_draft_spelling = True
            return STRING
        found = builtin_type(name)
        if found is None:
            found = draft_spellings.element_type(self.cursor, name, self.token)
            self.has_draft_spelling = self.has_draft_spelling or found is not None
        if found is None:
            self.fail("expected valid keyword" if not name else f"unknown type: {name}", start)
        return found

    def parse_dimension(self, allow_dynamic: bool) -> int | None:
        """dimension ::= (integer | `?`) `x`; None when an element type comes next."""
        self.skip_blanks()
        start = self.offset
        if self.text.startswith("?", start):
            if not allow_dynamic:
                self.fail("expected static shape")
            self.offset += 1
            value = DYNAMIC
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
        while True:
            dimension = self.parse_dimension(allow_dynamic)
            if dimension is None:
                return tuple(shape)
            shape.append(dimension)

    def parse_tile(self) -> Type:
        """tile ::= `<` (integer `x`)* element `*`? `>`"""
        self.expect("<")
        start = self.offset
        shape = self.parse_shape(False)
        if self.peek_word() == "ptr" and not self.text.startswith("<", self.offset + 3):
            self.fail("expected '<'", self.offset + 3)
        element = draft_spellings.pointer_element(self, self.parse_type(), start)
        self.check(tile_mistake(shape, element, self.version), start)
        self.expect(">")
        return tile_type(shape, element)

    def parse_pointer(self) -> Type:
        """ptr ::= `<` element (`,` `#cuda_tile.ptr_attr`? `<` keyword `>`)? `>`"""
        self.expect("<")
        start = self.offset
        pointee = self.parse_type()
        self.check(pointer_mistake(pointee, self.version), start)
        attribute = self.parse_pointer_attribute() if self.accept(",") else None
        self.expect(">")
        return pointer_type(pointee, attribute)

    def parse_pointer_attribute(self) -> str:
        """The only pointer attribute the tools accept is `none` (docs/conflicts.md D1)."""
        self.skip_blanks()
        start = self.offset
        if self.accept("#"):
            name = self.word()
            if name not in ("cuda_tile.ptr_attr", "ptr_attr"):
                self.fail("expected '#cuda_tile.ptr_attr'", start)
        self.expect("<")
        keyword = self.word()
        if keyword != "none":
            self.fail("expected pointer attribute to be one of: none", start)
        self.expect(">")
        return keyword

    def parse_tensor_view(self) -> TensorViewType:
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
                self.fail("expected 'strides'")
            elif self.text[self.offset :].lstrip()[:1] not in ("<", "#"):
                self.fail("unexpected token after element type in 0-d tensor_view")
            else:
                attribute = self.parse_pointer_attribute()
        if shape and not has_strides:
            self.fail("expected 'strides'")
        self.check(tensor_view_mistake(element, shape, strides, self.version), start)
        self.expect(">")
        return tensor_view_type(element, shape, strides, attribute)

    def parse_strides(self) -> tuple[int, ...]:
        self.expect("[")
        values: list[int] = []
        if self.accept("]"):
            return ()
        while True:
            self.skip_blanks()
            start = self.offset
            if self.accept("?"):
                values.append(DYNAMIC)
            else:
                number = self.number()
                if number is None or number >= 1 << 63:
                    self.fail("expected either 64-bit integer or question mark")
                if number <= 0:
                    self.fail(f"expected strictly positive integer, got {number}", start)
                values.append(number)
            if not self.accept(","):
                break
        self.expect("]")
        return tuple(values)

    def parse_integers(self) -> tuple[int, ...]:
        """integers ::= `[` (integer (`,` integer)*)? `]`"""
        self.expect("[")
        values: list[int] = []
        if self.accept("]"):
            return ()
        while True:
            number = self.number()
            if number is None:
                self.fail("expected integer value")
            values.append(number)
            if not self.accept(","):
                break
        self.expect("]")
        return tuple(values)

    def parse_tile_shape(self) -> tuple[int, ...]:
        """`tile` `=` `(` integer (`x` integer)* `)`"""
        draft_spellings.refuse_view_without_tile_shape(self)
        self.expect_key("tile")
        self.expect("(")
        shape: list[int] = []
        if not self.accept(")"):
            while True:
                number = self.number()
                if number is None:
                    self.fail("expected integer value")
                self.check(tile_extent_mistake(len(shape), number) if number > 0 else None, self.offset)
                shape.append(number)
                if not self.accept("x"):
                    break
            self.expect(")")
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
            self.fail(
                f'invalid padding_value attribute specification. Got "{keyword}" but expect one of: '
                f"{', '.join(PADDING.values)}",
                start,
            )
        self.expect(",")
        return found

    def parse_view_tensor(self) -> TensorViewType:
        self.skip_blanks()
        start = self.offset
        found = self.parse_type()
        if not isinstance(found, TensorViewType):
            self.fail(f"expected 'tensor_view' type, but got '{found.text}'", start)
        return found

    def parse_dim_map(self) -> tuple[int, ...] | None:
        """(`,` `dim_map` `=` integers)?"""
        if not self.accept(","):
            return None
        self.expect_key("dim_map")
        return self.parse_integers()

    def parse_partition_view(self) -> Type:
        self.expect("<")
        start = self.offset
        tile_shape = self.parse_tile_shape()
        self.expect(",")
        padding = self.parse_padding()
        tensor = self.parse_view_tensor()
        dim_map = self.parse_dim_map()
        mapping = dim_map if dim_map is not None else tuple(range(len(tile_shape)))
        self.check(view_mistake(tile_shape, tensor, padding, mapping, self.version), start)
        self.expect(">")
        return partition_view_type(tile_shape, tensor, padding, mapping)

    def parse_strided_view(self) -> Type:
        self.expect("<")
        start = self.offset
        tile_shape = self.parse_tile_shape()
        self.expect(",")
        self.expect_key("traversal_strides")
        strides = self.parse_integers()
        self.expect(",")
        padding = self.parse_padding()
        tensor = self.parse_view_tensor()
        dim_map = self.parse_dim_map()
        mapping = dim_map if dim_map is not None else tuple(range(len(tile_shape)))
        self.check(view_mistake(tile_shape, tensor, padding, mapping, self.version), start)
        self.check(strided_view_mistake(len(tile_shape), strides), start)
        self.expect(">")
        return strided_view_type(tile_shape, tensor, strides, padding, mapping)

    def parse_gather_scatter_view(self) -> Type:
        self.expect("<")
        start = self.offset
        tile_shape = self.parse_tile_shape()
        self.expect(",")
        padding = self.parse_padding()
        tensor = self.parse_view_tensor()
        self.expect(",")
        self.expect_key("sparse_dim")
        sparse_dim = self.number()
        if sparse_dim is None:
            self.fail("expected integer value")
        self.check(view_mistake(tile_shape, tensor, padding, None, self.version), start)
        self.check(gather_view_mistake(tensor, sparse_dim), start)
        self.expect(">")
        return gather_scatter_view_type(tile_shape, tensor, sparse_dim, padding)

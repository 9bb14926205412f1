"""Reading attributes: those of MLIR, and the dialect's own (enumerations, what an `assume` promises, hints)."""

from __future__ import annotations

from tileir.dialect import attributes as cuda_tile
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute, EnumAttribute, EnumKind
from tileir.ir.diagnostics import Code, Invalid
from tileir.ir.types import F64, I1, I64, FloatType, Type
from tileir.text.dense import DenseReader, parse_dense_elements
from tileir.text.types import TypeCursor


class OpenAttribute:
    """An attribute being read, with parts still to come.

    Attributes may nest deeply, so those that are open are on an explicit stack (`finish_parts`).
    """

    def begin_part(self, cursor: AttributeCursor, path: list[OpenAttribute]) -> Attribute | None:
        """Read the next part if it has none itself; otherwise push it onto the path, and return None."""
        return cursor.begin_attribute(path)

    def take(self, cursor: AttributeCursor, part: Attribute) -> Attribute | None:
        """Add a part and read on after it; the attribute if that was the last one."""
        raise TypeError(type(self).__name__)


class _OpenArray(OpenAttribute):
    def __init__(self) -> None:
        self.elements: list[Attribute] = []

    def take(self, cursor: AttributeCursor, part: Attribute) -> Attribute | None:
        self.elements.append(part)
        if cursor.accept(","):
            return None
        cursor.expect("]")
        return builtin.array_attribute(tuple(self.elements))


class _OpenDictionary(OpenAttribute):
    def __init__(self) -> None:
        self.entries: dict[str, Attribute] = {}
        self.key: str = ""

    def next_entry(self, cursor: AttributeCursor) -> Attribute | None:
        """entry ::= (bare-id | string) (`=` attribute)?; names alone are read over, None where a value follows."""
        while True:
            self.check_name(cursor)
            self.key = cursor.parse_entry_name(self.entries)
            if cursor.accept("="):
                return None
            self.entries[self.key] = builtin.UNIT
            if not cursor.accept(","):
                return self.end(cursor)

    def check_name(self, cursor: AttributeCursor) -> None:
        """Refuse what is no name, where that is worded in another way than for dictionaries."""

    def take(self, cursor: AttributeCursor, part: Attribute) -> Attribute | None:
        self.entries[self.key] = part
        return self.next_entry(cursor) if cursor.accept(",") else self.end(cursor)

    def end(self, cursor: AttributeCursor) -> Attribute:
        cursor.expect("}")
        return builtin.dictionary_attribute(self.entries)


class _OpenHints(_OpenDictionary):
    """hints ::= `<` (entry (`,` entry)*)? `>`; the draft puts braces inside (docs/reference/conflicts.md A7)."""

    def __init__(self, start: int, is_braced: bool) -> None:
        super().__init__()
        self.start: int = start
        self.is_braced: bool = is_braced

    def check_name(self, cursor: AttributeCursor) -> None:
        if not self.is_braced and not cursor.is_identifier() and cursor.peek()[:1] != '"':
            cursor.fail("expected valid keyword or string", wants_name=True)

    def end(self, cursor: AttributeCursor) -> Attribute:
        if self.is_braced:
            cursor.expect("}")
        cursor.expect(">")
        dictionary = builtin.dictionary_attribute(self.entries)
        error = cuda_tile.optimization_hints_error(dictionary)
        if error is not None:
            cursor.fail(error, self.start, wants_name=True)
        return cuda_tile.optimization_hints(dictionary)


class AttributeCursor(TypeCursor):
    def parse_attribute(self) -> Attribute:
        """attribute ::= number | string | symbol | array | dictionary | type | `#`-attribute | `loc` | `dense` ..."""
        path: list[OpenAttribute] = []
        return self.finish_parts(self.begin_attribute(path), path)

    def finish_parts(self, found: Attribute | None, path: list[OpenAttribute]) -> Attribute:
        """The attribute that was begun: found already, or what began the path, once all parts are read."""
        while found is None:
            found = path[-1].begin_part(self, path)
            # Add each attribute to the one that it is part of, which may end with it.
            while found is not None and path:
                found = path[-1].take(self, found)
                if found is not None:
                    path.pop()
        return found

    def begin_attribute(self, path: list[OpenAttribute]) -> Attribute | None:
        """Read an attribute without parts; one with parts is pushed onto the path when its first part is next."""
        token = self.tokens[self.position]
        first = token[:1]
        if first == "#":
            return self._begin_hash_attribute(path)
        if first == '"':
            return builtin.string_attribute(self.parse_string())
        if first.isdigit() or first == "-":
            return self._parse_number_attribute()
        if first == "@":
            return self.parse_symbol_reference()
        if first == "[" or first == "{":
            return self._begin_nested(first, path)
        if token in ("true", "false"):
            self.position += 1
            return builtin.bool_attribute(token == "true")
        if token == "unit":
            self.position += 1
            return builtin.UNIT
        if token in ("dense", "array") and self.tokens[self.position + 1] == "<":
            self.position += 1
            return parse_dense_elements(self) if token == "dense" else self.parse_dense_array()
        if token == "loc" and self.tokens[self.position + 1] == "(":
            return self.begin_location(path)
        if token == "":
            self.fail("expected attribute value")
        if first.isalpha() or first in "_!(":
            return self._parse_type_attribute()
        self.fail("expected attribute value")

    def begin_location(self, path: list[OpenAttribute]) -> Attribute | None:
        """Locations are read one layer further up (`text/locations.py`)."""
        self.fail("expected attribute value")

    def begin_debug_attribute(self, name: str, path: list[OpenAttribute]) -> Attribute | None:
        self.fail(f"unknown attribute `{name}` in dialect `cuda_tile`", self.position - 1)

    def _parse_type_attribute(self) -> Attribute:
        token = self.tokens[self.position]
        if token in ("affine_map", "affine_set", "dense_resource", "sparse", "opaque"):
            return self._parse_opaque()
        return builtin.type_attribute(self.parse_type())

    def parse_symbol_reference(self) -> Attribute:
        """symbol-reference ::= symbol-name (`::` symbol-name)*"""
        path = [self.parse_symbol_name()]
        while self.accept("::"):
            path.append(self.parse_symbol_name())
        return builtin.symbol_attribute(*path)

    def _begin_nested(self, opening: str, path: list[OpenAttribute]) -> Attribute | None:
        """array ::= `[` (attribute (`,` attribute)*)? `]`, dictionary ::= `{` (entry (`,` entry)*)? `}`"""
        self.position += 1
        if opening == "[":
            if self.accept("]"):
                return builtin.array_attribute(())
            path.append(_OpenArray())
            return None
        if self.accept("}"):
            return builtin.dictionary_attribute({})
        return self.begin_entries(_OpenDictionary(), path)

    def begin_entries(self, opened: _OpenDictionary, path: list[OpenAttribute]) -> Attribute | None:
        found = opened.next_entry(self)
        if found is None:
            path.append(opened)
        return found

    def parse_dictionary_entries(self) -> dict[str, Attribute]:
        """A dictionary that is no attribute: what an operation carries, or hints."""
        entries: dict[str, Attribute] = {}

        def parse_entry() -> None:
            key = self.parse_entry_name(entries)
            entries[key] = self.parse_attribute() if self.accept("=") else builtin.UNIT

        self.parse_items("{", "}", parse_entry)
        return entries

    def parse_entry_name(self, entries: dict[str, Attribute]) -> str:
        start = self.position
        token = self.tokens[start]
        if token[:1] == '"':
            key = self.parse_string()
        elif self.is_identifier():
            self.position += 1
            key = token
        else:
            self.fail("expected attribute name")
        if not key:
            self.fail("expected valid attribute name", start)
        if key in entries:
            self.fail(f"duplicate key '{key}' in dictionary attribute", start)
        return key

    def _parse_number_attribute(self) -> Attribute:
        """number ::= `-`? (integer | float) (`:` type)?"""
        start = self.position
        negative = self.accept("-")
        token = self.tokens[self.position]
        if not token[:1].isdigit():
            self.fail("expected constant integer or floating point value", start)
        self.position += 1
        is_float = "." in token or ("e" in token.lower() and token[:2] != "0x")
        type: Type = F64 if is_float else I64
        if self.accept(":"):
            type = self.parse_type()
        if isinstance(type, FloatType):
            return builtin.float_attribute(type, self.float_bits(type, negative, token, start))
        value = None if is_float else self.integer_token(token)
        if value is None:
            self.fail("floating point value not valid for specified type", start)
        return builtin.integer_attribute(type, self.checked_integer(type, -value if negative else value, start))

    def _begin_hash_attribute(self, path: list[OpenAttribute]) -> Attribute | None:
        """`#` (alias | `cuda_tile.` name body | `cute.` name body | other dialect)"""
        token = self.tokens[self.position]
        name = token[1:]
        if name.startswith("cuda_tile."):
            self.position += 1
            return self._begin_dialect_attribute(name[len("cuda_tile.") :], path)
        if name.startswith("cute."):
            return self._parse_cute(name[len("cute.") :])
        if "." in name:
            return self._parse_opaque()
        self.position += 1
        return self.alias(token, self.position - 1)

    def _begin_dialect_attribute(self, name: str, path: list[OpenAttribute]) -> Attribute | None:
        """The body of `#cuda_tile.name`."""
        start = self.position - 1
        predicate = self.parse_predicate_body(name)
        if predicate is cuda_tile.SAME_ELEMENTS_EVERYWHERE:
            self.fail("a splat 'same_elements' needs the tile of the 'assume' it stands in", start)
        if predicate is not None:
            return predicate
        kind = ENUM_KINDS.get(name)
        if kind is not None:
            self.expect("<")
            found = self.parse_optional_enum(kind)
            if found is None:
                keyword = self.parse_keyword()
                choices = ", ".join(kind.keywords(self.version))
                code = Code("wrong-keyword", got=keyword, choices=choices)
                self.fail(f"expected one of: {choices}, but got: {keyword}", code=code)
            self.expect(">")
            return found
        if name == "optimization_hints":
            return self._begin_hints(path)
        return self.begin_debug_attribute(name, path)

    def parse_optional_enum(self, kind: EnumKind, is_string_allowed: bool = False) -> EnumAttribute | None:
        """A keyword that the version has; a draft spelling gets a remark (docs/reference/conflicts.md B)."""
        start = self.position
        keyword = self.tokens[start]
        if is_string_allowed and keyword[:1] == '"':
            keyword = self.string_value(keyword, start)
        found = kind.cases.get(keyword)
        if found is None:
            alias = kind.aliases.get(keyword)
            if alias is None or not self.draft_spellings:
                return None
            self.remark(f"'{keyword}' is read as '{alias}'", start)
            found = kind.cases[alias]
        else:
            is_draft = kind.values[keyword] >= builtin.FIRST_DRAFT_ONLY_VALUE
            if kind.since.get(keyword, self.version) > self.version or (is_draft and not self.draft_spellings):
                return None
        self.position = start + 1
        return found

    def parse_predicate_body(self, name: str) -> Attribute | None:
        """What an `assume` may promise; None when `name` is no predicate."""
        if name not in ("div_by", "bounded", "same_elements"):
            return None
        self.expect("<")
        found: Attribute
        if name == "div_by":
            start = self.position
            divisor = self.parse_integer()
            if not 0 <= divisor < 1 << 64:
                self.fail("expected unsigned 64-bit integer for divisor", start)
            every: int | None = None
            along: int | None = None
            if self.accept(","):
                if self.accept("every"):
                    every = self.parse_integer()
                if self.accept("along"):
                    along = self.parse_integer()
                if every is None and along is None:
                    self.fail("expected 'every'", code=Code("expected-token", token="every"))
            found = cuda_tile.div_by(divisor, every, along)
        elif name == "bounded":
            lower = self._parse_bound()
            self.expect(",")
            upper = self._parse_bound()
            found = cuda_tile.bounded(lower, upper, self._parse_strictness())
        elif self._accept_splat():
            found = cuda_tile.SAME_ELEMENTS_EVERYWHERE
        else:
            found = cuda_tile.same_elements(tuple(self.parse_integer_list()))
        self.expect(">")
        return found

    def _parse_strictness(self) -> bool:
        """`bounded<0, 8, strict>`, which only the drafts have (docs/reference/conflicts.md C2)."""
        if not self.draft_spellings or not self.accept(","):
            return False
        if not self.accept("strict"):
            self.fail("expected 'strict'", code=Code("expected-token", token="strict"))
        return True

    def _accept_splat(self) -> bool:
        """`dense<1> : tile<4xi32>` in `same_elements<..>`: only that it is a splat counts (C3)."""
        if not self.draft_spellings or not self.accept("dense"):
            return False
        self.expect("<")
        reader = DenseReader(self)
        reader.read()
        if not reader.elements or not reader.is_uniform:
            self.fail("expected 'same_elements' to hold a splat: all its elements must be equal", reader.start)
        self.expect(">")
        if self.accept(":"):
            self.parse_type()
        return True

    def _parse_bound(self) -> int | None:
        if self.accept("?"):
            return None
        start = self.position
        value = self.parse_integer()
        if not -(1 << 63) <= value < 1 << 63:
            self.fail("integer value too large", start)
        return value

    def parse_hints(self) -> Attribute:
        """The hints of an operation, without the name of the attribute."""
        path: list[OpenAttribute] = []
        return self.finish_parts(self._begin_hints(path), path)

    def _begin_hints(self, path: list[OpenAttribute]) -> Attribute | None:
        start = self.position
        self.expect("<")
        # The draft writes braces: `optimization_hints=<{sm_90 = {}}>` (docs/reference/conflicts.md A7).
        is_braced = self.draft_spellings and self.peek() == "{"
        if is_braced:
            self.remark("the braces around the hints are left out", self.position)
            self.position += 1
        opened = _OpenHints(start, is_braced)
        if self.peek() == ("}" if is_braced else ">"):
            return opened.end(self)
        return self.begin_entries(opened, path)

    def _parse_cute(self, kind: str) -> Attribute:
        """`#cute.layout<(1@0, 16@1)>` (the printer draft, "cuTe Layout Attributes")."""
        start = self.position
        self.position += 1
        if self.peek() != "<":
            self.fail("expected '<'", code=Code("expected-token", token="<"))
        inner = self.source.token_offset(self.position) + 1
        self.skip_balanced()
        end = self.source.token_offset(self.position - 1)
        # Imported here: hardly any program has one.
        from tileir.dialect.attributes import parse_cute

        try:
            return parse_cute(kind, self.source.text[inner:end])
        except Invalid as failure:
            self.fail(failure.message, start)

    def _parse_opaque(self) -> Attribute:
        """An attribute of another dialect, kept as it is written."""
        start = self.position
        self.position += 1
        while self.peek() in ("<", "("):
            self.skip_balanced()
        return builtin.opaque_attribute(self.written(start))

    def parse_dense_array(self) -> Attribute:
        """array ::= `array` `<` type (`:` value (`,` value)*)? `>`, after the word."""
        self.expect("<")
        element = self.parse_type()
        values: list[int] = []
        if self.accept(":"):
            while not values or self.accept(","):
                token = self.tokens[self.position]
                if element is I1 and token in ("true", "false"):
                    self.position += 1
                    values.append(1 if token == "true" else 0)
                else:
                    values.append(self.parse_checked_integer(element))
        self.expect(">")
        return builtin.dense_array_attribute(element, tuple(values))

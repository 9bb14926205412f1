"""The syntax of views: making them, querying their shape, loading, storing and reducing through them."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect import types as cuda_tile
from tileir.dialect.constraints import TENSOR_VIEW
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING, MEMORY_SCOPE, enum_kind_of
from tileir.ir.attributes import EnumAttribute, EnumKind
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeDeclaration, OperationDeclaration
from tileir.ir.diagnostics import Code
from tileir.ir.traits import ATOMIC
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.syntax import draft_spellings
from tileir.text.syntax.attribute_directives import read_bool_array
from tileir.text.syntax.directive import (
    Custom,
    CustomClass,
    Doubtful,
    expect_word,
    fail_custom,
    parse_attributes,
    parse_hints,
)

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


# Sizes in brackets: the sizes, the tokens of those that are values, and the tokens of the bracket and of all sizes.
Sizes = tuple[list[int], list[int], list[int]]


class TensorView(Custom):
    """make_tensor_view ::= value `,` `shape` `=` sizes `,` `strides` `=` sizes attr-dict `:` (types `->`)? type"""

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_operands(state, "base", parser.parse_value_token())
        parser.expect(",")
        shape = self._parse_sizes(parser, state, "shape")
        strides: Sizes = ([], [], shape[2])
        if shape[0] or parser.peek() == ",":
            parser.expect(",")
            strides = self._parse_sizes(parser, state, "strides")
        dynamic = [*shape[1], *strides[1]]
        parse_attributes(parser, state)
        parser.expect(":")
        result = parser.parse_type()
        given: list[Type] = []
        comma = parser.position
        if parser.peek() in (",", "->"):
            given = [result]
            while parser.accept(","):
                given.append(parser.parse_type())
            if len(given) > 1 and parser.peek() != "->" and not parser.recover:
                # NVIDIA's parser knows at most one type before the arrow, and none where there is no dynamic size.
                if dynamic:
                    parser.fail("expected '->'", comma, Code("expected-token", token="->"))
                parser.fail("expected operation name in quotes", comma)
            parser.expect("->")
            result = parser.parse_type()
        if not isinstance(result, cuda_tile.TensorViewType):
            # NVIDIA's parser reports this after the type.
            token = parser.position - 1 if parser.recover else parser.position
            fail_custom(parser, state, f"expected 'tensor_view' type, but got '{result.text}'", token)
        self._check(parser, state, "shape", shape, result.shape)
        self._check(parser, state, "stride", strides, result.strides)
        size_types = self._set_base(parser, state, given, result, dynamic)
        for name, sizes in (("dynamicShape", shape), ("dynamicStrides", strides)):
            self.set_operands(state, name, sizes[1])
            self.set_types(state, name, size_types * len(sizes[1]))
        self.set_types(state, "result", [result])

    def _parse_sizes(self, parser: Parser, state: ParseState, word: str) -> Sizes:
        """sizes ::= `[` (integer | value) (`,` ...)* `]`"""
        expect_word(parser, state, word)
        parser.expect("=")
        tokens = [parser.position]
        sizes: list[int] = []
        values: list[int] = []
        parser.expect("[")
        while not (len(tokens) == 1 and parser.peek() == "]"):
            position = parser.position
            tokens.append(position)
            token = parser.tokens[position]
            if token[:1] == "%":
                sizes.append(cuda_tile.DYNAMIC)
                values.append(position)
                parser.position += 1
            elif token[:1].isdigit() or token == "-":
                sizes.append(parser.parse_integer())
            else:
                fail_custom(parser, state, "expected either integer or SSA value")
            if not parser.accept(","):
                break
        parser.expect("]")
        return sizes, values, tokens

    def _check(self, parser: Parser, state: ParseState, word: str, sizes: Sizes, expected: tuple[int, ...]) -> None:
        found, _, tokens = sizes
        if len(found) != len(expected):
            counts = f"{len(expected)} elements due to tensor_view type, but {len(found)} were provided"
            fail_custom(parser, state, f"expected {word} declaration to contain {counts}", tokens[0])
        for index, (have, want) in enumerate(zip(found, expected, strict=True)):
            if have != want:
                values = f"(expected {_size(want)}, got {_size(have)})"
                message = f"input {word} dimension {index} does not match tensor_view type {values}"
                fail_custom(parser, state, message, tokens[index + 1])

    def _set_base(
        self, parser: Parser, state: ParseState, given: list[Type], result: cuda_tile.TensorViewType, dynamic: list[int]
    ) -> list[Type]:
        """Set the type of the base; return that of the dynamic sizes, if there are any."""
        base: Type = cuda_tile.scalar_tile(cuda_tile.pointer_type(result.element, result.attribute))
        # Of a lone type that is shown with dynamic sizes, it is theirs.  Of a base that is not shown, the value's own
        # type is taken: it may have a pointer attribute.
        tokens = state.operands[self.declaration.operand_number("base")]
        shown: Type | None = given[0] if given and (len(given) > 1 or not dynamic) else None
        own = parser.value_type(tokens[0]) if tokens and not given else shown
        if isinstance(own, cuda_tile.TileType) and isinstance(own.element, cuda_tile.PointerType):
            base = own
            given = given[1:]
        self.set_types(state, "base", [base])
        if len(given) > 1:
            fail_custom(parser, state, "expected one type for the dynamic sizes")
        return [draft_spellings.size_type(parser, dynamic[0])] if dynamic and not given else given

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        result = operation.results[0].type
        base = operation.operands[0]
        out.append(f" {printer.names[base]}")
        shape = operation.dynamic_shape
        strides = operation.dynamic_strides
        if isinstance(result, cuda_tile.TensorViewType):
            out.append(f", shape = [{_sizes(printer, result.shape, shape)}]")
            out.append(f", strides = [{_sizes(printer, result.strides, strides)}]")
        printer.attribute_dictionary(operation)
        types: list[str] = []
        element = base.type.element if isinstance(base.type, cuda_tile.TileType) else None
        if isinstance(element, cuda_tile.PointerType) and element.attribute is not None:
            types.append(base.type.spelling)
        if shape or strides:
            types.append((shape or strides)[0].type.spelling)
        arrow = f"{', '.join(types)} -> " if types else ""
        out.append(f" : {arrow}{result.spelling}")


def _size(value: int) -> str:
    return "dynamic" if value == cuda_tile.DYNAMIC else str(value)


def _sizes(printer: TextOutput, static: tuple[int, ...], values: list[Value]) -> str:
    remaining = iter(values)
    parts: list[str] = []
    for size in static:
        if size != cuda_tile.DYNAMIC:
            parts.append(str(size))
        else:
            value = next(remaining, None)
            parts.append(printer.names[value] if value is not None else "?")
    return ", ".join(parts)


class MakeView(Custom):
    """`:` view-type; the operand's type is the tensor view inside.

    What `make_partition_view` makes is called `partition_view`, and so on.
    """

    def parse(self, parser: Parser, state: ParseState) -> None:
        parser.expect(":")
        start = parser.position
        type = parser.parse_type()
        if not isinstance(type, cuda_tile.TileViewType) or not self.declaration.results[0].constraint.accepts(type):
            word = self.declaration.mnemonic.removeprefix("make_")
            fail_custom(parser, state, f"expected '{word}' type, but got '{type.text}'", start)
        self.set_types(state, "result", [type])
        self.set_types(state, "tensor_view", [type.tensor])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(f" : {operation.results[0].type.spelling}")


class ShapeQuery(Doubtful):
    """shape-query ::= value attr-dict `:` type `->` type; one result per dimension, all of that type"""

    def is_ambiguous(self, operation: Operation) -> bool:
        """In bytecode each result may have its own type, and a query of rank 0 has no result to take it from."""
        return not operation.results or any(r.type is not operation.results[0].type for r in operation.results)

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_operands(state, "src", parser.parse_value_token())
        parse_attributes(parser, state)
        parser.expect(":")
        start = parser.position
        source = parser.parse_type()
        if self.declaration.operands[0].constraint is TENSOR_VIEW:
            if not isinstance(source, cuda_tile.TensorViewType):
                fail_custom(parser, state, f"expected tensor_view, got '{source.text}'", start)
            rank = source.rank
        else:
            if not isinstance(source, cuda_tile.TileViewType):
                fail_custom(parser, state, f"expected tile view, got '{source.text}'", start)
            rank = source.index_rank
        parser.expect("->")
        result = parser.parse_type()
        self.set_types(state, "src", [source])
        self.set_types(state, "result", [result] * rank)

    def print(self, printer: TextOutput, operation: Operation) -> None:
        source = operation.operands[0]
        printer.out.append(f" {printer.names[source]}")
        printer.attribute_dictionary(operation)
        result = operation.results[0].type.spelling if operation.results else ""
        printer.out.append(f" : {source.type.spelling} -> {result}")


class ViewAccess(Custom):
    """load_view_tko, store_view_tko, atomic_red_view_tko, and the same of several devices (multimem).

    load   ::= ordering scope? view `[` indices `]` (`,` mode)? clauses `:` view-type (`,` type)* `->` type `,` type
    store  ::= ordering scope? value `,` view `[` indices `]` clauses `:` type `,` view-type (`,` type)* `->` type
    reduce ::= ordering scope? view `[` indices `]` `,` mode `,` value clauses `:` type `,` view-type ...  `->` type
    """

    def __init__(self, declaration: OperationDeclaration, arguments: str) -> None:
        super().__init__(declaration, arguments)
        self.is_load: bool = declaration.writes is None
        self.is_reduction: bool = declaration.has_trait(ATOMIC)
        self.is_store: bool = not self.is_load and not self.is_reduction
        named = {each.name for each in declaration.operands}
        # The name of the tile operand that is stored or reduced.
        self.moved: str = "value" if "value" in named else "tile"
        # The attribute for how values are combined.
        combining = [each for each in declaration.attributes if each.name in ("mode", "reduction")]
        self.combining: AttributeDeclaration | None = combining[0] if combining else None

    def parse(self, parser: Parser, state: ParseState) -> None:
        self._parse_ordering(parser, state)
        first = parser.parse_value_token()
        view = first
        is_view_first = self.is_store and draft_spellings.is_view_first(parser)
        if self.is_store and not is_view_first:
            self.set_operands(state, "tile", first)
            parser.expect(",")
            view = parser.parse_value_token()
        self.set_operands(state, "view", view)
        indices = parser.parse_enclosed_values("[", "]")
        self.set_operands(state, "index", indices)
        if self.combining is not None:
            self._parse_mode(parser, state, self.combining)
        elif is_view_first:
            self.set_operands(state, "tile", draft_spellings.end_view_first(parser, view[0]))
        self._parse_clauses(parser, state)
        self._parse_types(parser, state, indices, is_view_first)

    def _parse_ordering(self, parser: Parser, state: ParseState) -> None:
        start = parser.position
        ordering = self._parse_choice(parser, state, MEMORY_ORDERING, "memory_ordering_semantics")
        state.set_attribute("memory_ordering_semantics", ordering)
        if parser.is_identifier():
            word = parser.position
            scope = self._parse_choice(parser, state, MEMORY_SCOPE, "memory_scope")
            if ordering.keyword == "weak" and not self.is_reduction:
                what = f'then provides "{parser.tokens[word]}" scope, expected no memory scope.'
                message = f"operation specifies weak memory ordering semantics, but {what}"
                fail_custom(parser, state, message, start, Code("unwanted-scope"))
            state.set_attribute("memory_scope", scope)

    def _parse_choice(self, parser: Parser, state: ParseState, kind: EnumKind, name: str) -> EnumAttribute:
        token = parser.position
        found = parser.parse_optional_enum(kind)
        if found is None:
            keyword = parser.parse_keyword()
            choices = ", ".join(kind.keywords(parser.version))
            message = f'invalid {name} attribute specification. Got "{keyword}" but expect one of: {choices}'
            if self.is_reduction:
                message = f"invalid {name}: '{keyword}'; expected one of: {choices}"
            fail_custom(parser, state, message, token, Code("wrong-keyword", got=keyword, choices=choices))
        return found

    def _parse_mode(self, parser: Parser, state: ParseState, combining: AttributeDeclaration) -> None:
        comma = parser.position
        parser.expect(",")
        kind = enum_kind_of(combining) or ATOMIC_MODE
        found = parser.parse_optional_enum(kind)
        if found is None:
            keyword = parser.parse_keyword()
            choices = ", ".join([k for k in kind.values if k != "xchg"])
            code = Code("wrong-keyword", got=keyword, choices=choices)
            noun = "atomic RMW mode" if kind is ATOMIC_MODE else "multimem reduction"
            fail_custom(parser, state, f"unknown {noun}: '{keyword}'; expected one of: {choices}", comma, code)
        state.set_attribute(combining.name, found)
        if self.is_reduction:
            parser.expect(",")
            self.set_operands(state, self.moved, parser.parse_value_token())

    def _parse_clauses(self, parser: Parser, state: ParseState) -> None:
        """(`token` `=` value)? (`optimization_hints` `=` hints)? (`inbounds` `=` bools)? (`attributes` dictionary)?"""
        self.parse_token(parser, state)
        parse_hints(parser, state)
        if "inbounds" in self.declaration.inherent and parser.accept("inbounds"):
            parser.expect("=")
            state.set_attribute("inbounds", read_bool_array(parser))
        parse_attributes(parser, state, "attributes")

    def _parse_types(self, parser: Parser, state: ParseState, indices: list[int], is_view_first: bool) -> None:
        parser.expect(":")
        types = parser.parse_type_list()
        first = 1 if self.is_load else 2
        if len(types) < first:
            parser.expect(",")
        if is_view_first:
            types[0], types[1] = types[1], types[0]
        if not self.is_load:
            self.set_types(state, self.moved, [types[0]])
        self.set_types(state, "view", [types[first - 1]])
        self.set_types(state, "index", self._index_types(parser, state, types[first:], indices))
        parser.expect("->")
        if self.is_load:
            self.set_types(state, "tile", [parser.parse_type()])
            parser.expect(",")
        start = parser.position
        token = parser.parse_type()
        self.set_types(state, "result_token", [token])
        if "result_token" not in self.slots and token is not cuda_tile.TOKEN:
            parser.fail("expected token type", start)

    def _index_types(self, parser: Parser, state: ParseState, given: list[Type], indices: list[int]) -> list[Type]:
        """One type stands for all; none is the draft's form (docs/reference/conflicts.md A3)."""
        if len(given) == len(indices):
            return given
        if len(given) == 1:
            return given * len(indices)
        if not given:
            known = draft_spellings.index_types(parser, indices)
            if known is None:
                fail_custom(parser, state, "index types must be specified when indices are present")
            return known
        fail_custom(parser, state, f"expected {len(indices)} index types, got {len(given)}")

    def print(self, printer: TextOutput, operation: Operation) -> None:
        out = printer.out
        names = printer.names
        attributes = operation.attributes
        out.append(f" {attributes['memory_ordering_semantics'].bare_text}")
        scope = attributes.get("memory_scope")
        if scope is not None:
            out.append(f" {scope.bare_text}")
        view = operation.view
        indices = operation.index
        access = f" {names[view]}[{printer.value_list(indices)}]"
        moved = None if self.is_load else operation.operand_group(self.moved)[0]
        if self.combining is not None:
            access = f"{access}, {attributes[self.combining.name].bare_text}"
        if moved is not None:
            access = f" {names[moved]},{access}" if self.is_store else f"{access}, {names[moved]}"
        out.append(access)
        token = operation.token
        if token is not None:
            out.append(f" token = {names[token]}")
        hints = attributes.get("optimization_hints")
        if hints is not None:
            out.append(f" optimization_hints = {printer.hints(hints)}")
        inbounds = attributes.get("inbounds")
        # A promise about no dimension is left out by NVIDIA's printer.
        if inbounds is not None and (printer.lossless or "true" in inbounds.bare_text):
            out.append(f" inbounds = {inbounds.bare_text}")
        printer.attribute_dictionary(operation, frozenset(self.declaration.inherent), " attributes")
        types = [] if moved is None else [moved.type.spelling]
        types.append(view.type.spelling)
        index_types = [value.type.spelling for value in indices]
        types.extend(index_types[:1] if len(set(index_types)) <= 1 else index_types)
        out.append(f" : {', '.join(types)} -> {printer.type_list(operation.results)}")


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "tensor-view": TensorView,
    "make-view": MakeView,
    "shape-query": ShapeQuery,
    "view-access": ViewAccess,
}

"""The syntax of views: making them, asking for their shape, loading and storing through them."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.dialect.constraints import NUMBER
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING, MEMORY_SCOPE
from tileir.dialect.ops import (
    ATOMIC_RED_VIEW_TKO,
    GET_TENSOR_SHAPE,
    LOAD_VIEW_TKO,
    MAKE_GATHER_SCATTER_VIEW,
    MAKE_PARTITION_VIEW,
    MAKE_STRIDED_VIEW,
    STORE_VIEW_TKO,
)
from tileir.dialect.types import (
    DYNAMIC,
    TOKEN,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    pointer_type,
    scalar_tile,
)
from tileir.ir.attributes import EnumAttribute, EnumKind
from tileir.ir.core import Operation, Value
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1, Type
from tileir.text import draft_spellings
from tileir.text.directive import Custom, Doubtful, enum_case, fail_custom, read_bool_array
from tileir.text.state import ParseState
from tileir.text.structure_syntax import parse_attributes_with_keyword, print_attributes_with_keyword

if TYPE_CHECKING:
    from tileir.text.parser import Parser
    from tileir.text.printer import Printer


class TensorView(Custom):
    """make_tensor_view ::= value `,` `shape` `=` sizes `,` `strides` `=` sizes attr-dict `:` (types `->`)? type"""

    __slots__ = ()

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_operands(state, "base", parser.parse_value_token())
        parser.expect(",")
        shape, shape_values, shape_places = self._parse_sizes(parser, state, "shape")
        strides: list[int] = []
        stride_values: list[int] = []
        stride_places = shape_places
        if parser.accept(","):
            strides, stride_values, stride_places = self._parse_sizes(parser, state, "strides")
        elif shape:
            parser.expect(",")
        if parser.peek() == "{":
            for name, value in parser.parse_dictionary_entries().items():
                state.set_attribute(name, value)
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
                dynamic_sizes = shape_values or stride_values
                parser.fail("expected '->'" if dynamic_sizes else "expected operation name in quotes", comma)
            parser.expect("->")
            result = parser.parse_type()
        if not isinstance(result, TensorViewType):
            # NVIDIA's parser says so behind the type.
            place = parser.position - 1 if parser.recover else parser.position
            fail_custom(parser, state, f"expected 'tensor_view' type, but got '{result.text}'", place)
        assert isinstance(result, TensorViewType)
        self._check(parser, state, "shape", shape, result.shape, shape_places)
        self._check(parser, state, "stride", strides, result.strides, stride_places)
        self._set_types(parser, state, given, result, [*shape_values, *stride_values])
        self.set_operands(state, "dynamicShape", shape_values)
        self.set_operands(state, "dynamicStrides", stride_values)
        dynamic = state.types[self.slots["dynamicShape"]]
        one = dynamic[0] if dynamic else None
        for name, values in (("dynamicShape", shape_values), ("dynamicStrides", stride_values)):
            self.set_types(state, name, [one] * len(values) if one is not None else [])
        self.set_types(state, "result", [result])

    def _parse_sizes(self, parser: Parser, state: ParseState, word: str) -> tuple[list[int], list[int], list[int]]:
        """sizes ::= `[` (integer | value) (`,` ...)* `]`

        The static sizes, the token numbers of the others, and those of all, that of the bracket first.
        """
        if not parser.accept(word):
            fail_custom(parser, state, f"expected '{word}'")
        parser.expect("=")
        places = [parser.position]
        parser.expect("[")
        sizes: list[int] = []
        values: list[int] = []
        if not parser.accept("]"):
            while True:
                places.append(parser.position)
                if parser.peek()[:1] == "%":
                    sizes.append(DYNAMIC)
                    values.append(parser.position)
                    parser.position += 1
                elif parser.peek()[:1].isdigit() or parser.peek() == "-":
                    sizes.append(parser.parse_integer())
                else:
                    fail_custom(parser, state, "expected either integer or SSA value")
                if not parser.accept(","):
                    break
            parser.expect("]")
        return sizes, values, places

    def _check(
        self, parser: Parser, state: ParseState, word: str, found: list[int], wanted: tuple[int, ...], places: list[int]
    ) -> None:
        if len(found) != len(wanted):
            fail_custom(
                parser,
                state,
                f"expected {word} declaration to contain {len(wanted)} elements due to tensor_view type, "
                f"but {len(found)} were provided",
                places[0],
            )
        for index, (have, want) in enumerate(zip(found, wanted, strict=True)):
            if have != want:
                fail_custom(
                    parser,
                    state,
                    f"input {word} dimension {index} does not match tensor_view type (expected {_size(want)}, "
                    f"got {_size(have)})",
                    places[index + 1],
                )

    def _set_types(
        self, parser: Parser, state: ParseState, given: list[Type], result: TensorViewType, values: list[int]
    ) -> None:
        base: Type = scalar_tile(pointer_type(result.element, result.attribute))
        rest = given
        # With values in the lists, a lone type is theirs.
        shows_base = len(given) > 1 or not values
        if given and shows_base and isinstance(given[0], TileType) and isinstance(given[0].element, PointerType):
            base = given[0]
            rest = given[1:]
        if base is not self._value_type(parser, state) and not given:
            # The pointer attribute is not printed when it is absent; take the value's own type then.
            known = self._value_type(parser, state)
            if isinstance(known, TileType) and isinstance(known.element, PointerType):
                base = known
        self.set_types(state, "base", [base])
        dynamic: list[Type] = rest
        if values and not rest:
            dynamic = [draft_spellings.size_type(parser, values[0])]
        if len(rest) > 1:
            fail_custom(parser, state, "expected one type for the dynamic sizes")
        self.set_types(state, "dynamicShape", dynamic)

    def _value_type(self, parser: Parser, state: ParseState) -> Type | None:
        tokens = state.operands[self.declaration.operand_number("base")]
        return parser.value_type(tokens[0]) if tokens else None

    def print(self, printer: Printer, operation: Operation) -> None:
        out = printer.out
        result = operation.results[0].type
        base = operation.operands[0]
        out.append(f" {printer.names[base]}")
        shape = operation.operand_group("dynamicShape")
        strides = operation.operand_group("dynamicStrides")
        if isinstance(result, TensorViewType):
            out.append(f", shape = [{_sizes(printer, result.shape, shape)}]")
            out.append(f", strides = [{_sizes(printer, result.strides, strides)}]")
        printer.attribute_dictionary(operation, frozenset())
        types: list[str] = []
        element = base.type.element if isinstance(base.type, TileType) else None
        if isinstance(element, PointerType) and element.attribute is not None:
            types.append(base.type.spelling)
        if shape or strides:
            types.append((shape or strides)[0].type.spelling)
        arrow = f"{', '.join(types)} -> " if types else ""
        out.append(f" : {arrow}{result.spelling}")


def _size(value: int) -> str:
    return "dynamic" if value == DYNAMIC else str(value)


def _sizes(printer: Printer, static: tuple[int, ...], values: list[Value]) -> str:
    remaining = iter(values)
    parts: list[str] = []
    for size in static:
        if size != DYNAMIC:
            parts.append(str(size))
        else:
            value = next(remaining, None)
            parts.append(printer.names[value] if value is not None else "?")
    return ", ".join(parts)


_VIEW_CLASSES: dict[OperationDeclaration, tuple[str, type[TileViewType]]] = {
    MAKE_PARTITION_VIEW: ("partition_view", PartitionViewType),
    MAKE_STRIDED_VIEW: ("strided_view", StridedViewType),
    MAKE_GATHER_SCATTER_VIEW: ("gather_scatter_view", GatherScatterViewType),
}


class MakeView(Custom):
    """`:` view-type; the operand's type is the tensor view inside."""

    __slots__ = ()

    def parse(self, parser: Parser, state: ParseState) -> None:
        parser.expect(":")
        start = parser.position
        type = parser.parse_type()
        word, wanted = _VIEW_CLASSES[self.declaration]
        if not isinstance(type, wanted):
            fail_custom(parser, state, f"expected '{word}' type, but got '{type.text}'", start)
        assert isinstance(type, TileViewType)
        self.set_types(state, "result", [type])
        self.set_types(state, "tensor_view", [type.tensor])

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.out.append(f" : {operation.results[0].type.spelling}")


class ShapeQuery(Doubtful):
    """shape-query ::= value attr-dict `:` type `->` type; one result per dimension, all of that type"""

    __slots__ = ()

    def is_ambiguous(self, operation: Operation) -> bool:
        """Bytecode may give each result a type of its own, and a query of nothing has no result to take it from."""
        return not operation.results or any(r.type is not operation.results[0].type for r in operation.results)

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_operands(state, "src", parser.parse_value_token())
        if parser.peek() == "{":
            for name, value in parser.parse_dictionary_entries().items():
                state.set_attribute(name, value)
        parser.expect(":")
        start = parser.position
        source = parser.parse_type()
        if self.declaration is GET_TENSOR_SHAPE:
            if not isinstance(source, TensorViewType):
                fail_custom(parser, state, f"expected tensor_view, got '{source.text}'", start)
            assert isinstance(source, TensorViewType)
            rank = source.rank
        else:
            if not isinstance(source, TileViewType):
                fail_custom(parser, state, f"expected tile view, got '{source.text}'", start)
            assert isinstance(source, TileViewType)
            rank = source.index_rank
        parser.expect("->")
        result = parser.parse_type()
        self.set_types(state, "src", [source])
        self.set_types(state, "result", [result] * rank)

    def print(self, printer: Printer, operation: Operation) -> None:
        source = operation.operands[0]
        printer.out.append(f" {printer.names[source]}")
        printer.attribute_dictionary(operation, frozenset())
        result = operation.results[0].type.spelling if operation.results else ""
        printer.out.append(f" : {source.type.spelling} -> {result}")


class ViewAccess(Custom):
    """load_view_tko, store_view_tko and atomic_red_view_tko.

    load   ::= ordering scope? view `[` indices `]` clauses `:` view-type (`,` type)* `->` type `,` type
    store  ::= ordering scope? value `,` view `[` indices `]` clauses `:` type `,` view-type (`,` type)* `->` type
    reduce ::= ordering scope? view `[` indices `]` `,` mode `,` value clauses `:` type `,` view-type ...  `->` type
    """

    __slots__ = ("is_load", "is_reduction", "is_store", "moved")

    def __init__(self, declaration: OperationDeclaration, arguments: str) -> None:
        super().__init__(declaration, arguments)
        self.is_load: bool = declaration is LOAD_VIEW_TKO
        self.is_store: bool = declaration is STORE_VIEW_TKO
        self.is_reduction: bool = declaration is ATOMIC_RED_VIEW_TKO
        # The name of the tile operand that is stored or reduced.
        self.moved: str = "tile" if self.is_store else "value"

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
        parser.expect("[")
        indices: list[int] = []
        if not parser.accept("]"):
            indices = parser.parse_value_tokens()
            parser.expect("]")
        self.set_operands(state, "index", indices)
        if self.is_reduction:
            self._parse_mode(parser, state)
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
                fail_custom(
                    parser,
                    state,
                    "operation specifies weak memory ordering semantics, but then provides "
                    f'"{parser.tokens[word]}" scope, expected no memory scope.',
                    start,
                )
            state.set_attribute("memory_scope", scope)

    def _parse_choice(self, parser: Parser, state: ParseState, kind: EnumKind, name: str) -> EnumAttribute:
        token = parser.position
        keyword = parser.parse_keyword()
        found = enum_case(parser, kind, keyword, token)
        if found is None:
            choices = ", ".join(kind.keywords(parser.version))
            if self.is_reduction:
                fail_custom(parser, state, f"invalid {name}: '{keyword}'; expected one of: {choices}", token)
            fail_custom(
                parser,
                state,
                f'invalid {name} attribute specification. Got "{keyword}" but expect one of: {choices}',
                token,
            )
        return found

    def _parse_mode(self, parser: Parser, state: ParseState) -> None:
        comma = parser.position
        parser.expect(",")
        keyword = parser.parse_keyword()
        found = enum_case(parser, ATOMIC_MODE, keyword, parser.position - 1)
        if found is None:
            choices = ", ".join([k for k in ATOMIC_MODE.values if k != "xchg"])
            fail_custom(parser, state, f"unknown atomic RMW mode: '{keyword}'; expected one of: {choices}", comma)
        state.set_attribute("mode", found)
        parser.expect(",")
        self.set_operands(state, "value", parser.parse_value_token())

    def _parse_clauses(self, parser: Parser, state: ParseState) -> None:
        """(`token` `=` value)? (`optimization_hints` `=` hints)? (`inbounds` `=` bools)? (`attributes` dictionary)?"""
        if parser.accept("token"):
            parser.expect("=")
            self.set_operands(state, "token", parser.parse_value_token())
        if parser.peek() == "optimization_hints" and "optimization_hints" in self.declaration.inherent:
            parser.position += 1
            parser.expect("=")
            state.set_attribute("optimization_hints", parser.parse_hints())
        if parser.peek() == "inbounds" and "inbounds" in self.declaration.inherent:
            parser.position += 1
            parser.expect("=")
            state.set_attribute("inbounds", read_bool_array(parser))
        parse_attributes_with_keyword(parser, state)

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
        view = types[first - 1]
        self.set_types(state, "view", [view])
        self.set_types(state, "index", self._index_types(parser, state, types[first:], indices))
        parser.expect("->")
        if self.is_load:
            self.set_types(state, "tile", [parser.parse_type()])
            parser.expect(",")
        start = parser.position
        token = parser.parse_type()
        if "result_token" in self.slots:
            self.set_types(state, "result_token", [token])
        elif token is not TOKEN:
            parser.fail("expected token type", start)

    def _index_types(self, parser: Parser, state: ParseState, given: list[Type], indices: list[int]) -> list[Type]:
        """One type stands for all; none is the draft's form (docs/conflicts.md A3)."""
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

    def print(self, printer: Printer, operation: Operation) -> None:
        out = printer.out
        names = printer.names
        attributes = operation.attributes
        out.append(f" {attributes['memory_ordering_semantics'].bare_text}")
        scope = attributes.get("memory_scope")
        if scope is not None:
            out.append(f" {scope.bare_text}")
        view = operation.operand_group("view")[0]
        indices = operation.operand_group("index")
        access = f" {names[view]}[{printer.value_list(indices)}]"
        moved: Value | None = None
        if self.is_store:
            moved = operation.operand_group("tile")[0]
            access = f" {names[moved]},{access}"
        elif self.is_reduction:
            moved = operation.operand_group("value")[0]
            access = f"{access}, {attributes['mode'].bare_text}, {names[moved]}"
        out.append(access)
        token = operation.operand("token")
        if token is not None:
            out.append(f" token = {names[token]}")
        hints = attributes.get("optimization_hints")
        if hints is not None:
            out.append(f" optimization_hints = {printer.hints(hints)}")
        inbounds = attributes.get("inbounds")
        # A promise about no dimension is left out by NVIDIA's printer.
        if inbounds is not None and (printer.lossless or "true" in inbounds.bare_text):
            out.append(f" inbounds = {inbounds.bare_text}")
        print_attributes_with_keyword(printer, operation, frozenset(self.declaration.inherent))
        types = [] if moved is None else [moved.type.spelling]
        types.append(view.type.spelling)
        index_types = [value.type.spelling for value in indices]
        types.extend(index_types[:1] if len(set(index_types)) <= 1 else index_types)
        results = printer.type_names([result.type for result in operation.results])
        out.append(f" : {', '.join(types)} -> {results}")


class LoadOperands(Doubtful):
    """Tells a padding value from a mask when only one of them is written: a mask is a tile of i1.

    NVIDIA prints both alike, after a comma; read as a mask, a lone padding value would not verify.  Of a lone padding
    value that is itself a tile of i1 the text cannot tell.
    """

    __slots__ = ()

    def parse(self, parser: Parser, state: ParseState) -> None:
        mask = self.declaration.operand_number("mask")
        padding = self.declaration.operand_number("paddingValue")
        if not parser.draft_spellings or state.operands[mask] is None or state.operands[padding] is not None:
            # NVIDIA's parser takes whatever is alone for the mask.
            return
        types = state.types[self.slots["mask"]]
        if types and isinstance(types[0], TileType) and types[0].element is not I1 and NUMBER.accepts(types[0]):
            state.operands[padding], state.operands[mask] = state.operands[mask], None
            state.types[self.slots["paddingValue"]] = types
            state.types[self.slots["mask"]] = None

    def is_ambiguous(self, operation: Operation) -> bool:
        padding = operation.operand("paddingValue")
        return (
            padding is not None
            and operation.operand("mask") is None
            and isinstance(padding.type, TileType)
            and padding.type.element is I1
        )

    def print(self, printer: Printer, operation: Operation) -> None:
        return None

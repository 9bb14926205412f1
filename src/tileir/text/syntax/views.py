"""The syntax of views: making them and asking for their shape."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.constraints import TENSOR_VIEW
from tileir.dialect.types import (
    DYNAMIC,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    pointer_type,
    scalar_tile,
)
from tileir.ir.core import Operation
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.syntax import draft_spellings
from tileir.text.syntax.directive import Custom, CustomClass, Doubtful, expect_word, fail_custom, parse_attributes

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


class TensorView(Custom):
    """make_tensor_view ::= value `,` `shape` `=` sizes `,` `strides` `=` sizes attr-dict `:` (types `->`)? type"""

    __slots__ = ()

    def form(self) -> str:
        return (
            "%base, shape = [(INTEGER | %dynamicShape), ...], strides = [(INTEGER | %dynamicStrides), ...] : "
            "(tile<INTEGER_TYPE> ->)? type(%result)"
        )

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
        expect_word(parser, state, word)
        parser.expect("=")
        tokens = [parser.position]
        sizes: list[int] = []
        values: list[int] = []

        def parse_size() -> None:
            tokens.append(parser.position)
            if parser.peek()[:1] == "%":
                sizes.append(DYNAMIC)
                values.append(parser.position)
                parser.position += 1
            elif parser.peek()[:1].isdigit() or parser.peek() == "-":
                sizes.append(parser.parse_integer())
            else:
                fail_custom(parser, state, "expected either integer or SSA value")

        parser.parse_items("[", "]", parse_size)
        return sizes, values, tokens

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

    def print(self, printer: TextOutput, operation: Operation) -> None:
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


def _sizes(printer: TextOutput, static: tuple[int, ...], values: list[Value]) -> str:
    remaining = iter(values)
    parts: list[str] = []
    for size in static:
        if size != DYNAMIC:
            parts.append(str(size))
        else:
            value = next(remaining, None)
            parts.append(printer.names[value] if value is not None else "?")
    return ", ".join(parts)


class MakeView(Custom):
    """`:` view-type; the operand's type is the tensor view inside.

    What `make_partition_view` makes is called `partition_view`, and so on.
    """

    __slots__ = ()

    def form(self) -> str:
        return ": type(%result)"

    def parse(self, parser: Parser, state: ParseState) -> None:
        parser.expect(":")
        start = parser.position
        type = parser.parse_type()
        if not isinstance(type, TileViewType) or not self.declaration.results[0].constraint.accepts(type):
            word = self.declaration.mnemonic.removeprefix("make_")
            fail_custom(parser, state, f"expected '{word}' type, but got '{type.text}'", start)
        assert isinstance(type, TileViewType)
        self.set_types(state, "result", [type])
        self.set_types(state, "tensor_view", [type.tensor])

    def print(self, printer: TextOutput, operation: Operation) -> None:
        printer.out.append(f" : {operation.results[0].type.spelling}")


class ShapeQuery(Doubtful):
    """shape-query ::= value attr-dict `:` type `->` type; one result per dimension, all of that type"""

    __slots__ = ()

    def form(self) -> str:
        return "%src : type(%src) -> type(%result)"

    def is_ambiguous(self, operation: Operation) -> bool:
        """Bytecode may give each result a type of its own, and a query of nothing has no result to take it from."""
        return not operation.results or any(r.type is not operation.results[0].type for r in operation.results)

    def parse(self, parser: Parser, state: ParseState) -> None:
        self.set_operands(state, "src", parser.parse_value_token())
        parse_attributes(parser, state)
        parser.expect(":")
        start = parser.position
        source = parser.parse_type()
        if self.declaration.operands[0].constraint is TENSOR_VIEW:
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

    def print(self, printer: TextOutput, operation: Operation) -> None:
        source = operation.operands[0]
        printer.out.append(f" {printer.names[source]}")
        printer.attribute_dictionary(operation, frozenset())
        result = operation.results[0].type.spelling if operation.results else ""
        printer.out.append(f" : {source.type.spelling} -> {result}")


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "tensor-view": TensorView,
    "make-view": MakeView,
    "shape-query": ShapeQuery,
}

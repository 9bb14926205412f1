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


# What brackets of sizes have: the sizes, the tokens of those that are values, and the tokens of the bracket and of all.
Sizes = tuple[list[int], list[int], list[int]]


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
                parser.fail("expected '->'" if dynamic else "expected operation name in quotes", comma)
            parser.expect("->")
            result = parser.parse_type()
        if not isinstance(result, TensorViewType):
            # NVIDIA's parser says so behind the type.
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
            first = parser.tokens[position][:1]
            if first == "%":
                sizes.append(DYNAMIC)
                values.append(position)
                parser.position += 1
            elif first.isdigit() or first == "-":
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
        self, parser: Parser, state: ParseState, given: list[Type], result: TensorViewType, dynamic: list[int]
    ) -> list[Type]:
        """Set the type of the base; return that of the dynamic sizes, if there are any."""
        base: Type = scalar_tile(pointer_type(result.element, result.attribute))
        # Of a lone type that is shown with dynamic sizes, it is theirs.  Of a base that is not shown, the value's own
        # type is taken: it may have a pointer attribute.
        tokens = state.operands[self.declaration.operand_number("base")]
        shown: Type | None = given[0] if given and (len(given) > 1 or not dynamic) else None
        own = parser.value_type(tokens[0]) if tokens and not given else shown
        if isinstance(own, TileType) and isinstance(own.element, PointerType):
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
            rank = source.rank
        else:
            if not isinstance(source, TileViewType):
                fail_custom(parser, state, f"expected tile view, got '{source.text}'", start)
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

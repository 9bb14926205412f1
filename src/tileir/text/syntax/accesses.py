"""The syntax of accesses: loading, storing and reducing through views, loading through pointers."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.constraints import NUMBER
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING, MEMORY_SCOPE
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.enums import EnumAttribute, EnumKind
from tileir.ir.traits import ATOMIC
from tileir.ir.types import I1, Type
from tileir.ir.values import Value
from tileir.text.state import ParseState
from tileir.text.syntax import draft_spellings
from tileir.text.syntax.attribute_directives import read_bool_array
from tileir.text.syntax.directive import Custom, CustomClass, Doubtful, fail_custom, parse_attributes, parse_hints

if TYPE_CHECKING:
    from tileir.text.output import TextOutput
    from tileir.text.parser import Parser


_VIEW_CLAUSES: Final = (
    "(token = %token)? (optimization_hints = <OPTIMIZATION_HINTS>)? (inbounds = INBOUNDS)? "
    "(attributes {NAME = VALUE, ...})?"
)


class ViewAccess(Custom):
    """load_view_tko, store_view_tko and atomic_red_view_tko.

    load   ::= ordering scope? view `[` indices `]` clauses `:` view-type (`,` type)* `->` type `,` type
    store  ::= ordering scope? value `,` view `[` indices `]` clauses `:` type `,` view-type (`,` type)* `->` type
    reduce ::= ordering scope? view `[` indices `]` `,` mode `,` value clauses `:` type `,` view-type ...  `->` type
    """

    __slots__ = ("is_load", "is_reduction", "is_store", "moved")

    def __init__(self, declaration: OperationDeclaration, arguments: str) -> None:
        super().__init__(declaration, arguments)
        self.is_load: bool = declaration.writes is None
        self.is_reduction: bool = declaration.has_trait(ATOMIC)
        self.is_store: bool = not self.is_load and not self.is_reduction
        # The name of the tile operand that is stored or reduced.
        self.moved: str = "tile" if self.is_store else "value"

    def form(self) -> str:
        if self.is_load:
            return (
                f"MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE? %view[%index, ...] {_VIEW_CLAUSES} : type(%view), "
                "type(%index), ... -> type(%tile), type(%result_token)"
            )
        if self.is_store:
            return (
                f"MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE? %tile, %view[%index, ...] {_VIEW_CLAUSES} : type(%tile), "
                "type(%view), type(%index), ... -> type(%result_token)"
            )
        return (
            "MEMORY_ORDERING_SEMANTICS MEMORY_SCOPE %view[%index, ...], MODE, %value (token = %token)? "
            "(attributes {NAME = VALUE, ...})? : type(%value), type(%view), type(%index), ... -> type(%result_token)"
        )

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
                what = f'then provides "{parser.tokens[word]}" scope, expected no memory scope.'
                fail_custom(parser, state, f"operation specifies weak memory ordering semantics, but {what}", start)
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
            fail_custom(parser, state, message, token)
        return found

    def _parse_mode(self, parser: Parser, state: ParseState) -> None:
        comma = parser.position
        parser.expect(",")
        found = parser.parse_optional_enum(ATOMIC_MODE)
        if found is None:
            keyword = parser.parse_keyword()
            choices = ", ".join([k for k in ATOMIC_MODE.values if k != "xchg"])
            fail_custom(parser, state, f"unknown atomic RMW mode: '{keyword}'; expected one of: {choices}", comma)
        state.set_attribute("mode", found)
        parser.expect(",")
        self.set_operands(state, "value", parser.parse_value_token())

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
        if "result_token" not in self.slots and token is not TOKEN:
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
        moved: Value | None = None
        if self.is_store:
            moved = operation.tile
            access = f" {names[moved]},{access}"
        elif self.is_reduction:
            moved = operation.value
            access = f"{access}, {attributes['mode'].bare_text}, {names[moved]}"
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
        padding = operation.padding_value
        return (
            padding is not None
            and operation.mask is None
            and isinstance(padding.type, TileType)
            and padding.type.element is I1
        )


DIRECTIVES: Final[dict[str, CustomClass]] = {
    "view-access": ViewAccess,
    "load-operands": LoadOperands,
}

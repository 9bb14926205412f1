"""Spellings of operations that only the drafts have (docs/reference/conflicts.md A to D); those of types and attributes
are read where these are.

Each is read as its public form, with a remark.  The drop-ins for NVIDIA's tools read none of them: every function here
checks `draft_spellings` first, and does nothing where it is off.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.enums import ATOMIC_MODE, ENUM_KINDS, SIGNEDNESS
from tileir.dialect.types import TileType, scalar_tile, with_element
from tileir.ir.attributes import Attribute, EnumAttribute, EnumKind
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Operation
from tileir.ir.location import TextLocation
from tileir.ir.types import I1, I32, FloatType, IntegerType, Type
from tileir.text.state import ParseState

if TYPE_CHECKING:
    from tileir.text.parser import Parser

# --- attributes ---

_ENTRIES: Final = frozenset(["overflow_behavior", "comparison_ordering", "rounding_mode"])


def dictionary_entry(parser: Parser, state: ParseState, name: str, value: Attribute, token: int) -> bool:
    """An attribute that the public operation names otherwise or has not (B8, C6, C7); whether it was one, and read."""
    if name not in _ENTRIES or not parser.draft_spellings:
        return False
    declaration = state.declaration
    if name == "overflow_behavior" and "overflow" in declaration.inherent:
        parser.remark("'overflow_behavior' is read as 'overflow'", token)
        state.set_attribute("overflow", value)
        return True
    # Imported here, as below: its chapter may have nothing else that the program needs.
    from tileir.dialect.ops import MAXF, MINF, REMF

    if name == "rounding_mode" and declaration is REMF and value is ENUM_KINDS["rounding"]["nearest_even"]:
        parser.remark("'rounding_mode' is dropped: a remainder is exact", token)
        return True
    if name == "comparison_ordering" and declaration in (MAXF, MINF):
        parser.remark(f"'comparison_ordering' has no effect on '{declaration.mnemonic}'", token)
    return False


def overflow_clause(parser: Parser, name: str) -> bool:
    """`overflow_behavior<..>` for `overflow<..>` (B8)."""
    if name != "overflow" or parser.peek() != "overflow_behavior" or not parser.draft_spellings:
        return False
    parser.remark("'overflow_behavior' is read as 'overflow'", parser.position)
    return True


# --- structure ---


def module_name(parser: Parser, state: ParseState) -> str | None:
    if not parser.draft_spellings or parser.peek() not in ("{", "attributes"):
        return None
    parser.remark("a module without a name is read as '@kernels'", state.name_token)
    return "kernels"


def dense_literal(parser: Parser) -> bool:
    """`dense<1> : tile<4xi32>` for `<i32: 1> : tile<4xi32>` (A1); steps over the word."""
    return parser.draft_spellings and parser.accept("dense")


# --- comparisons and integers ---

_PREDICATES: Final = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less_than",
    "le": "less_than_or_equal",
    "gt": "greater_than",
    "ge": "greater_than_or_equal",
}


def comparison(parser: Parser, state: ParseState, kind: EnumKind) -> EnumAttribute | None:
    """`olt,` and the like: predicate and ordering in one word, with a comma (A2)."""
    if kind.name != "comparison_predicate" or not parser.draft_spellings:
        return None
    token = parser.peek()
    predicate = _PREDICATES.get(token[1:])
    if token[:1] not in ("o", "u") or predicate is None or "comparison_ordering" not in state.declaration.inherent:
        return None
    ordering = ENUM_KINDS["comparison_ordering"]["ordered" if token[0] == "o" else "unordered"]
    state.set_attribute("comparison_ordering", ordering)
    parser.remark(f"'{token}' is read as '{predicate} {ordering.keyword}'", parser.position)
    parser.position += 1
    parser.accept(",")
    return kind[predicate]


def comparison_result(parser: Parser, type: Type, token: int) -> Type | None:
    """The type of a comparison's result, which the draft leaves out (A2)."""
    if not parser.draft_spellings or parser.peek() == "->" or not isinstance(type, TileType):
        return None
    parser.remark("the result type of the comparison is left out", token)
    return with_element(type, I1)


def convert_shift_amount(parser: Parser, state: ParseState) -> None:
    """An amount of another integer type than what is shifted is converted first (C9)."""
    tokens = state.operands[1]
    shown = state.types[0]
    if not parser.draft_spellings or not tokens or not shown:
        return
    type = shown[0]
    own = parser.value_type(tokens[0])
    if own is type or not isinstance(own, TileType) or not isinstance(type, TileType) or own.shape != type.shape:
        return
    if not isinstance(own.element, IntegerType) or not isinstance(type.element, IntegerType) or own.element is I1:
        return
    wider = type.element.width > own.element.width
    # The amount is unsigned; one that truncation changes is past the width, where a shift promises nothing.
    from tileir.dialect.ops import EXTI, TRUNCI

    declaration = EXTI if wider else TRUNCI
    attributes: dict[str, Attribute] = {"signedness": SIGNEDNESS["unsigned"]} if wider else NO_ATTRIBUTES
    location = TextLocation(state.source, state.name_token)
    value = parser.resolve(tokens[0], own)
    operation = Operation(declaration, [value], [type], attributes, NO_REGIONS, location)
    parser.append_before(operation)
    parser.remark(f"the amount is converted from '{own.spelling}' to '{type.spelling}'", tokens[0])
    state.made_operand, state.made_index = operation.results[0], 1


def grid_type(parser: Parser) -> Type | None:
    """`tile<3xi32>` as the type of each of three results, a slip of the operations draft (A6)."""
    if not parser.draft_spellings or not parser.peek().endswith("tile<3xi32>"):
        return None
    parser.remark("'tile<3xi32>' is read as 'tile<i32>'", parser.position)
    parser.position += 1
    return scalar_tile(I32)


# --- assumptions, scans and atomics ---


def condition_of_assume(parser: Parser, state: ParseState) -> bool:
    """`assume %condition : type`, which is another operation (C1)."""
    if parser.peek()[:1] != "%" or not parser.draft_spellings:
        return False
    from tileir.dialect.ops import ASSUME_COND

    parser.remark("'assume' of a condition is read as 'assume_cond'", state.name_token)
    parser.parse_as(ASSUME_COND, state)
    return True


def is_predicate_list(parser: Parser) -> bool:
    """`assume [div_by<8>, bounded<0, ?>], ..`, read as a chain of assumes (C1)."""
    return parser.draft_spellings and parser.peek() == "["


def warn_of_wide_scan(parser: Parser, state: ParseState) -> None:
    """The operations draft warns of scans of several tiles, public tools do not (C14)."""
    if parser.draft_spellings:
        parser.remark("a scan of more than one tile is not supported everywhere", state.name_token)


def mode_before_pointers(parser: Parser) -> EnumAttribute | None:
    """The mode of an atomic operation in front of its pointers, as the printer draft has it (A11)."""
    start = parser.position
    if parser.peek()[:1] == "%" or not parser.draft_spellings:
        return None
    refuse_exchange(parser)
    found = parser.parse_optional_enum(ATOMIC_MODE)
    if found is not None:
        parser.remark("the mode is read as standing after the pointers", start)
    return found


def refuse_exchange(parser: Parser) -> None:
    """`cmpxchg`, a mode of the printer draft that no operation has (B4)."""
    if parser.draft_spellings and parser.peek() == "cmpxchg":
        parser.fail("'cmpxchg' is no mode of atomic_rmw_tko: use atomic_cas_tko")


def float_addition(parser: Parser, state: ParseState, types: list[Type] | None) -> None:
    """`add` on floats is the public `addf` (B4)."""
    type = types[0] if types else None
    if not parser.draft_spellings or not isinstance(type, TileType) or not isinstance(type.element, FloatType):
        return
    if state.attributes is not None and state.attributes.get("mode") is ATOMIC_MODE["add"]:
        parser.remark("'add' on floats is read as 'addf'", state.name_token)
        state.attributes["mode"] = ATOMIC_MODE["addf"]


# --- views ---


def size_type(parser: Parser, value: int) -> Type:
    """The type of the dynamic sizes of a view, which the draft leaves out (A4)."""
    if not parser.draft_spellings:
        parser.expect("->")
    own = parser.value_type(value)
    if own is None:
        parser.fail("expected the type of the dynamic sizes", value)
    parser.remark(f"the type of the dynamic sizes is taken from the values: '{own.spelling}'", value)
    return own


def index_types(parser: Parser, indices: list[int]) -> list[Type] | None:
    """The types of the indices into a view, which the draft leaves out (A3); None where they are not known."""
    own = [parser.value_type(token) for token in indices]
    known = [type for type in own if type is not None]
    if not parser.draft_spellings or len(known) != len(own):
        return None
    parser.remark("the types of the indices are taken from the values", indices[0])
    return known


def is_view_first(parser: Parser) -> bool:
    """Whether a store names its view before the tile, as the printer draft does (A10)."""
    return parser.draft_spellings and parser.peek() == "["


def end_view_first(parser: Parser, view: int) -> list[int]:
    """The tile of such a store; there is no mask on a view."""
    parser.expect(",")
    tile = parser.parse_value_token()
    if parser.peek() == ",":
        parser.fail("a mask is not allowed on a view operation: the view bounds the access")
    parser.remark("the view is read as the second operand, after the tile", view)
    return tile

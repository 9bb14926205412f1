"""The parts of declarations: constraints on types and attributes with NVIDIA's messages, rules between types, and
functions that declare element-wise operations and memory accesses.
"""

from __future__ import annotations

from tileir.annotations import Any, Callable, Final
from tileir.dialect.enums import (
    ATOMIC_MODE,
    COMPARISON_PREDICATE,
    MEMORY_ORDERING,
    MEMORY_SCOPE,
    MULTIMEM_REDUCTION,
    OVERFLOW,
    ROUNDING,
    SIGNEDNESS,
)
from tileir.dialect.types import (
    ANY_FLOATS,
    FLOATS,
    INTEGERS,
    TOKEN,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    TokenType,
)
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DictionaryAttribute,
    EnumAttribute,
    EnumKind,
    IntegerAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    OPTIONAL,
    AttributeConstraint,
    AttributeDeclaration,
    OperandDeclaration,
    OperationDeclaration,
    TypeConstraint,
    TypeRule,
    attribute,
    named_types,
    operand,
    result,
)
from tileir.ir.dense import DenseAttribute
from tileir.ir.traits import ATOMIC, ELEMENTWISE, PURE, SEGMENTS, TOKEN_ORDERED
from tileir.ir.types import FNV8E5M3FNU, I1, I4, I8, I32, I64, FunctionType, Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_1, Version

# --- types ---


def _names(elements: tuple[Type, ...]) -> str:
    return " or ".join([e.spelling for e in elements])


def _tile_predicate(elements: tuple[Type, ...], rank: int | None) -> Callable[[Type], bool]:
    return lambda t: isinstance(t, TileType) and t.element in elements and (rank is None or len(t.shape) == rank)


def tile_of(elements: tuple[Type, ...], newer: tuple[Type, ...] = (), phrase: str = "tile of") -> TypeConstraint:
    """A tile of any shape; `newer` are the element types that 13.4 adds to the list."""
    return TypeConstraint(
        f"{phrase} {_names(elements)} values",
        _tile_predicate(elements + newer, None),
        f"{phrase} {_names(elements + newer)} values" if newer else None,
    )


def scalar_of(elements: tuple[Type, ...]) -> TypeConstraint:
    """A 0-D tile."""
    return TypeConstraint(f"0D tile of {_names(elements)} values", _tile_predicate(elements, 0))


_NEWER: Final[tuple[Type, ...]] = (FNV8E5M3FNU,)

INT: Final = tile_of(INTEGERS)
INT_OR_I4: Final = tile_of((*INTEGERS, I4))
INT_NOT_I1: Final = tile_of(INTEGERS[1:])
FLOAT: Final = tile_of(FLOATS)
ANY_FLOAT: Final = tile_of(ANY_FLOATS, _NEWER)
NUMBER: Final = tile_of((*INTEGERS, *ANY_FLOATS), _NEWER)
I1_TILE: Final = tile_of((I1,))
I8_TILE: Final = tile_of((I8,))
I64_TILE: Final = tile_of((I64,))
ANY_TILE: Final = TypeConstraint("Tile type", lambda t: isinstance(t, TileType))
POINTER_TILE: Final = TypeConstraint(
    "tile of Pointer type values", lambda t: isinstance(t, TileType) and isinstance(t.element, PointerType)
)
SCALAR_POINTER: Final = TypeConstraint(
    "0D tile of Pointer type values",
    lambda t: isinstance(t, TileType) and not t.shape and isinstance(t.element, PointerType),
)
SCALAR_INT: Final = scalar_of(INTEGERS)
SCALAR_I1: Final = scalar_of((I1,))
SCALAR_I32: Final = scalar_of((I32,))
TENSOR_VIEW: Final = TypeConstraint("tensor view type", lambda t: isinstance(t, TensorViewType))
TILE_VIEW: Final = TypeConstraint("TileView instance", lambda t: isinstance(t, TileViewType))
TOKEN_TYPE: Final = TypeConstraint("cuda tile token type", lambda t: isinstance(t, TokenType))
ANY_TYPE: Final = TypeConstraint("any type", lambda t: True)

# --- attributes ---


def enum_attribute(kind: EnumKind, description: str) -> AttributeConstraint:
    return AttributeConstraint(description, lambda a: isinstance(a, EnumAttribute) and a.kind is kind, "enum", kind)


def _integer_of(type: Type, minimum: int | None = None) -> Callable[[Attribute], bool]:
    return lambda a: isinstance(a, IntegerAttribute) and a.type is type and (minimum is None or a.value >= minimum)


UNIT_ATTRIBUTE: Final = AttributeConstraint("unit attribute", lambda a: isinstance(a, UnitAttribute), "unit")
BOOL: Final = AttributeConstraint("bool attribute", _integer_of(I1), "bool")
INTEGER_I64: Final = AttributeConstraint("64-bit signless integer attribute", _integer_of(I64), "i64")
INTEGER_I64_NOT_NEGATIVE: Final = AttributeConstraint(
    "64-bit signless integer attribute whose minimum value is 0", _integer_of(I64, 0), "i64"
)
INTEGER_I32: Final = AttributeConstraint("32-bit signless integer attribute", _integer_of(I32), "i32")
INTEGER_I32_NOT_NEGATIVE: Final = AttributeConstraint(
    "32-bit signless integer attribute whose value is non-negative", _integer_of(I32, 0), "i32"
)
STRING: Final = AttributeConstraint("string attribute", lambda a: isinstance(a, StringAttribute), "string")
SYMBOL_NAME: Final = AttributeConstraint("string attribute", lambda a: isinstance(a, StringAttribute), "symbol_name")
FLAT_SYMBOL: Final = AttributeConstraint(
    "flat symbol reference attribute", lambda a: isinstance(a, SymbolAttribute) and len(a.path) == 1, "symbol"
)
I32_ARRAY: Final = AttributeConstraint(
    "i32 dense array attribute", lambda a: isinstance(a, DenseArrayAttribute) and a.element_type is I32, "i32_array"
)
BOOL_ARRAY: Final = AttributeConstraint(
    "i1 dense array attribute", lambda a: isinstance(a, DenseArrayAttribute) and a.element_type is I1, "bool_array"
)
ARRAY: Final = AttributeConstraint("array attribute", lambda a: isinstance(a, ArrayAttribute), "array")
DICTIONARY_ARRAY: Final = AttributeConstraint(
    "Array of dictionary attributes",
    lambda a: isinstance(a, ArrayAttribute) and all(isinstance(e, DictionaryAttribute) for e in a.elements),
    "array",
)
DENSE: Final = AttributeConstraint("dense elements attribute", lambda a: isinstance(a, DenseAttribute), "dense")
FUNCTION_TYPE: Final = AttributeConstraint(
    "type attribute of function type",
    lambda a: isinstance(a, TypeAttribute) and isinstance(a.type, FunctionType),
    "type",
)
SIGNEDNESS_ATTRIBUTE: Final = enum_attribute(SIGNEDNESS, "Signedness attribute")
OVERFLOW_ATTRIBUTE: Final = enum_attribute(OVERFLOW, "Integer overflow attribute")
ROUNDING_ATTRIBUTE: Final = enum_attribute(ROUNDING, "Rounding mode")
ORDERING_ATTRIBUTE: Final = enum_attribute(MEMORY_ORDERING, "memory ordering semantics")
SCOPE_ATTRIBUTE: Final = enum_attribute(MEMORY_SCOPE, "memory scope")
MODE_ATTRIBUTE: Final = enum_attribute(ATOMIC_MODE, "atomic_rmw_mode")
MULTIMEM_ATTRIBUTE: Final = enum_attribute(
    MULTIMEM_REDUCTION, "reduction operator for multimem load-reduce and multimem atomic reduce"
)
COMPARISON: Final = attribute(
    "comparison_predicate",
    enum_attribute(COMPARISON_PREDICATE, "Comparison predicate attribute"),
    "the relation to test",
)

# --- rules between types ---


def shape_of(type: Type) -> tuple[int, ...] | None:
    return type.shape if isinstance(type, TileType) else None


def element_of(type: Type) -> Type | None:
    return type.element if isinstance(type, TileType) else None


def _same(values: list[object]) -> bool:
    return all(v == values[0] for v in values)


def _same_property(names: tuple[str, ...], noun: str, property_of: Callable[[Type], object]) -> TypeRule:
    return TypeRule(
        lambda op: _same([property_of(type) for name in names for type in named_types(op, name)]),
        f"failed to verify that all of {{{', '.join(names)}}} have {noun}",
    )


def same_shape(*names: str) -> TypeRule:
    return _same_property(names, "same shape", shape_of)


def same_rank(*names: str) -> TypeRule:
    return _same_property(names, "same rank", lambda type: len(shape_of(type) or ()))


def same_element(*names: str) -> TypeRule:
    return _same_property(names, "the same element type", element_of)


def _values(operation: Operation) -> list[Value]:
    return [*operation.operands, *operation.results]


SAME_SHAPE_EVERYWHERE: Final = TypeRule(
    lambda op: _same([shape_of(v.type) for v in _values(op)]), "requires the same shape for all operands and results"
)
SAME_ELEMENT_EVERYWHERE: Final = TypeRule(
    lambda op: _same([element_of(v.type) for v in _values(op)]),
    "requires the same element type for all operands and results",
)
SAME_OPERAND_SHAPE: Final = TypeRule(
    lambda op: _same([shape_of(v.type) for v in op.operands]), "requires the same shape for all operands"
)


def is_i1_of_same_shape(operation: Operation, operand: str, result: str) -> bool:
    (source,) = named_types(operation, operand)
    (target,) = named_types(operation, result)
    return isinstance(target, TileType) and target.element is I1 and target.shape == shape_of(source)


def boolean_result(operand: str, result: str) -> TypeRule:
    return TypeRule(
        lambda op: is_i1_of_same_shape(op, operand, result),
        "failed to verify that Result type has i1 element type and same shape as operands",
    )


def element_width(type: Type) -> int:
    """Bits of the element of a tile of numbers, MLIR's count (tf32 has 19)."""
    element = element_of(type)
    return getattr(element, "width", 64) if element is not None else 0


def tile_type_of(value: Value) -> TileType:
    """The type of a value that its constraint already required to be a tile."""
    type = value.type
    if not isinstance(type, TileType):
        raise TypeError(f"'{type.text}' is not a tile")
    return type


# --- element-wise operations ---

ONE_TILE: Final[dict[str, str]] = {"source": "the input tile"}
TWO_TILES: Final[dict[str, str]] = {"lhs": "the left operand", "rhs": "the right operand"}
DIVIDED: Final[dict[str, str]] = {"lhs": "the dividend", "rhs": "the divisor"}


def elementwise(
    name: str,
    operands: dict[str, str] = ONE_TILE,
    *,
    constraint: TypeConstraint = FLOAT,
    returns: str,
    example: str = "",
    since: Version | None = V13_1,
    modifiers: str = "",
    trailer: str = "",
    traits: int = PURE | ELEMENTWISE,
    same_types: tuple[str, ...] = (),
    **others: Any,
) -> OperationDeclaration:
    """Declare `name %a, %b [modifiers] : T` with operands of these names and meanings; `trailer` follows the type.

    `same_types` is written where the verifier does not name the result last.  `others` go to the declaration.
    """
    parts_since = since if since != V13_1 else None
    if not example:
        values = "%x" if len(operands) == 1 else ", ".join(["%a", "%b", "%c"][: len(operands)])
        example = f"%r = {name} {values} : tile<4x{'f32' if constraint is FLOAT else 'i32'}>"
    names = " ',' ".join([f"${each}" for each in operands])
    return OperationDeclaration(
        name,
        since=since,
        example=example,
        operands=tuple([operand(each, constraint, text, since=parts_since) for each, text in operands.items()]),
        results=(result("result", constraint, returns, since=parts_since),),
        traits=traits,
        same_types=(same_types or (*operands, "result"),),
        syntax=f"{names} {modifiers} attr-dict ':' type($result) {trailer}",
        **others,
    )


# --- memory operations ---


def inbounds(since: Version) -> AttributeDeclaration:
    return attribute(
        "inbounds",
        BOOL_ARRAY,
        "for each index, whether the tile is known to lie within the tensor",
        optional=True,
        since=since,
    )


def memory_access(
    name: str,
    noun: str,
    *,
    operands: tuple[OperandDeclaration, ...],
    ordering: str,
    scope: str = "who may access the memory at the same time",
    attributes: tuple[AttributeDeclaration, ...] = (),
    results: tuple[OperandDeclaration, ...] = (),
    traits: int = 0,
    **others: Any,
) -> OperationDeclaration:
    """Declare an access to memory that tokens order; a token follows its operands, and one follows its results.

    `noun` is what it does: a load, a store.  Only an atomic access must have a scope.  `others` go to the declaration.
    """
    return OperationDeclaration(
        name,
        operands=(*operands, operand("token", TOKEN_TYPE, f"what the {noun} comes after", OPTIONAL)),
        attributes=(
            attribute("memory_ordering_semantics", ORDERING_ATTRIBUTE, ordering),
            attribute("memory_scope", SCOPE_ATTRIBUTE, scope, optional=not traits & ATOMIC),
            *attributes,
        ),
        results=(*results, result("result_token", TOKEN_TYPE, f"for what must come after the {noun}")),
        traits=TOKEN_ORDERED | SEGMENTS | traits,
        fixed_types={"token": TOKEN},
        **others,
    )

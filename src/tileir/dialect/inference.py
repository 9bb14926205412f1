"""Types the builder finds by itself: the results of an operation, and the constants that Python numbers become.

Most result types follow from the declaration: a fixed type, the type of an operand in the same `same_types` group, a
token.  `INFERENCE` has what is left: a rule per operation, with the arguments the rule needs where the operands do
not say enough (the element type of a conversion, the shape of a reshape, the tile of a view).
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.dialect.calls import Call
from tileir.dialect.constraints import SCALAR_I1, SCALAR_I32, SCALAR_INT, TOKEN_TYPE, element_width
from tileir.dialect.construct import (
    described,
    element,
    extents,
    gather_scatter_view,
    partition_view,
    ptr,
    strided_view,
    tensor_view,
    tile,
    value_type,
)
from tileir.dialect.ops import (
    ALLOCA,
    ASSERT,
    ASSUME_COND,
    ATOMIC_CAS_TKO,
    ATOMIC_LOAD_TKO,
    ATOMIC_RED_VIEW_TKO,
    ATOMIC_RMW_TKO,
    ATOMIC_STORE_TKO,
    BITCAST,
    BREAK,
    BROADCAST,
    CAT,
    CMPF,
    CMPI,
    CONSTANT,
    CONTINUE,
    EXTI,
    EXTRACT,
    FOR,
    FPOWI,
    FTOF,
    FTOI,
    GET_GLOBAL,
    GET_INDEX_SPACE_SHAPE,
    GET_TENSOR_SHAPE,
    IF,
    INT_TO_PTR,
    IOTA,
    ITOF,
    LOAD_PTR_TKO,
    LOAD_VIEW_TKO,
    LOOP,
    MAKE_GATHER_SCATTER_VIEW,
    MAKE_PARTITION_VIEW,
    MAKE_STRIDED_VIEW,
    MAKE_TENSOR_VIEW,
    OFFSET,
    PACK,
    PERMUTE,
    PTR_TO_INT,
    PTR_TO_PTR,
    REDUCE,
    RESHAPE,
    SCAN,
    STORE_PTR_TKO,
    STORE_VIEW_TKO,
    TRUNCI,
    UNPACK,
    UNREALIZED_CONVERSION_CAST,
    YIELD,
)
from tileir.dialect.types import TOKEN, PointerType, TileType, scalar_tile, with_element
from tileir.ir.attributes import DenseArrayAttribute, DenseAttribute, SymbolAttribute
from tileir.ir.core import Operation, Value
from tileir.ir.declaration import ONE, VARIADIC, OperandDeclaration, OperationDeclaration
from tileir.ir.types import I1, I8, I32, I64, FloatType, IntegerType, Type


def _nothing(call: Call) -> None:
    """Most operations take their operands as they are."""


class Inference:
    """How the result types follow that the declaration leaves open.

    `required` and `optional` name the arguments that describe them.  `hidden` names the operands that are not given
    as such but made by `prepare` from those arguments.
    """

    __slots__ = ("hidden", "optional", "prepare", "required", "rule")

    def __init__(
        self,
        rule: Callable[[Call], list[Type]],
        required: tuple[str, ...] = (),
        optional: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
        prepare: Callable[[Call], None] = _nothing,
    ) -> None:
        self.rule: Callable[[Call], list[Type]] = rule
        self.required: tuple[str, ...] = required
        self.optional: tuple[str, ...] = optional
        self.hidden: tuple[str, ...] = hidden
        self.prepare: Callable[[Call], None] = prepare


# --- results the declaration knows ---


def _group_of(declaration: OperationDeclaration, name: str) -> tuple[str, ...]:
    for group in declaration.same_types:
        if name in group:
            return group
    return ()


def is_declared(declaration: OperationDeclaration, result: OperandDeclaration) -> bool:
    """Whether the declaration alone gives the type of a result."""
    if result.count != ONE:
        return False
    operands = [o.name for o in declaration.operands]
    return (
        result.name in declaration.fixed_types
        or result.constraint is TOKEN_TYPE
        or result.constraint is SCALAR_I32
        or any(name in operands for name in _group_of(declaration, result.name))
    )


def _declared_type(call: Call, result: OperandDeclaration) -> Type:
    fixed = call.declaration.fixed_types.get(result.name)
    if fixed is not None:
        return fixed
    if result.constraint is TOKEN_TYPE:
        return TOKEN
    for name in _group_of(call.declaration, result.name):
        found = call.types(name)
        if found:
            return found[0]
    return scalar_tile(I32)


def result_types(call: Call, inference: Inference) -> list[Type]:
    """The types of all results, where `inference` is the rule of the operation."""
    declaration = call.declaration
    left = inference.rule(call)
    found: list[Type] = []
    for result in declaration.results:
        if inference is _DECLARED or is_declared(declaration, result):
            found.append(_declared_type(call, result))
        elif result.count == VARIADIC:
            found.extend(left)
            left = []
        else:
            found.append(left[0])
            left = left[1:]
    return found


# --- results of a given type ---


def _given_type(call: Call) -> list[Type]:
    return [value_type(call.extra("type"))]


def _given_types(call: Call) -> list[Type]:
    types = call.extra("types")
    if types is None:
        return []
    if not isinstance(types, (list, tuple)):
        call.fail(f"'types' must be a list of types, got {described(types)}")
    return [value_type(item) for item in types]


def _converted(call: Call) -> list[Type]:
    """A tile of the source's shape: `type` is the element type, or the whole tile type."""
    wanted = call.extra("type")
    if isinstance(wanted, TileType):
        return [wanted]
    source = call.tile(call.declaration.operands[0].name)
    return [with_element(source, element(wanted))]


def _reshaped(call: Call) -> list[Type]:
    """A tile of the source's elements: `shape` is the shape, or the whole tile type."""
    wanted = call.extra("shape")
    if isinstance(wanted, TileType):
        return [wanted]
    return [tile(extents(wanted, call.declaration.mnemonic), call.tile("source").element)]


def _allocated(call: Call) -> list[Type]:
    """A pointer: `type` is what it points to, or the pointer type."""
    wanted = call.extra("type")
    if isinstance(wanted, (TileType, PointerType)):
        return [value_type(wanted)]
    return [scalar_tile(ptr(wanted))]


def _sizes(call: Call) -> list[Type]:
    """One scalar per dimension, i32 unless `type` says otherwise."""
    wanted = call.extra("type")
    scalar = scalar_tile(I32) if wanted is None else value_type(wanted)
    if call.declaration is GET_TENSOR_SHAPE:
        return [scalar] * call.tensor("src").rank
    return [scalar] * call.view("src").index_rank


# --- results that follow from the operands ---


def _comparison(call: Call) -> list[Type]:
    return [with_element(call.tile("lhs"), I1)]


def _joined(call: Call) -> list[Type]:
    lhs = call.tile("lhs")
    rhs = call.tile("rhs")
    axis = call.axis("dim", lhs.rank)
    if rhs.rank != lhs.rank:
        call.fail(f"'lhs' and 'rhs' must have the same rank, got {lhs.spelling} and {rhs.spelling}")
    shape = list(lhs.shape)
    shape[axis] += rhs.shape[axis]
    return [tile(shape, lhs.element)]


def _permuted(call: Call) -> list[Type]:
    source = call.tile("source")
    order = call.attributes.get("permutation")
    axes = order.values if isinstance(order, DenseArrayAttribute) else ()
    if sorted(axes) != list(range(source.rank)):
        call.fail(f"'permutation' must name each dimension from 0 to {source.rank - 1} once, got {list(axes)}")
    return [tile([source.shape[axis] for axis in axes], source.element)]


def _packed(call: Call) -> list[Type]:
    source = call.tile("source")
    return [tile(source.count * element_width(source) // 8, I8)]


def _unpacked(call: Call) -> list[Type]:
    wanted = call.extra("type")
    if isinstance(wanted, TileType):
        return [wanted]
    kind = element(wanted)
    width = kind.width if isinstance(kind, (IntegerType, FloatType)) else 64
    return [tile(call.tile("source").count * 8 // width, kind)]


def _reduced(call: Call) -> list[Type]:
    found: list[Type] = []
    for type in call.types("operands"):
        if not isinstance(type, TileType):
            call.fail(f"'operands' must be tiles, got {described(type)}")
        axis = call.axis("dim", type.rank)
        found.append(tile(type.shape[:axis] + type.shape[axis + 1 :], type.element))
    return found


def _global_pointer(call: Call) -> list[Type]:
    reference = call.attributes.get("name")
    name = reference.path[0] if isinstance(reference, SymbolAttribute) else ""
    found = call.symbols.lookup_again(call.block, name)
    value = found.attributes.get("value") if found is not None else None
    if not isinstance(value, DenseAttribute):
        call.fail(f"the module has no global '{name}'")
    return [scalar_tile(ptr(value.element_type))]


def _tensor_view_sizes(call: Call) -> None:
    """Extents and strides that are values become operands; numbers become part of the type."""
    for name, operand in (("shape", "dynamicShape"), ("strides", "dynamicStrides")):
        sizes = call.extra(name)
        if not isinstance(sizes, (list, tuple)):
            call.fail(f"'{name}' must be a list of integers and values, got {described(sizes)}")
        call.given[operand] = [size for size in sizes if not isinstance(size, int)]
        call.extras[name] = [size if isinstance(size, int) else None for size in sizes]


def _tensor_view(call: Call) -> list[Type]:
    base = call.tile("base").element
    pointee = call.pointed_to("base").element
    attribute = base.attribute if isinstance(base, PointerType) else None
    return [tensor_view(call.extra("shape"), pointee, call.extra("strides"), attribute)]


def _partition_view(call: Call) -> list[Type]:
    over = call.tensor("tensor_view")
    return [partition_view(call.extra("tile"), over, call.extra("padding"), call.extra("dim_map"))]


def _strided_view(call: Call) -> list[Type]:
    over = call.tensor("tensor_view")
    strides = call.extra("traversal_strides")
    return [strided_view(call.extra("tile"), over, strides, call.extra("padding"), call.extra("dim_map"))]


def _gather_scatter_view(call: Call) -> list[Type]:
    over = call.tensor("tensor_view")
    return [gather_scatter_view(call.extra("tile"), over, call.extra("sparse_dim"), call.extra("padding"))]


_CONVERSION: Final = Inference(_converted, required=("type",))
_RESHAPE: Final = Inference(_reshaped, required=("shape",))
_GIVEN: Final = Inference(_given_type, required=("type",))
_SIZES: Final = Inference(_sizes, optional=("type",))
_DECLARED: Final = Inference(lambda call: [])

INFERENCE: Final[dict[OperationDeclaration, Inference]] = {
    ALLOCA: Inference(_allocated, required=("type",)),
    ATOMIC_LOAD_TKO: Inference(lambda call: [call.pointed_to("ptr")]),
    BITCAST: _CONVERSION,
    BROADCAST: _RESHAPE,
    CAT: Inference(_joined),
    CMPF: Inference(_comparison),
    CMPI: Inference(_comparison),
    EXTRACT: _RESHAPE,
    EXTI: _CONVERSION,
    FOR: Inference(lambda call: call.types("initValues")),
    FTOF: _CONVERSION,
    FTOI: _CONVERSION,
    GET_GLOBAL: Inference(_global_pointer),
    GET_INDEX_SPACE_SHAPE: _SIZES,
    GET_TENSOR_SHAPE: _SIZES,
    IF: Inference(_given_types, optional=("types",)),
    INT_TO_PTR: _CONVERSION,
    ITOF: _CONVERSION,
    LOAD_PTR_TKO: Inference(lambda call: [call.pointed_to("source")]),
    LOAD_VIEW_TKO: Inference(lambda call: [call.view("view").tile]),
    LOOP: Inference(_given_types, optional=("types",)),
    MAKE_GATHER_SCATTER_VIEW: Inference(_gather_scatter_view, ("tile", "sparse_dim"), ("padding",)),
    MAKE_PARTITION_VIEW: Inference(_partition_view, ("tile",), ("padding", "dim_map")),
    MAKE_STRIDED_VIEW: Inference(_strided_view, ("tile", "traversal_strides"), ("padding", "dim_map")),
    MAKE_TENSOR_VIEW: Inference(
        _tensor_view, ("shape", "strides"), (), ("dynamicShape", "dynamicStrides"), _tensor_view_sizes
    ),
    OFFSET: Inference(lambda call: [call.type_of("ptr")]),
    PACK: Inference(_packed),
    PERMUTE: Inference(_permuted),
    PTR_TO_INT: Inference(lambda call: [with_element(call.tile("source"), I64)]),
    PTR_TO_PTR: _CONVERSION,
    REDUCE: Inference(_reduced),
    RESHAPE: _RESHAPE,
    SCAN: Inference(lambda call: call.types("operands")),
    TRUNCI: _CONVERSION,
    UNPACK: Inference(_unpacked, required=("type",)),
}


_NOTHING_SAYS: Final = "nothing else says its type"

# The operations whose result types are given by the caller.
TOLD: Final[dict[OperationDeclaration, str]] = {
    CONSTANT: _NOTHING_SAYS,
    IOTA: _NOTHING_SAYS,
    UNREALIZED_CONVERSION_CAST: _NOTHING_SAYS,
}


def inference_of(declaration: OperationDeclaration) -> Inference:
    """An operation without a rule of its own is told the types its declaration does not give."""
    found = INFERENCE.get(declaration)
    if found is not None:
        return found
    left = [result for result in declaration.results if not is_declared(declaration, result)]
    if not left:
        return _DECLARED
    if len(left) == 1 and left[0].count == ONE:
        return _GIVEN
    return Inference(_given_types, required=("types",))


# --- constants ---

# The operands that a Python number fills with the tile that an operand points to or looks at, or with one i32 (i1 for
# a mask) per pointer: (operand, what to ask, of which operand).
_NUMBERS: Final[dict[OperationDeclaration, dict[str, Callable[[Call], Type]]]] = {
    ATOMIC_CAS_TKO: {
        "cmp": lambda call: call.pointed_to("pointers"),
        "val": lambda call: call.pointed_to("pointers"),
        "mask": lambda call: with_element(call.tile("pointers"), I1),
    },
    ATOMIC_LOAD_TKO: {"mask": lambda call: with_element(call.tile("ptr"), I1)},
    ATOMIC_RED_VIEW_TKO: {"value": lambda call: call.view("view").tile},
    ATOMIC_RMW_TKO: {
        "arg": lambda call: call.pointed_to("pointers"),
        "mask": lambda call: with_element(call.tile("pointers"), I1),
    },
    ATOMIC_STORE_TKO: {
        "value": lambda call: call.pointed_to("ptr"),
        "mask": lambda call: with_element(call.tile("ptr"), I1),
    },
    FPOWI: {"exponent": lambda call: with_element(call.tile("source"), I32)},
    LOAD_PTR_TKO: {
        "mask": lambda call: with_element(call.tile("source"), I1),
        "paddingValue": lambda call: call.pointed_to("source"),
    },
    OFFSET: {"offset": lambda call: with_element(call.tile("ptr"), I32)},
    STORE_PTR_TKO: {
        "value": lambda call: call.pointed_to("destination"),
        "mask": lambda call: with_element(call.tile("destination"), I1),
    },
    STORE_VIEW_TKO: {"tile": lambda call: call.view("view").tile},
}


def number_type(call: Call, operand: OperandDeclaration, position: int) -> Type | None:
    """The type a Python number takes as value `position` of an operand; None where nothing says it."""
    declaration = call.declaration
    name = operand.name
    fixed = declaration.fixed_types.get(name)
    if fixed is not None:
        return fixed
    rules = _NUMBERS.get(declaration)
    if rules is not None and name in rules:
        return rules[name](call)
    group = _group_of(declaration, name) or (name,)
    if operand.count != VARIADIC:
        for other in group:
            found = call.types(other)
            if found:
                return found[0]
    if operand.constraint is SCALAR_I1 or declaration in (ASSERT, ASSUME_COND):
        return scalar_tile(I1)
    if operand.constraint is SCALAR_INT or name == "index":
        return _size_type(call, name)
    if declaration.is_terminator:
        carried = carried_types(call)
        return carried[position] if carried is not None and position < len(carried) else None
    return None


def _size_type(call: Call, name: str) -> Type:
    """Bounds, sizes and indices: like the others that were given as values, i32 where there are none."""
    for other in ("lowerBound", "upperBound", "step", "dynamicShape", "dynamicStrides", "index"):
        for item in call.given.get(other, []):
            if isinstance(item, Value) and isinstance(item.type, TileType) and not item.type.shape:
                return item.type
    return scalar_tile(I32)


def carried_types(call: Call) -> list[Type] | None:
    """What the operation around a terminator expects from it, as far as it is known already."""
    terminator = call.declaration
    around = call.block.parent_operation
    if terminator in (CONTINUE, BREAK):
        while around is not None and around.declaration is IF:
            around = around.parent_operation
    if around is None:
        return None
    return expected_types(around, terminator)


def expected_types(around: Operation, terminator: OperationDeclaration) -> list[Type] | None:
    """What a terminator gives to the operation it ends a block of; None where that is still open."""
    kind = around.declaration
    if terminator is CONTINUE and kind in (FOR, LOOP):
        return [value.type for value in around.operand_group("initValues")]
    if terminator is YIELD and kind in (REDUCE, SCAN):
        return [scalar_tile(t.element) for t in [v.type for v in around.operands] if isinstance(t, TileType)]
    if terminator in (YIELD, BREAK) and around.results:
        return [result.type for result in around.results]
    return None

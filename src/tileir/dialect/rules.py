"""Rules that several operations share: functions, terminators, values carried between blocks, and memory accesses.

An access states how others may access the same memory at the same time (its ordering) and which others (its scope).  A
weak access promises that there are none, so it has no scope; every other one needs a scope.
`seq_cst` has no public form; it is accepted here and refused when the program is legalized (docs/reference/conflicts.md B2).
"""

from __future__ import annotations

from tileir.annotations import Final, cast
from tileir.dialect.attributes import verify_hints
from tileir.dialect.constraints import shape_of
from tileir.dialect.types import GatherScatterViewType, PointerType, TensorViewType, TileType, TileViewType
from tileir.ir.attributes import ArrayAttribute, DictionaryAttribute, TypeAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration, TypeRule, VerifyContext, named_types
from tileir.ir.diagnostics import Code, Invalid, note
from tileir.ir.symbols import verify_symbol
from tileir.ir.traits import TERMINATOR
from tileir.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, FunctionType, IntegerType, Type, function_type
from tileir.ir.values import BlockArgument, Value

# --- functions ---


def signature(function: Operation) -> FunctionType:
    found = function.attributes.get("function_type")
    if isinstance(found, TypeAttribute) and isinstance(found.type, FunctionType):
        return found.type
    return function_type((), ())


def verify_function(function: Operation) -> None:
    """MLIR's rules for every function: a symbol whose entry block has the arguments of its type."""
    verify_symbol(function)
    inputs = signature(function).inputs
    for index, type in enumerate(inputs):
        if not type.is_portable:
            raise Invalid(f"argument #{index} must have a portable type, but got '{type.text}'")
    _verify_dictionaries(function, "arg_attrs", "argument", len(inputs))
    _verify_dictionaries(function, "res_attrs", "result", len(signature(function).results))
    if not function.regions or not function.regions[0].blocks:
        return
    arguments = function.regions[0].blocks[0].arguments
    if len(arguments) != len(inputs):
        raise Invalid(f"entry block must have {len(inputs)} arguments to match function signature")
    for index, argument in enumerate(arguments):
        if argument.type is not inputs[index]:
            raise Invalid(
                f"type of entry block argument #{index}('{argument.type.text}') must match the type of the "
                f"corresponding argument in function signature('{inputs[index].text}')"
            )


def _verify_dictionaries(function: Operation, name: str, noun: str, count: int) -> None:
    found = function.attributes.get(name)
    if not isinstance(found, ArrayAttribute):
        return
    if len(found.elements) != count:
        raise Invalid(
            f"expects {noun} attribute array to have the same number of elements as the number of function {noun}s, "
            f"got {len(found.elements)}, but expected {count}"
        )
    for element in found.elements:
        if isinstance(element, DictionaryAttribute) and any("." not in key for key, _ in element.entries):
            raise Invalid(f"{noun}s may only have dialect attributes")


def verify_terminator(operation: Operation) -> None:
    """The only region of an operation with an implicit terminator ends in that one and no other."""
    implied = operation.declaration.regions[0].implicit_terminator
    assert implied is not None
    for region in operation.regions:
        last = region.blocks[0].last if region.blocks else None
        # An operation that is no terminator at all was reported with its block.
        if last is not None and last.declaration is not implied and last.declaration.traits & TERMINATOR:
            raise wrong_terminator(operation, last, implied)


def wrong_terminator(operation: Operation, last: Operation, implied: OperationDeclaration) -> Invalid:
    """The error of a region that ends in another operation than one it may end in; `implied` need not be written."""
    message = f"in custom textual format, the absence of terminator implies '{implied.name}'"
    return Invalid(
        f"expects regions to end with '{implied.name}', found '{last.name}'",
        notes=[note(message, operation.location)],
    )


# --- control flow ---


def value_types(values: list[Value]) -> list[Type]:
    return [value.type for value in values]


def result_types(operation: Operation) -> list[Type]:
    return [value.type for value in operation.results]


def quoted(types: list[Type]) -> str:
    return ", ".join([f"'{t.text}'" for t in types])


def _verify_carried_type(what: str, position: int, type: Type) -> None:
    """Views are never carried from one block to another."""
    if isinstance(type, TensorViewType):
        raise Invalid(f"{what} {position} is a tensor_view, which is not supported")
    if isinstance(type, TileViewType):
        raise Invalid(f"{what} {position} is a tile view, which is not supported")


def verify_result_types(operation: Operation) -> None:
    for position, value in enumerate(operation.results):
        _verify_carried_type("result type", position, value.type)


def verify_carried_values(operation: Operation, initial: list[Value], carried: list[BlockArgument]) -> None:
    if len(carried) != len(initial):
        raise Invalid(
            f"mismatch in number of region iterator values and loop iterator inits: {len(carried)} vs {len(initial)}"
        )
    for position, argument in enumerate(carried):
        _verify_carried_type("loop-carried value", position, argument.type)
        if initial[position].type is not argument.type:
            raise Invalid(
                f"init value {position} and region iter_value {position} have different type: "
                f"'{initial[position].type.text}' != '{argument.type.text}'"
            )
    verify_result_types(operation)


# --- orderings and scopes ---

_ATOMIC_ORDERINGS: Final = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")


def _checked_ordering(operation: Operation) -> str:
    """The ordering of a load or store, which is one of those it may have."""
    ordering = operation.memory_ordering_semantics
    strongest = "acquire" if operation.declaration.reads is not None else "release"
    if ordering not in ("weak", "relaxed", strongest, "seq_cst"):
        code = Code("wrong-keyword", got=ordering, choices=f"weak, relaxed, {strongest}")
        raise Invalid(f"expect one of: weak, relaxed, or {strongest}, but got: {ordering}", code=code)
    return ordering


def verify_ordering(operation: Operation, context: VerifyContext) -> None:
    """The ordering of an atomic load or store."""
    _checked_ordering(operation)


def verify_ordering_and_scope(operation: Operation, context: VerifyContext) -> None:
    """The ordering of a load or store that is not atomic, and its scope."""
    ordering = _checked_ordering(operation)
    if (ordering == "weak") == ("memory_scope" in operation.attributes):
        noun = "load" if operation.declaration.reads is not None else "store"
        if ordering == "weak":
            raise Invalid(f"weak {noun} must not have memory scope", code=Code("unwanted-scope"))
        code = Code("missing-scope", ordering=ordering)
        raise Invalid(f"memory scope is required for {ordering} {noun}", code=code)


def verify_atomic_ordering(operation: Operation) -> None:
    """Ordering of an atomic that reads and writes; its scope is a required attribute."""
    if operation.memory_ordering_semantics not in _ATOMIC_ORDERINGS:
        raise Invalid("memory ordering semantics must be one of: relaxed, acquire, release, acq_rel")


def _width(element: Type) -> int:
    return element.width if isinstance(element, (IntegerType, FloatType)) else 0


def is_word(element: Type) -> bool:
    """Whether hardware swaps the element in one step: 32 or 64 bits."""
    return _width(element) in (32, 64)


def verify_atomic_mode(operation: Operation, element: Type) -> None:
    """Which element types each read-modify-write mode works on."""
    mode = operation.mode
    if mode == "addf":
        if element not in (F16, BF16, F32, F64):
            raise Invalid("'addf' works only with floats f16, bf16, f32, and f64")
    elif mode == "xchg":
        if not is_word(element):
            raise Invalid("'xchg' works only with integers or float of 32 or 64 bitwidth")
    elif element is not I32 and element is not I64:
        raise Invalid(f"'{mode}' works only with integers i32 and i64")


def natural_size(element: Type) -> int:
    """Bytes of one element in memory as alignment rules count them: whole bytes of its bits, i1 taking one."""
    width = _width(element)
    return 1 if width == 1 else width // 8


# --- pointers and what they point to ---


def pointee_of(type: Type) -> Type:
    """What the pointers of a verified pointer tile point to."""
    return cast(PointerType, cast(TileType, type).element).pointee


def _points_to(pointers: Type, values: Type) -> bool:
    return (
        isinstance(pointers, TileType)
        and isinstance(values, TileType)
        and isinstance(pointers.element, PointerType)
        and pointers.shape == values.shape
        and pointers.element.pointee is values.element
    )


def points_to(pointers: str, values: str) -> TypeRule:
    """One pointer per value, of the value's element type."""
    return TypeRule(
        lambda op: _points_to(named_types(op, pointers)[0], named_types(op, values)[0]),
        f"failed to verify that `{pointers}` type is expected a pointer type of `{values}` type",
    )


def optional_same_shape(optional: str, other: str, message: str) -> TypeRule:
    """An operand that may be absent has the shape of another one."""
    return TypeRule(
        lambda op: all(shape_of(t) == shape_of(named_types(op, other)[0]) for t in named_types(op, optional)),
        f"failed to verify that {message}",
    )


def optional_same_type(optional: str, other: str, message: str) -> TypeRule:
    """An operand that may be absent has the type of another one."""
    return TypeRule(
        lambda op: all(t is named_types(op, other)[0] for t in named_types(op, optional)),
        f"failed to verify that {message}",
    )


# --- views ---


def view_of(operation: Operation) -> TileViewType:
    """The type of a verified operation's `view` operand."""
    return cast(TileViewType, operation.view.type)


def verify_no_multicast_view(operation: Operation) -> None:
    """Only multimem operations access several devices (13.5)."""
    if view_of(operation).tensor.attribute == "multicast":
        raise Invalid("multicast ptr_attr is not allowed")


def verify_no_multicast_pointer(operation: Operation, message: str) -> None:
    type = operation.operands[0].type
    if isinstance(type, TileType) and isinstance(type.element, PointerType) and type.element.attribute == "multicast":
        raise Invalid(message)


def verify_view_access(operation: Operation, context: VerifyContext) -> None:
    """A load or store through a view: indices, tile type, bounds promises, hints, ordering, in NVIDIA's order."""
    verify_no_multicast_view(operation)
    verify_tile_of_view(
        operation, (operation.results if operation.declaration.reads is not None else operation.operands)[0].type
    )
    verify_hints(operation, context, "view")
    verify_ordering_and_scope(operation, context)


def verify_tile_of_view(operation: Operation, tile: Type) -> None:
    view = view_of(operation)
    indices = value_types(operation.index)
    if len(indices) != view.index_rank:
        raise Invalid(f"expected {view.index_rank} index operands (based on view type), got {len(indices)}")
    if tile is not view.tile:
        raise Invalid(f"expected tile type to be '{view.tile.text}' (based on view type), got '{tile.text}'")
    if isinstance(view, GatherScatterViewType):
        _verify_gather_indices(view, indices)
    else:
        _verify_scalar_indices(indices)
    verify_inbounds(operation)


def verify_inbounds(operation: Operation) -> None:
    inbounds, indices = operation.inbounds, operation.index
    if inbounds is not None and len(inbounds) != len(indices):
        raise Invalid(f"inbounds size ({len(inbounds)}) must match the number of index dimensions ({len(indices)})")


def _verify_scalar_indices(indices: list[Type]) -> None:
    for type in indices:
        if not isinstance(type, TileType):
            raise Invalid(f"expected index type to be a tile type, got '{type.text}'")
        if type.shape:
            raise Invalid(f"expected index type to be a scalar tile, got '{type.text}'")
    for position, type in enumerate(indices):
        if type is not indices[0]:
            raise Invalid(
                f"expected index type {position} to be the same as other index types "
                f"('{indices[0].text}'), got '{type.text}'"
            )


def _verify_gather_indices(view: GatherScatterViewType, indices: list[Type]) -> None:
    """One list of rows at the sparse dimension, scalars of one type everywhere else."""
    sparse = view.sparse_dim
    if sparse >= len(indices):
        raise Invalid(f"gather/scatter dimension {sparse} is out of range for index count {len(indices)}")
    rows = indices[sparse]
    if not isinstance(rows, TileType):
        raise Invalid(f"expected index at sparse_dim position {sparse} to be a tile type for GatherScatterView")
    if len(rows.shape) != 1:
        raise Invalid(
            f"expected index at sparse_dim position {sparse} to be a 1D tensor for GatherScatterView, "
            f"got rank {len(rows.shape)}"
        )
    if rows.shape[0] != view.tile_shape[sparse]:
        raise Invalid(
            f"expected gather/scatter index size ({rows.shape[0]}) to match tile shape at gather/scatter dimension "
            f"{sparse} ({view.tile_shape[sparse]})"
        )
    scalar: Type | None = None
    for position, type in enumerate(indices):
        if position == sparse:
            continue
        if not isinstance(type, TileType) or type.shape:
            raise Invalid(f"expected index {position} to be a scalar tile for GatherScatterView")
        if scalar is None:
            scalar = type
        elif type is not scalar:
            raise Invalid(
                f"expected scalar index {position} to have the same type as other scalar indices "
                f"('{scalar.text}'), got '{type.text}'"
            )


def verify_view_source(operation: Operation, context: VerifyContext) -> None:
    """The tensor view in the type of a new view is the one it is made from."""
    source = operation.operands[0].type
    expected = cast(TileViewType, operation.results[0].type).tensor
    if source is not expected:
        raise Invalid(
            f"expected the type of the provided tensor_view value ('{source.text}') to be the same as the view's "
            f"tensor_view type ('{expected.text}')"
        )

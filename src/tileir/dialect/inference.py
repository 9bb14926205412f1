"""One operation being built from Python (`Call`), and the types that the builder finds for it.

Most result types follow from the declaration: a fixed type, the type of an operand in the same `same_types` group, a
token.  For others the declaration has an `inference`: a function of the call, and the arguments it needs beside the
operands (the element type of a conversion, the shape of a reshape, the tile of a view).  Functions that several
operations share are here; those of one operation are next to its declaration.
"""

from __future__ import annotations

from tileir.annotations import Callable, Final, NoReturn
from tileir.dialect.constraints import SCALAR_I1, SCALAR_I32, SCALAR_INT, TOKEN_TYPE
from tileir.dialect.construct import described, element, extents, tile, value_type
from tileir.dialect.types import (
    TOKEN,
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar_tile,
    tile_type,
    with_element,
)
from tileir.ir.attributes import Attribute, IntegerAttribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import ONE, VARIADIC, OperandDeclaration, OperationDeclaration
from tileir.ir.diagnostics import BuildError
from tileir.ir.symbols import Symbols
from tileir.ir.types import I1, I32, Type
from tileir.ir.values import Value


class Call:
    """The arguments of one operation.

    `given` holds what was passed for each operand, `operands` the values it became; `extras` holds the arguments
    that describe the result type (`type`, `shape`, `tile`), as they were passed.  `symbols` are those around.
    """

    def __init__(self, declaration: OperationDeclaration, block: Block, symbols: Symbols) -> None:
        self.declaration: OperationDeclaration = declaration
        self.block: Block = block
        self.given: dict[str, list[object]] = {}
        self.operands: dict[str, list[Value]] = {}
        self.extras: dict[str, object] = {}
        self.attributes: dict[str, Attribute] = {}
        self.regions: list[Region] = []
        self.symbols: Symbols = symbols

    def fail(self, message: str) -> NoReturn:
        """Refuse the call; the builder puts the operation's name in front."""
        raise BuildError(message)

    def extra(self, name: str) -> object:
        """An argument that describes the result type; None where it was left out."""
        return self.extras.get(name)

    def types(self, name: str) -> list[Type]:
        """The types of the values given for an operand so far."""
        return [value.type for value in self.operands.get(name, [])]

    def type_of(self, name: str) -> Type:
        """The type of a single operand."""
        found = self.types(name)
        if not found:
            self.fail(f"the type of '{name}' is not known")
        return found[0]

    def tile(self, name: str) -> TileType:
        """The type of an operand that must be a tile."""
        found = self.type_of(name)
        if not isinstance(found, TileType):
            self.fail(f"'{name}' must be a tile, got {described(found)}")
        return found

    def view(self, name: str) -> TileViewType:
        found = self.type_of(name)
        if not isinstance(found, TileViewType):
            self.fail(f"'{name}' must be a partition, strided or gather/scatter view, got {described(found)}")
        return found

    def tensor(self, name: str) -> TensorViewType:
        found = self.type_of(name)
        if not isinstance(found, TensorViewType):
            self.fail(f"'{name}' must be a tensor_view, got {described(found)}")
        return found

    def pointed_to(self, name: str) -> TileType:
        pointers = self.tile(name)
        if not isinstance(pointers.element, PointerType):
            self.fail(f"'{name}' must be a tile of pointers, got {described(pointers)}")
        return tile_type(pointers.shape, pointers.element.pointee)

    def axis(self, name: str, rank: int) -> int:
        """An attribute that names a dimension."""
        value = self.attributes.get(name)
        number = value.value if isinstance(value, IntegerAttribute) else -1
        if not 0 <= number < rank:
            self.fail(f"'{name}' must be a dimension from 0 to {rank - 1}, got {number}")
        return number


def expected_results(around: Operation, terminator: OperationDeclaration) -> list[Type] | None:
    """Most terminators pass the results of the operation around them, once their types are known."""
    return [result.type for result in around.results] if around.results else None


class Inference:
    """How to find the types that the declaration does not have.

    `rule` returns the types of the results.  `required` and `optional` name the arguments that describe them.  `hidden`
    names the operands that `prepare` makes from those arguments.  `numbers` returns the type that a Python number takes
    as an operand.  `carried` returns the types that a terminator passes to the operation around it, `expects` those that
    an operation with a region expects from a terminator.
    """

    def __init__(
        self,
        rule: Callable[[Call], list[Type]] | None = None,
        required: tuple[str, ...] = (),
        optional: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
        prepare: Callable[[Call], None] | None = None,
        numbers: dict[str, Callable[[Call], Type]] | None = None,
        carried: Callable[[Call], list[Type] | None] | None = None,
        expects: Callable[[Operation, OperationDeclaration], list[Type] | None] = expected_results,
    ) -> None:
        self.rule: Callable[[Call], list[Type]] | None = rule
        self.required: tuple[str, ...] = required
        self.optional: tuple[str, ...] = optional
        self.hidden: tuple[str, ...] = hidden
        self.prepare: Callable[[Call], None] | None = prepare
        self.numbers: dict[str, Callable[[Call], Type]] = numbers if numbers is not None else {}
        self.carried: Callable[[Call], list[Type] | None] | None = carried
        self.expects: Callable[[Operation, OperationDeclaration], list[Type] | None] = expects


# --- results the declaration knows ---


def _group_of(declaration: OperationDeclaration, name: str) -> tuple[str, ...]:
    for group in declaration.same_types:
        if name in group:
            return group
    return ()


def is_declared(declaration: OperationDeclaration, result: OperandDeclaration) -> bool:
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
    left = inference.rule(call) if inference.rule is not None else []
    found: list[Type] = []
    for result in declaration.results:
        if is_declared(declaration, result):
            found.append(_declared_type(call, result))
        elif result.count == VARIADIC:
            found.extend(left)
            left = []
        elif left:
            found.append(left[0])
            left = left[1:]
        else:
            call.fail(f"the type of '{result.name}' is not known")
    return found


# --- results of a given type ---


def _given_type(call: Call) -> list[Type]:
    return [value_type(call.extra("type"))]


def given_types(call: Call) -> list[Type]:
    types = call.extra("types")
    if types is None:
        return []
    if not isinstance(types, (list, tuple)):
        call.fail(f"'types' must be a list of types, got {described(types)}")
    return [value_type(item) for item in types]


def _converted(call: Call) -> list[Type]:
    """A tile of the source's shape: `type` is the element type, or the whole tile type."""
    requested = call.extra("type")
    if isinstance(requested, TileType):
        return [requested]
    source = call.tile(call.declaration.operands[0].name)
    return [with_element(source, element(requested))]


def _reshaped(call: Call) -> list[Type]:
    """A tile of the source's elements: `shape` is the shape, or the whole tile type."""
    requested = call.extra("shape")
    if isinstance(requested, TileType):
        return [requested]
    return [tile(extents(requested, call.declaration.mnemonic), call.tile("source").element)]


def scalar_sizes(call: Call, count: int) -> list[Type]:
    """One scalar per dimension, i32 or the requested `type`."""
    requested = call.extra("type")
    return [scalar_tile(I32) if requested is None else value_type(requested)] * count


CONVERTED: Final = Inference(_converted, required=("type",))
RESHAPED: Final = Inference(_reshaped, required=("shape",))
COMPARED: Final = Inference(lambda call: [with_element(call.tile("lhs"), I1)])
# The caller passes the types, because they follow from nothing else.
GIVEN_TYPE: Final = Inference(_given_type, required=("type",))
GIVEN_TYPES: Final = Inference(given_types, required=("types",))
_DECLARED: Final = Inference()


def inference_of(declaration: OperationDeclaration) -> Inference:
    """How to find the types of an operation; where the declaration has no way, the caller passes them."""
    found = declaration.inference
    if isinstance(found, Inference):
        return found
    left = [result for result in declaration.results if not is_declared(declaration, result)]
    if not left:
        return _DECLARED
    return GIVEN_TYPE if len(left) == 1 and left[0].count == ONE else GIVEN_TYPES


# --- constants ---


def number_type(call: Call, operand: OperandDeclaration, position: int) -> Type | None:
    """The type a Python number takes as value `position` of an operand; None where it is not known."""
    declaration = call.declaration
    name = operand.name
    fixed = declaration.fixed_types.get(name)
    if fixed is not None:
        return fixed
    inference = inference_of(declaration)
    rule = inference.numbers.get(name)
    if rule is not None:
        return rule(call)
    group = _group_of(declaration, name) or (name,)
    if operand.count != VARIADIC:
        for other in group:
            found = call.types(other)
            if found:
                return found[0]
    if operand.constraint is SCALAR_I1:
        return scalar_tile(I1)
    if operand.constraint is SCALAR_INT:
        return size_type(call, [other.name for other in declaration.operands if other.constraint is SCALAR_INT])
    carried = inference.carried(call) if inference.carried is not None else None
    return carried[position] if carried is not None and position < len(carried) else None


def size_type(call: Call, names: list[str]) -> Type:
    """Bounds, sizes and indices: like those of these operands that were given as values, i32 where there are none."""
    for name in names:
        for item in call.given.get(name, []):
            if isinstance(item, Value) and isinstance(item.type, TileType) and not item.type.shape:
                return item.type
    return scalar_tile(I32)


def index_type(call: Call) -> Type:
    """A number among the indices of a view."""
    return size_type(call, ["index"])


def mask_of(name: str) -> Callable[[Call], Type]:
    """A number for an operand that has one i1 for each element of another."""
    return lambda call: with_element(call.tile(name), I1)


def pointed_to(name: str) -> Callable[[Call], Type]:
    """A number for an operand that has what the pointers of another point to."""
    return lambda call: call.pointed_to(name)


def tile_of_view(name: str) -> Callable[[Call], Type]:
    """A number for an operand that is a tile of a view."""
    return lambda call: call.view(name).tile


def expected_types(around: Operation, terminator: OperationDeclaration) -> list[Type] | None:
    """The types that an operation expects from a terminator of its block; None where they are not known yet."""
    return inference_of(around.declaration).expects(around, terminator)

"""Statements on memory through pointers: what is written is read again, in the order that tokens give.

No order changes the outcome of atomics.  On memory of the tile block's own every element is met once, so the old values
are known.  In arrays that all tile blocks share an element has one way to be combined, which is commutative and exact,
and no statement uses the old values.
"""

from __future__ import annotations

from math import prod

from tileir.analyze.smith.tiles import Memory, Shape, State, Tile
from tileir.analyze.smith.writer import GivenUp, Statement, Writer, statements
from tileir.dialect import ops
from tileir.dialect.literals import dense_of
from tileir.dialect.types import PointerType, pointer_type, scalar_tile, tile_type
from tileir.ir.attributes import Attribute, string_attribute, symbol_attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, F64, I1, I8, I16, I32, I64, FloatType, Type
from tileir.ir.values import Value

_PART = 64
"""Elements of an array that belong to one tile block."""
_TABLE = 16
"""Elements of a global."""


def _memory(writer: Writer, elements: list[Type] | None = None) -> Memory:
    """An array with a part for each tile block; new ones only outside of loops and branches."""
    kinds = elements or [*writer.integers, *writer.floats]
    known = [found for found in writer.memories if found.element in kinds]
    if known and (len(writer.scopes) > 1 or writer.bits.chance(75)):
        return writer.bits.choice(known)
    _check_room(writer)
    element = writer.bits.choice(kinds)
    base = writer.array(element, _PART * writer.blocks, writer.bits.below(1 << 32))
    found = Memory(writer.own_part(base, _PART), element, _PART)
    writer.memories.append(found)
    return found


def _check_room(writer: Writer) -> None:
    if len(writer.scopes) > 1 or len(writer.memories) > 3:
        raise GivenUp


def _apart(writer: Writer, found: Memory, shape: Shape) -> Tile:
    """Pointers into a memory, each element's its own: two elements of one store must not meet."""
    size, count = prod(shape), found.count
    lanes = writer.reshaped(writer.lanes(size), shape)
    kind = writer.bits.below(4)
    if kind == 0 and size < count:
        lanes = writer.apply(ops.ADDI, lanes, writer.constant(shape, I32, writer.bits.below(count - size + 1)))
    elif kind == 1:
        lanes = writer.apply(ops.XORI, lanes, writer.constant(shape, I32, writer.bits.below(count)))
    elif kind == 2:
        lanes = writer.apply(ops.SUBI, writer.constant(shape, I32, count - 1), lanes)
    return writer.pointers(found.base, lanes)


def _small_shape(writer: Writer, most: int) -> Shape:
    shape = writer.some_shape()
    return shape if prod(shape) <= most else (most,)


def ordering(writer: Writer, strong: str) -> dict[str, object]:
    """Mostly weak; otherwise with a scope."""
    word = writer.bits.choice(("weak",) * 6 + ("relaxed", strong))
    scope = writer.bits.choice(("tl_blk", "device", "sys")) if word != "weak" else None
    return {"memory_ordering_semantics": word, "memory_scope": scope}


def _load(writer: Writer) -> None:
    if writer.bits.chance(30):
        element = writer.bits.choice(writer.stored)
        writer.know(writer.loaded(writer.some_shape(), element))
    else:
        found = _memory(writer)
        _read(writer, found, _pointers(writer, found))


def _pointers(writer: Writer, found: Memory) -> Tile:
    """Pointers to any elements of a memory."""
    return writer.pointers(found.base, writer.places(writer.some_shape(), found.count))


def _read(writer: Writer, found: Memory, pointers: Tile, numeric: bool = True) -> None:
    assert isinstance(pointers.element, PointerType)
    masked = writer.maybe_masked(pointers.shape, pointers.element.pointee, 30)
    named = ordering(writer, "acquire")
    value, token = writer.op(ops.LOAD_PTR_TKO, pointers, *masked, found.state.write, **named).results
    found.was_read(token)
    writer.know(Tile(value, numeric=numeric))


def _store(writer: Writer) -> None:
    found = _memory(writer)
    shape = _small_shape(writer, found.count)
    value = writer.numeric(writer.want(shape, found.element))
    pointers = _apart(writer, found, shape)
    mask = writer.want(shape, I1) if writer.bits.chance(30) else None
    token = writer.joined(found.accesses)
    found.was_written(writer.value(ops.STORE_PTR_TKO, pointers, value, mask, token, **ordering(writer, "release")))


def _alloca(writer: Writer) -> None:
    """Memory of the tile block's own, all of it written before anything is read."""
    _check_room(writer)
    element = writer.bits.choice([*writer.integers, *writer.floats])
    count = writer.bits.choice((8, 16, 32))
    pointer = scalar_tile(pointer_type(element))
    base = Tile(writer.value(ops.ALLOCA, pointer, count, writer.bits.choice((8, 16, 64))))
    value = writer.numeric(writer.want((count,), element))
    stored = writer.value(ops.STORE_PTR_TKO, writer.pointers(base, writer.lanes(count)), value)
    writer.memories.append(Memory(base, element, count, State(stored)))


def _global(writer: Writer) -> None:
    """A table that is read."""
    element = writer.bits.choice([*writer.integers, *writer.floats])
    if not writer.globals or (len(writer.globals) < 2 and writer.bits.chance(40)):
        numbers = [writer.bits.between(-20, 20) for _ in range(_TABLE)]
        values = [number / 4 for number in numbers] if isinstance(element, FloatType) else numbers
        attributes: dict[str, Attribute] = {
            "sym_name": string_attribute(f"table_{len(writer.globals)}"),
            "value": dense_of(values, tile_type((_TABLE,), element)),
        }
        table = Operation(ops.GLOBAL, [], [], attributes)
        writer.globals.append(table)
    else:
        table = writer.bits.choice(writer.globals)
    # By hand: there is no module yet in which the name could be looked up.
    pointer = scalar_tile(pointer_type(table.value_attribute.element_type))
    name = symbol_attribute(table.symbol_name or "")
    found = writer.append(Operation(ops.GET_GLOBAL, [], [pointer], {"name": name}))
    pointers = writer.pointers(Tile(found.result), writer.places(writer.some_shape(), _TABLE))
    writer.know(Tile(writer.value(ops.LOAD_PTR_TKO, pointers)))


# --- pointers as integers and as other pointers ---


def _through_integers(writer: Writer) -> None:
    """Pointers that were integers on the way; no other use of an address is the same twice."""
    found = _memory(writer)
    pointers = _pointers(writer, found)
    again = writer.value(ops.INT_TO_PTR, writer.value(ops.PTR_TO_INT, pointers), pointers.type)
    _read(writer, found, Tile(again))


_TWINS: dict[Type, Type] = {F16: I16, BF16: I16, F32: I32, F64: I64, I16: F16, I32: F32, I64: F64}


def _other_pointers(writer: Writer) -> None:
    """The bits of one type as those of another of the same width."""
    found = _memory(writer, [kind for kind in (*writer.integers, *writer.floats) if kind in _TWINS])
    if found.element is I8:
        return
    element, pointers = _TWINS[found.element], _pointers(writer, found)
    other = Tile(writer.value(ops.PTR_TO_PTR, pointers, tile_type(pointers.shape, pointer_type(element))))
    _read(writer, found, other, numeric=not isinstance(element, FloatType))


def _offset(writer: Writer) -> None:
    """Pointers by two steps, the second one back."""
    found = _memory(writer)
    shape = writer.some_shape()
    places = writer.places(shape, found.count)
    far = writer.pointers(found.base, places)
    begin = writer.value(ops.OFFSET, far, writer.value(ops.SUBI, writer.constant(shape, I32, 0), places))
    _read(writer, found, Tile(writer.value(ops.OFFSET, begin, writer.places(shape, found.count))))


# --- tokens ---


def _tokens(writer: Writer, count: int) -> list[Value]:
    found = [token for memory in writer.memories for token in memory.last_write]
    return [*found, *[writer.value(ops.MAKE_TOKEN) for _ in range(count - len(found))]][:4]


def _ordered(writer: Writer, token: Value) -> None:
    """Let all accesses that follow come after a token."""
    for found in writer.memories:
        found.was_read(token)


def _join(writer: Writer) -> None:
    """A token for several, which a load comes after."""
    _ordered(writer, writer.value(ops.JOIN_TOKENS, _tokens(writer, 2)))


def _make(writer: Writer) -> None:
    _ordered(writer, writer.value(ops.MAKE_TOKEN))


def _fence(writer: Writer, declaration: OperationDeclaration) -> None:
    """An operation between tokens that orders what comes after it with what came before."""
    token = _tokens(writer, 1)[0]
    takes = declaration is ops.MEMORY_FENCE_ALIAS_TKO or not writer.bits.chance(50)
    _ordered(writer, writer.value(declaration, token if takes else None))


FENCES = (*statements(_fence, ops.MEMORY_FENCE_ALIAS_TKO, ops.GDC_WAIT_TKO, ops.GDC_LAUNCH_DEPENDENTS_TKO),)
MEMORY = (
    *[Statement(ops.LOAD_PTR_TKO, _load)] * 2, *[Statement(ops.STORE_PTR_TKO, _store)] * 2,
    Statement(ops.ALLOCA, _alloca), Statement(ops.GLOBAL, _global), Statement(ops.GET_GLOBAL, _global),
    Statement(ops.PTR_TO_INT, _through_integers), Statement(ops.INT_TO_PTR, _through_integers),
    Statement(ops.PTR_TO_PTR, _other_pointers), Statement(ops.OFFSET, _offset),
    Statement(ops.JOIN_TOKENS, _join), Statement(ops.MAKE_TOKEN, _make),
)  # fmt: skip

# --- atomics ---

_SHARED = 16
"""Elements of an array that all tile blocks share."""
_COMMUTATIVE = ("and", "or", "xor", "add", "max", "min", "umax", "umin")


def _atomic_ordering(writer: Writer, *scopes: str) -> dict[str, object]:
    semantics = writer.bits.choice(("relaxed", "relaxed", "acquire", "release", "acq_rel"))
    return {"memory_ordering_semantics": semantics, "memory_scope": writer.bits.choice(scopes)}


def _own(writer: Writer) -> None:
    """Read, modify and write elements that no other tile block knows."""
    found = _memory(writer, [I32, I64, F32, F64])
    shape = _small_shape(writer, found.count)
    value = writer.numeric(writer.want(shape, found.element))
    mode = writer.bits.choice((*_COMMUTATIVE, "xchg")) if found.element in (I32, I64) else "xchg"
    _combine(writer, found, ops.ATOMIC_RMW_TKO, _apart(writer, found, shape), value, mode=mode)


def _swap(writer: Writer) -> None:
    found = _memory(writer, [I32, I64, F32, F64])
    shape = _small_shape(writer, found.count)
    compared, value = (writer.numeric(writer.want(shape, found.element)) for _ in range(2))
    pointers = _apart(writer, found, shape)
    mask = writer.want(shape, I1) if writer.bits.chance(30) else None
    _combine(writer, found, ops.ATOMIC_CAS_TKO, pointers, compared, value, mask)


def _combine(
    writer: Writer, found: Memory, declaration: OperationDeclaration, *values: Tile | None, **named: object
) -> None:
    """Append an atomic operation after all accesses of a memory; its old values are known."""
    token = writer.joined(found.accesses)
    named |= _atomic_ordering(writer, "tl_blk", "device", "sys")
    old, token = writer.op(declaration, *values, token=token, **named).results
    found.was_written(token)
    writer.know(Tile(old))


def _of_all(writer: Writer) -> tuple[Tile, Type, str]:
    """An array of all tile blocks, and the one way in which its elements are combined."""
    element = writer.bits.choice((I32, I32, I64, F32, F64, F16))
    mode = writer.bits.choice(_COMMUTATIVE) if element in (I32, I64) else "addf"
    if (element, mode) not in writer.shared:
        seed = None if mode == "addf" else writer.bits.below(1 << 32)
        writer.shared[element, mode] = writer.array(element, _SHARED, seed)
    return writer.shared[element, mode], element, mode


def _value(writer: Writer, shape: Shape, element: Type) -> Tile:
    """What is added to a float is 0 or 1: no sum of these rounds, however many there are in a program."""
    return writer.want(shape, element) if element in (I32, I64) else writer.whole(shape, element, 1)


def _together(writer: Writer) -> None:
    """Tile blocks and elements meet."""
    base, element, mode = _of_all(writer)
    shape = writer.some_shape()
    value = _value(writer, shape, element)
    pointers = writer.pointers(base, writer.places(shape, _SHARED))
    mask = writer.want(shape, I1) if writer.bits.chance(40) else None
    writer.op(ops.ATOMIC_RMW_TKO, pointers, value, mask, mode=mode, **_atomic_ordering(writer, "device", "sys"))


def _either(writer: Writer) -> None:
    (_own if writer.bits.chance(50) else _together)(writer)


def _through_view(writer: Writer) -> None:
    base, element, mode = _of_all(writer)
    count = writer.bits.choice((4, 8, 16))
    view = writer.value(ops.MAKE_PARTITION_VIEW, writer.value(ops.MAKE_TENSOR_VIEW, base, [_SHARED], [1]), (count,))
    value = _value(writer, (count,), element)
    index = writer.below(writer.want((), I32), _SHARED // count)
    writer.op(ops.ATOMIC_RED_VIEW_TKO, view, [index], value, None, "relaxed", "device", mode)


ATOMICS = (
    Statement(ops.ATOMIC_RMW_TKO, _either), Statement(ops.ATOMIC_CAS_TKO, _swap),
    Statement(ops.ATOMIC_RED_VIEW_TKO, _through_view),
)  # fmt: skip

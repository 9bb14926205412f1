"""Statements on memory through pointers: what is written is read again, in the order that tokens give."""

from __future__ import annotations

from tileir.analyze.smith.tiles import Shape, Tile, count_of, width_of
from tileir.analyze.smith.tokens import Memory
from tileir.analyze.smith.writer import WEAK, Statement, Writer
from tileir.dialect import ops
from tileir.dialect.enums import MEMORY_ORDERING, MEMORY_SCOPE
from tileir.dialect.types import TOKEN, PointerType, pointer_type, scalar_tile, tile_type
from tileir.ir.attributes import (
    Attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes
from tileir.ir.floats import FORMATS, from_double
from tileir.ir.types import BF16, F16, F32, F64, I1, I8, I16, I32, I64, FloatType, Type
from tileir.ir.values import Value

PART = 64
"""Elements of an array that belong to one tile block."""


def memory(writer: Writer, elements: list[Type] | None = None) -> Memory | None:
    """An array with a part for each tile block; new ones only outside of loops and branches."""
    kinds = elements or [*writer.integers, *writer.floats]
    known = [found for found in writer.memories if found.element in kinds]
    if known and (len(writer.scopes) > 1 or writer.bits.chance(75)):
        return writer.bits.choice(known)
    if len(writer.scopes) > 1 or len(writer.memories) > 3:
        return None
    element = writer.bits.choice(kinds)
    base = writer.array(element, PART * writer.blocks, writer.bits.below(1 << 32))
    found = Memory(writer.own_part(base, PART), element, PART)
    writer.memories.append(found)
    return found


def apart(writer: Writer, shape: Shape, count: int) -> Tile:
    """Places below a power of two, each element's its own: two elements of one store must not meet."""
    size = count_of(shape)
    lanes = writer.reshaped(writer.lanes(size), shape)
    kind = writer.bits.below(4)
    if kind == 0 and size < count:
        start = writer.bits.below(count - size + 1)
        found = writer.apply(ops.ADDI, lanes, writer.constant(shape, I32, start))
    elif kind == 1:
        found = writer.apply(ops.XORI, lanes, writer.constant(shape, I32, writer.bits.below(count)))
    elif kind == 2:
        found = writer.apply(ops.SUBI, writer.constant(shape, I32, count - 1), lanes)
    else:
        return lanes
    return Tile(found.value, 0, count - 1)


def small_shape(writer: Writer, most: int) -> Shape:
    shape = writer.some_shape()
    return shape if count_of(shape) <= most else (most,)


def ordering(writer: Writer, strong: str) -> dict[str, Attribute]:
    """Mostly weak; otherwise with a scope."""
    word = writer.bits.choice(("weak",) * 6 + ("relaxed", strong))
    attributes: dict[str, Attribute] = {"memory_ordering_semantics": MEMORY_ORDERING[word]}
    if word != "weak":
        attributes["memory_scope"] = MEMORY_SCOPE[writer.bits.choice(("tl_blk", "device", "sys"))]
    return attributes


def _load(writer: Writer) -> None:
    if writer.bits.chance(30):
        element = writer.bits.choice(writer.stored)
        writer.know(writer.loaded(writer.some_shape(), element))
        return
    found = memory(writer)
    if found is None:
        return
    shape = writer.some_shape()
    pointers = writer.pointers(found.base, writer.places(shape, found.count))
    read(writer, found, pointers, found.element)


def read(writer: Writer, found: Memory, pointers: Tile, element: Type, numeric: bool = True) -> None:
    operands: list[Value] = [pointers.value]
    segments = [1, 0, 0, 0]
    shape = pointers.shape
    if writer.bits.chance(30):
        mask, other = writer.want(shape, I1), writer.numeric(writer.want(shape, element))
        operands += [mask.value, other.value]
        segments[1:3] = [1, 1]
    tokens = found.last_write
    segments[3] = len(tokens)
    types: list[Type] = [tile_type(shape, element), TOKEN]
    value, token = writer.add(
        ops.LOAD_PTR_TKO, [*operands, *tokens], types, ordering(writer, "acquire"), segments=tuple(segments)
    ).results
    found.was_read(token)
    writer.know(Tile(value, numeric=numeric))


def _store(writer: Writer) -> None:
    found = memory(writer)
    if found is None:
        return
    shape = small_shape(writer, found.count)
    value = writer.numeric(writer.want(shape, found.element))
    pointers = writer.pointers(found.base, apart(writer, shape, found.count))
    write(writer, found, pointers, value)


def write(writer: Writer, found: Memory, pointers: Tile, value: Tile) -> None:
    operands: list[Value] = [pointers.value, value.value]
    masks: list[Value] = [writer.want(value.shape, I1).value] if writer.bits.chance(30) else []
    tokens = writer.joined(found.accesses)
    (token,) = writer.add(
        ops.STORE_PTR_TKO,
        [*operands, *masks, *tokens],
        [TOKEN],
        ordering(writer, "release"),
        segments=(1, 1, len(masks), len(tokens)),
    ).results
    found.was_written(token)


def _alloca(writer: Writer) -> None:
    """Memory of the tile block's own, all of it written before anything is read."""
    if len(writer.scopes) > 1 or len(writer.memories) > 3:
        return
    element = writer.bits.choice([*writer.integers, *writer.floats])
    count = writer.bits.choice((8, 16, 32))
    attributes: dict[str, Attribute] = {
        "num_elem": integer_attribute(I64, count),
        "alignment": integer_attribute(I64, writer.bits.choice((8, 16, 64))),
    }
    pointer = writer.add(ops.ALLOCA, [], [scalar_tile(pointer_type(element))], attributes).results[0]
    found = Memory(Tile(pointer), element, count)
    value = writer.numeric(writer.want((count,), element))
    pointers = writer.pointers(found.base, writer.lanes(count))
    (token,) = writer.add(
        ops.STORE_PTR_TKO, [pointers.value, value.value], [TOKEN], WEAK, segments=(1, 1, 0, 0)
    ).results
    found.was_written(token)
    writer.memories.append(found)


def _global(writer: Writer) -> None:
    """A table that is read."""
    element = writer.bits.choice([*writer.integers, *writer.floats])
    names = [operation.symbol_name or "" for operation in writer.globals]
    count = 16
    if not names or (len(names) < 2 and writer.bits.chance(40)):
        name = f"table_{len(names)}"
        type = tile_type((count,), element)
        size = element_bytes(element)
        data = b"".join([_pattern(writer, element).to_bytes(size, "little") for _ in range(count)])
        attributes: dict[str, Attribute] = {
            "sym_name": string_attribute(name),
            "value": dense_attribute(type, type.shape, element, data),
        }
        writer.globals.append(Operation(ops.GLOBAL, [], [], attributes))
    else:
        place = writer.bits.below(len(names))
        name = names[place]
        element = _element_of(writer, place)
    pointer = scalar_tile(pointer_type(element))
    base = Tile(writer.add(ops.GET_GLOBAL, [], [pointer], {"name": symbol_attribute(name)}).results[0])
    shape = writer.some_shape()
    pointers = writer.pointers(base, writer.places(shape, count))
    types: list[Type] = [tile_type(shape, element), TOKEN]
    value = writer.add(ops.LOAD_PTR_TKO, [pointers.value], types, WEAK, segments=(1, 0, 0, 0)).results[0]
    writer.know(Tile(value))


def _pattern(writer: Writer, element: Type) -> int:
    number = writer.bits.between(-20, 20)
    if isinstance(element, FloatType):
        return from_double(FORMATS[element.name], number / 4)
    return number & ((1 << width_of(element)) - 1)


def _element_of(writer: Writer, place: int) -> Type:
    value = writer.globals[place].attributes["value"]
    assert isinstance(value, DenseAttribute)
    return value.element_type


# --- pointers as integers and as other pointers ---


def _through_integers(writer: Writer) -> None:
    """Pointers that were integers on the way; no other use of an address is the same twice."""
    found = memory(writer)
    if found is None:
        return
    shape = writer.some_shape()
    pointers = writer.pointers(found.base, writer.places(shape, found.count))
    numbers = writer.add(ops.PTR_TO_INT, [pointers.value], [tile_type(shape, I64)]).results[0]
    again = writer.add(ops.INT_TO_PTR, [numbers], [pointers.value.type]).results[0]
    read(writer, found, Tile(again), found.element)


_TWINS: dict[Type, Type] = {F16: I16, BF16: I16, F32: I32, F64: I64, I16: F16, I32: F32, I64: F64}


def _other_pointers(writer: Writer) -> None:
    """The bits of one type as those of another of the same width."""
    found = memory(writer, [kind for kind in (*writer.integers, *writer.floats) if kind in _TWINS])
    if found is None or found.element is I8:
        return
    element = _TWINS[found.element]
    shape = writer.some_shape()
    pointers = writer.pointers(found.base, writer.places(shape, found.count))
    type = tile_type(shape, pointer_type(element))
    other = Tile(writer.add(ops.PTR_TO_PTR, [pointers.value], [type]).results[0])
    assert isinstance(type.element, PointerType)
    read(writer, found, other, element, numeric=not isinstance(element, FloatType))


def _offset(writer: Writer) -> None:
    """Pointers by two steps, the second one back."""
    found = memory(writer)
    if found is None:
        return
    shape = writer.some_shape()
    places = writer.places(shape, found.count)
    far = writer.pointers(found.base, places)
    back = writer.apply(ops.SUBI, writer.constant(shape, I32, 0), places)
    begin = writer.add(ops.OFFSET, [far.value, back.value], [far.value.type]).results[0]
    again = writer.places(shape, found.count)
    pointers = writer.add(ops.OFFSET, [begin, again.value], [far.value.type]).results[0]
    read(writer, found, Tile(pointers), found.element)


# --- tokens ---


def _tokens(writer: Writer, count: int) -> list[Value]:
    found = [token for memory in writer.memories for token in memory.last_write]
    while len(found) < count:
        found.append(writer.add(ops.MAKE_TOKEN, [], [TOKEN]).results[0])
    return found[:4]


def _join(writer: Writer) -> None:
    """A token for several, which a load comes after."""
    tokens = _tokens(writer, 2)
    joined = writer.add(ops.JOIN_TOKENS, tokens, [TOKEN]).results[0]
    for found in writer.memories:
        found.was_read(joined)


def _make(writer: Writer) -> None:
    token = writer.add(ops.MAKE_TOKEN, [], [TOKEN]).results[0]
    for found in writer.memories:
        found.was_read(token)


def _fence(declaration: OperationDeclaration) -> Statement:
    """An operation between tokens that orders what comes after it with what came before."""

    def build(writer: Writer) -> None:
        tokens = _tokens(writer, 1)[:1]
        if declaration is not ops.MEMORY_FENCE_ALIAS_TKO and writer.bits.chance(50):
            tokens = []
        token = writer.add(declaration, tokens, [TOKEN]).results[0]
        for found in writer.memories:
            found.was_read(token)

    return Statement(declaration, build)


FENCES = (
    _fence(ops.MEMORY_FENCE_ALIAS_TKO),
    _fence(ops.GDC_WAIT_TKO),
    _fence(ops.GDC_LAUNCH_DEPENDENTS_TKO),
)
STATEMENTS = (
    Statement(ops.LOAD_PTR_TKO, _load),
    Statement(ops.LOAD_PTR_TKO, _load),
    Statement(ops.STORE_PTR_TKO, _store),
    Statement(ops.STORE_PTR_TKO, _store),
    Statement(ops.ALLOCA, _alloca),
    Statement(ops.GLOBAL, _global),
    Statement(ops.GET_GLOBAL, _global),
    Statement(ops.PTR_TO_INT, _through_integers),
    Statement(ops.INT_TO_PTR, _through_integers),
    Statement(ops.PTR_TO_PTR, _other_pointers),
    Statement(ops.OFFSET, _offset),
    Statement(ops.JOIN_TOKENS, _join),
    Statement(ops.MAKE_TOKEN, _make),
)

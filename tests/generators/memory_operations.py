"""Random operations on memory: pointers, atomics, tokens and views."""

from __future__ import annotations

from tests.generators.body import Body, Builder

from tileir.dialect.enums import MEMORY_ORDERING
from tileir.dialect.types import (
    DYNAMIC,
    TOKEN,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    TileType,
    TileViewType,
    partition_view_type,
    scalar_tile,
    tensor_view_type,
    tile_type,
)
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    dense_array_attribute,
    integer_attribute,
    symbol_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    Type,
)
from tileir.ir.values import Value
from tileir.ir.versions import V13_4, V13_5


def keywords(body: Body, name: str, attributes: tuple[str, ...]) -> dict[str, Attribute]:
    """A keyword for each enumeration attribute of an operation."""
    inherent = REGISTRY.by_name[f"cuda_tile.{name}"].inherent
    return {key: body.attributes.keyword(body.attributes.enum_kind(inherent[key])) for key in attributes}


def _ordering(body: Body, name: str, words: tuple[str, ...], scoped: bool) -> dict[str, Attribute]:
    """An ordering out of those allowed and a scope; without `scoped` a weak access has none."""
    draft = ("seq_cst",) if body.program.draft_forms else ()
    attributes = keywords(body, name, ("memory_ordering_semantics", "memory_scope"))
    word = body.rng.choice((*words, *draft))
    attributes["memory_ordering_semantics"] = MEMORY_ORDERING[word]
    if word == "weak" and not scoped:
        del attributes["memory_scope"]
    return attributes


def _pointers(body: Body, elements: list[Type] | None = None) -> tuple[TileType, TileType]:
    """A tile type and the type of the pointers to its elements."""
    values = body.types.tile(body.types.numbers if elements is None else elements)
    choices = [p for p in body.types.pointers if isinstance(p, PointerType) and p.pointee is values.element]
    return values, tile_type(values.shape, body.rng.choice(choices))


def maybe(body: Body, type: Type, chance: float = 0.5) -> list[Value]:
    return [body.value(type)] if body.rng.random() < chance else []


def add_grouped(
    body: Body, name: str, groups: list[list[Value]], results: list[Type], attributes: dict[str, Attribute]
) -> Operation:
    operands = [value for group in groups for value in group]
    return body.add(name, operands, results, attributes, segments=tuple([len(group) for group in groups]))


def _load_pointer(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "load_ptr_tko", ("weak", "relaxed", "acquire"), False)
    if body.rng.random() < 0.2:
        attributes["optimization_hints"] = body.attributes.hints()
    groups = [
        [body.value(pointers)],
        maybe(body, tile_type(values.shape, I1)),
        maybe(body, values),
        maybe(body, TOKEN),
    ]
    return add_grouped(body, "load_ptr_tko", groups, [values, TOKEN], attributes)


def _store_pointer(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "store_ptr_tko", ("weak", "relaxed", "release"), False)
    if body.rng.random() < 0.2:
        attributes["optimization_hints"] = body.attributes.hints()
    mask = tile_type(values.shape, I1)
    groups = [[body.value(pointers)], [body.value(values)], maybe(body, mask), maybe(body, TOKEN)]
    return add_grouped(body, "store_ptr_tko", groups, [TOKEN], attributes)


def _atomic_load(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "atomic_load_tko", ("weak", "relaxed", "acquire"), True)
    groups = [[body.value(pointers)], maybe(body, tile_type(values.shape, I1)), maybe(body, TOKEN)]
    return add_grouped(body, "atomic_load_tko", groups, [values, TOKEN], attributes)


def _atomic_store(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "atomic_store_tko", ("weak", "relaxed", "release"), True)
    mask = tile_type(values.shape, I1)
    groups = [[body.value(pointers)], [body.value(values)], maybe(body, mask), maybe(body, TOKEN)]
    return add_grouped(body, "atomic_store_tko", groups, [TOKEN], attributes)


_ATOMIC_ORDERINGS = ("relaxed", "acquire", "release", "acq_rel")


def _compare_and_swap(body: Body) -> Operation:
    values, pointers = _pointers(body, [I32, I64, F32, F64])
    attributes = _ordering(body, "atomic_cas_tko", _ATOMIC_ORDERINGS, True)
    mask = maybe(body, tile_type(values.shape, I1))
    groups = [[body.value(pointers)], [body.value(values)], [body.value(values)], mask, maybe(body, TOKEN)]
    return add_grouped(body, "atomic_cas_tko", groups, [values, TOKEN], attributes)


def _mode(body: Body, name: str) -> tuple[Attribute, list[Type]]:
    """A mode of an atomic and the element types it works on."""
    mode = keywords(body, name, ("mode",))["mode"]
    word = mode.bare_text
    if word == "addf":
        return mode, [F16, BF16, F32, F64]
    return mode, [I32, I64, F32, F64] if word == "xchg" else [I32, I64]


def _read_modify_write(body: Body) -> Operation:
    mode, elements = _mode(body, "atomic_rmw_tko")
    values, pointers = _pointers(body, elements)
    attributes = _ordering(body, "atomic_rmw_tko", _ATOMIC_ORDERINGS, True)
    attributes["mode"] = mode
    mask = maybe(body, tile_type(values.shape, I1))
    groups = [[body.value(pointers)], [body.value(values)], mask, maybe(body, TOKEN)]
    return add_grouped(body, "atomic_rmw_tko", groups, [values, TOKEN], attributes)


def _alloca(body: Body) -> Operation:
    pointer = body.rng.choice(body.types.pointers)
    attributes: dict[str, Attribute] = {
        "num_elem": integer_attribute(I64, body.rng.choice((0, 1, 100))),
        "alignment": integer_attribute(I64, body.rng.choice((8, 16, 1 << 40))),
    }
    if body.rng.random() < 0.5:
        attributes["global"] = UNIT
    return body.add("alloca", [], [scalar_tile(pointer)], attributes)


def _get_global(body: Body) -> Operation | None:
    if not body.program.globals:
        return None
    name, element = body.rng.choice(body.program.globals)
    choices = [p for p in body.types.pointers if isinstance(p, PointerType) and p.pointee is element]
    type = scalar_tile(body.rng.choice(choices))
    return body.add("get_global", [], [type], {"name": symbol_attribute(name)})


def _join_tokens(body: Body) -> Operation:
    return body.add("join_tokens", [body.value(TOKEN) for _ in range(body.rng.randint(2, 5))], [TOKEN])


# --- views ---


def _some_view(body: Body, **wanted: object) -> tuple[Value, TileViewType]:
    """A view of one device that is there, or a new one."""
    if not wanted:
        for value in reversed(body.values):
            if isinstance(value.type, TileViewType) and value.type.tensor.attribute != "multicast":
                if body.rng.random() < 0.5:
                    return value, value.type
    type = body.types.tile_view(**wanted)  # type: ignore[arg-type]
    return body.fresh_tile_view(type), type


def _indices(body: Body, view: TileViewType) -> list[Value]:
    scalar = scalar_tile(body.rng.choice((I8, I16, I32, I64)))
    indices = [body.value(scalar) for _ in view.tile_shape]
    if isinstance(view, GatherScatterViewType):
        rows = tile_type((view.tile_shape[view.sparse_dim],), body.rng.choice((I32, I64)))
        indices[view.sparse_dim] = body.value(rows)
    return indices


def _access_attributes(body: Body, name: str, words: tuple[str, ...], rank: int) -> dict[str, Attribute]:
    attributes = _ordering(body, name, words, False)
    if body.rng.random() < 0.2:
        attributes["optimization_hints"] = body.attributes.hints()
    if body.version >= V13_4:
        attributes |= _inbounds(body, rank)
    return attributes


def _inbounds(body: Body, rank: int) -> dict[str, Attribute]:
    if body.rng.random() >= 0.3:
        return {}
    return {"inbounds": dense_array_attribute(I1, tuple([body.rng.randrange(2) for _ in range(rank)]))}


def _load_view(body: Body) -> Operation:
    view, type = _some_view(body)
    attributes = _access_attributes(body, "load_view_tko", ("weak", "relaxed", "acquire"), type.index_rank)
    groups = [[view], _indices(body, type), maybe(body, TOKEN)]
    return add_grouped(body, "load_view_tko", groups, [type.tile, TOKEN], attributes)


def _store_view(body: Body) -> Operation:
    view, type = _some_view(body)
    attributes = _access_attributes(body, "store_view_tko", ("weak", "relaxed", "release"), type.index_rank)
    groups = [[body.value(type.tile)], [view], _indices(body, type), maybe(body, TOKEN)]
    return add_grouped(body, "store_view_tko", groups, [TOKEN], attributes)


def _reduce_view(body: Body) -> Operation:
    mode, elements = _mode(body, "atomic_red_view_tko")
    while mode.bare_text == "xchg":
        mode, elements = _mode(body, "atomic_red_view_tko")
    kind = body.rng.choice(("partition", "strided"))
    view, type = _some_view(body, kind=kind, element=body.rng.choice(elements), padded=False)
    attributes = keywords(body, "atomic_red_view_tko", ("memory_ordering_semantics", "memory_scope"))
    attributes["memory_ordering_semantics"] = MEMORY_ORDERING["relaxed"]
    while attributes["memory_scope"].bare_text == "sys":
        attributes.update(keywords(body, "atomic_red_view_tko", ("memory_scope",)))
    attributes["mode"] = mode
    if body.version >= V13_5:
        attributes |= _inbounds(body, type.index_rank)
    indices = [body.value(scalar_tile(body.rng.choice((I32, I64)))) for _ in type.tile_shape]
    groups = [[view], indices, [body.value(type.tile)], maybe(body, TOKEN)]
    return add_grouped(body, "atomic_red_view_tko", groups, [TOKEN], attributes)


# --- views of the memory of several devices ---


def _multicast_view(body: Body, elements: list[Type]) -> tuple[Value, PartitionViewType]:
    strides = body.rng.choice(((1,), (64, 1), (1, 64)))
    tensor = tensor_view_type(body.rng.choice(elements), (DYNAMIC,) * len(strides), strides, "multicast")
    type = partition_view_type(tuple([body.rng.choice((2, 4, 8)) for _ in strides]), tensor)
    return body.fresh_tile_view(type), type


def _multimem_indices(body: Body, type: PartitionViewType) -> list[Value]:
    index = scalar_tile(body.rng.choice((I32, I64)))
    return [body.value(index) for _ in range(type.index_rank)]


def _combining(body: Body, name: str, floats: dict[str, list[Type]]) -> tuple[dict[str, Attribute], list[Type]]:
    """A reduction and the elements it works on; `floats` has those of each reduction that takes floats."""
    reduction = keywords(body, name, ("reduction",))
    return reduction, [I32, I64, *floats.get(reduction["reduction"].bare_text, ())]


def _multimem_load(body: Body) -> Operation:
    name = "multimem_load_reduce_view_tko"
    halves: list[Type] = [F16, BF16]
    reduction, elements = _combining(body, name, {"add": [*halves, F32, F64], "min": halves, "max": halves})
    view, type = _multicast_view(body, elements)
    ordering = _ordering(body, name, ("weak", "relaxed", "acquire"), False)
    attributes = ordering | reduction | _inbounds(body, type.index_rank)
    groups = [[view], _multimem_indices(body, type), maybe(body, TOKEN)]
    return add_grouped(body, name, groups, [type.tile, TOKEN], attributes)


def _multimem_reduce(body: Body) -> Operation:
    name = "multimem_reduce_view_tko"
    reduction, elements = _combining(body, name, {"add": [F16, BF16, F32, F64]})
    view, type = _multicast_view(body, elements)
    attributes = keywords(body, name, ("memory_scope",)) | reduction | _inbounds(body, type.index_rank)
    attributes["memory_ordering_semantics"] = MEMORY_ORDERING[body.rng.choice(("relaxed", "release"))]
    groups = [[view], [body.value(type.tile)], _multimem_indices(body, type), maybe(body, TOKEN)]
    return add_grouped(body, name, groups, [TOKEN], attributes)


def _multimem_store(body: Body) -> Operation:
    name = "multimem_store_view_tko"
    view, type = _multicast_view(body, [I32, I64, F16, BF16, F32, F64])
    attributes = _ordering(body, name, ("weak", "relaxed", "release"), False) | _inbounds(body, type.index_rank)
    groups = [[view], [body.value(type.tile)], _multimem_indices(body, type), maybe(body, TOKEN)]
    return add_grouped(body, name, groups, [TOKEN], attributes)


def _make_tensor_view(body: Body) -> Operation | None:
    return body.fresh(body.types.tensor_view()).defining_operation


def _make_view(kind: str) -> Builder:
    return lambda body: body.fresh_tile_view(body.types.tile_view(kind)).defining_operation


def _tensor_shape(body: Body) -> Operation:
    tensor = body.types.tensor_view(body.rng.choice((1, 2, 3)))
    element = body.rng.choice((I1, I8, I16, I32, I64))
    return body.add("get_tensor_shape", [body.value(tensor)], [scalar_tile(element)] * tensor.rank)


def _index_space_shape(body: Body) -> Operation:
    view, type = _some_view(body)
    element = body.rng.choice((I8, I16, I32, I64))
    return body.add("get_index_space_shape", [view], [scalar_tile(element)] * type.index_rank)


MEMORY_BUILDERS: dict[str, Builder] = {
    "alloca": _alloca,
    "atomic_cas_tko": _compare_and_swap,
    "atomic_load_tko": _atomic_load,
    "atomic_red_view_tko": _reduce_view,
    "atomic_rmw_tko": _read_modify_write,
    "atomic_store_tko": _atomic_store,
    "get_global": _get_global,
    "get_index_space_shape": _index_space_shape,
    "get_tensor_shape": _tensor_shape,
    "join_tokens": _join_tokens,
    "load_ptr_tko": _load_pointer,
    "load_view_tko": _load_view,
    "make_gather_scatter_view": _make_view("gather_scatter"),
    "make_partition_view": _make_view("partition"),
    "make_strided_view": _make_view("strided"),
    "make_tensor_view": _make_tensor_view,
    "multimem_load_reduce_view_tko": _multimem_load,
    "multimem_reduce_view_tko": _multimem_reduce,
    "multimem_store_view_tko": _multimem_store,
    "store_ptr_tko": _store_pointer,
    "store_view_tko": _store_view,
}

"""Random operations without regions.

Most are made from their declaration alone: types that fit the constraints are guessed, one per group of operands and
results that share a type, attributes likewise, and the verifier says whether the guess holds.  The builders in
`BUILDERS` are for operations whose rules such guesses would hardly ever meet.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.generators.attributes import STRINGS, dense
from tests.generators.body import Body

from tileir.dialect.enums import MEMORY_ORDERING
from tileir.dialect.types import (
    TOKEN,
    GatherScatterViewType,
    PointerType,
    TileType,
    TileViewType,
    scalar_tile,
    tile_mistake,
    tile_type,
)
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    dense_array_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    ONE,
    OPTIONAL,
    REGISTRY,
    SEGMENTS,
    V13_3,
    V13_4,
    OperandDeclaration,
    OperationDeclaration,
)
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    FloatType,
    IntegerType,
    Type,
)
from tileir.ir.values import Value
from tileir.ir.verifier import VerifyContext, verify_operation

_TRIES = 60

Builder = Callable[[Body], Operation | None]


def random_operation(body: Body, declaration: OperationDeclaration) -> Operation | None:
    """Append an operation of a declaration; None when it did not work out."""
    builder = BUILDERS.get(declaration.mnemonic)
    return builder(body) if builder is not None else guessed_operation(body, declaration)


# --- guesses ---


class Guess:
    """Types for each declared operand and result, and attributes."""

    def __init__(self, operands: list[list[Type]], results: list[Type], attributes: dict[str, Attribute]) -> None:
        self.operands = operands
        self.results = results
        self.attributes = attributes


def guessed_operation(body: Body, declaration: OperationDeclaration) -> Operation | None:
    for attempt in range(_TRIES):
        guess = _guess(body, declaration, plain=attempt > _TRIES // 2)
        if guess is not None and _holds(body, declaration, guess):
            operands = [body.value(type) for group in guess.operands for type in group]
            segments = tuple([len(group) for group in guess.operands]) if declaration.traits & SEGMENTS else None
            return body.add(declaration.mnemonic, operands, guess.results, guess.attributes, segments=segments)
    return None


def _guess(body: Body, declaration: OperationDeclaration, plain: bool) -> Guess | None:
    rng = body.rng
    shape = body.types.shape()
    chosen: dict[str, Type] = {}
    for group in declaration.same_types:
        members = [d for d in (*declaration.operands, *declaration.results) if d.name in group]
        common = [
            type
            for type in body.types.candidates(members[0].constraint, shape)
            if all(member.constraint.accepts(type) for member in members[1:])
        ]
        if not common:
            return None
        type = rng.choice(common)
        chosen.update(dict.fromkeys(group, type))
    operands: list[list[Type]] = []
    for declared in declaration.operands:
        count = _count(body, declared)
        types: list[Type] = []
        for _ in range(count):
            type_found = chosen.get(declared.name) or body.types.fitting(declared.constraint, shape)
            if type_found is None:
                return None
            types.append(type_found)
        operands.append(types)
    given = [type for types in operands for type in types]
    results: list[Type] = []
    for declared in declaration.results:
        alike = [type for type in given if declared.constraint.accepts(type)]
        type_found = chosen.get(declared.name)
        if type_found is None and alike and rng.random() < 0.5:
            type_found = rng.choice(alike)
        type_found = type_found or body.types.fitting(declared.constraint, shape)
        if type_found is None:
            return None
        results.append(type_found)
    attributes: dict[str, Attribute] = {}
    for attribute in declaration.attributes:
        needed = attribute.default is None and not attribute.optional
        too_new = attribute.since is not None and attribute.since > body.version
        if not needed and (plain or too_new or rng.random() < 0.5):
            continue
        value = body.attributes.declared(attribute)
        if value is None:
            return None
        attributes[attribute.name] = value
    return Guess(operands, results, attributes)


def _count(body: Body, declared: OperandDeclaration) -> int:
    if declared.count == ONE:
        return 1
    if declared.since is not None and declared.since > body.version:
        return 0
    return body.rng.randrange(2 if declared.count == OPTIONAL else 4)


def _holds(body: Body, declaration: OperationDeclaration, guess: Guess) -> bool:
    """Whether the verifier takes an operation of these types and attributes."""
    operands = [Value(type) for group in guess.operands for type in group]
    segments = tuple([len(group) for group in guess.operands]) if declaration.traits & SEGMENTS else None
    attributes = {k: v for k, v in guess.attributes.items() if declaration.defaults.get(k) is not v}
    operation = Operation(declaration, operands, guess.results, attributes, segments=segments)
    context = VerifyContext(body.version)
    verify_operation(operation, context)
    return not any(d.severity == "error" for d in context.diagnostics)


# --- tiles ---


def _constant(body: Body) -> Operation:
    type = body.types.tile(body.types.numbers)
    return body.add("constant", [], [type], {"value": dense(body.rng, type)})


def _broadcast(body: Body) -> Operation:
    source = body.some_tile()
    type = source.type
    assert isinstance(type, TileType)
    shape = tuple([e if e > 1 else body.rng.choice((1, 2, 8)) for e in type.shape])
    return body.add("broadcast", [source], [tile_type(shape, type.element)])


def _reshape(body: Body) -> Operation:
    source = body.some_tile()
    type = source.type
    assert isinstance(type, TileType)
    left = type.count
    shape: list[int] = []
    while left > 1:
        extent = 1 << body.rng.randint(0, left.bit_length() - 1)
        shape.append(extent)
        left //= extent
    return body.add("reshape", [source], [tile_type(tuple(shape) or body.rng.choice(((), (1,))), type.element)])


def _cat(body: Body) -> Operation:
    left = body.some_tile(least_rank=1)
    type = left.type
    assert isinstance(type, TileType)
    dim = body.rng.randrange(type.rank)
    shape = (*type.shape[:dim], type.shape[dim] * 2, *type.shape[dim + 1 :])
    attributes: dict[str, Attribute] = {"dim": integer_attribute(I64, dim)}
    return body.add("cat", [left, body.value(type)], [tile_type(shape, type.element)], attributes)


def _parts(body: Body, type: TileType) -> TileType | None:
    """A tile type that divides another one."""
    shape = tuple([body.rng.choice((extent, 1, max(extent // 2, 1))) for extent in type.shape])
    return tile_type(shape, type.element) if tile_mistake(shape, type.element, body.version) is None else None


def _extract(body: Body) -> Operation | None:
    source = body.some_tile()
    assert isinstance(source.type, TileType)
    part = _parts(body, source.type)
    if part is None:
        return None
    indices = [body.value(scalar_tile(I32)) for _ in part.shape]
    return body.add("extract", [source, *indices], [part])


def _insert(body: Body) -> Operation | None:
    target = body.some_tile()
    assert isinstance(target.type, TileType)
    part = _parts(body, target.type)
    if part is None:
        return None
    indices = [body.value(scalar_tile(I32)) for _ in part.shape]
    return body.add("insert", [body.value(part), target, *indices], [target.type])


def _iota(body: Body) -> Operation:
    element = body.rng.choice((I1, I8, I16, I32, I64))
    extent = body.rng.choice((1, 2) if element is I1 else (1, 2, 16, 256))
    return body.add("iota", [], [tile_type((extent,), element)])


def _permute(body: Body) -> Operation:
    source = body.some_tile(least_rank=2)
    type = source.type
    assert isinstance(type, TileType)
    axes = list(range(type.rank))
    body.rng.shuffle(axes)
    attributes: dict[str, Attribute] = {"permutation": dense_array_attribute(I32, tuple(axes))}
    return body.add("permute", [source], [tile_type(tuple([type.shape[a] for a in axes]), type.element)], attributes)


def _pack(body: Body) -> Operation | None:
    bits = {I1: 1, I4: 4, F4E2M1FN: 4, I16: 16, F16: 16, BF16: 16, I32: 32, F32: 32, TF32: 32, I64: 64, F64: 64}
    element = body.rng.choice(list(bits))
    count = body.rng.choice((8, 16, 64))
    source = tile_type((count,), element)
    target = tile_type((bits[element] * count // 8,), I8)
    return body.add("pack", [body.value(source)], [target])


def _unpack(body: Body) -> Operation:
    element, bits = body.rng.choice(((I1, 1), (I4, 4), (F4E2M1FN, 4), (F16, 16), (TF32, 32), (I64, 64)))
    count = body.rng.choice((8, 16, 64))
    return body.add("unpack", [body.value(tile_type((bits * count // 8,), I8))], [tile_type((count,), element)])


# --- matrix products ---


def _matrices(body: Body) -> tuple[tuple[int, ...], int, int, int]:
    batch = (body.rng.choice((1, 4)),) if body.rng.random() < 0.4 else ()
    m, n, k = [body.rng.choice((1, 2, 8, 16)) for _ in "mnk"]
    return batch, m, n, k


_ACCUMULATORS: dict[Type, tuple[Type, ...]] = {
    F16: (F16, F32),
    BF16: (F32,),
    F32: (F32,),
    F64: (F64,),
    TF32: (F32,),
    F8E4M3FN: (F16, F32),
    F8E5M2: (F16, F32),
}


def _mmaf(body: Body) -> Operation:
    batch, m, n, k = _matrices(body)
    element = body.rng.choice(list(_ACCUMULATORS))
    acc = tile_type((*batch, m, n), body.rng.choice(_ACCUMULATORS[element]))
    operands = [
        body.value(tile_type((*batch, m, k), element)),
        body.value(tile_type((*batch, k, n), element)),
        body.value(acc),
    ]
    fast = body.version >= V13_3 and body.rng.random() < 0.3
    return body.add("mmaf", operands, [acc], {"fast_acc": UNIT} if fast else {})


def _mmai(body: Body) -> Operation:
    batch, m, n, k = _matrices(body)
    acc = tile_type((*batch, m, n), I32)
    operands = [
        body.value(tile_type((*batch, m, k), I8)),
        body.value(tile_type((*batch, k, n), I8)),
        body.value(acc),
    ]
    attributes = _keywords(body, "mmai", ("signedness_lhs", "signedness_rhs"))
    return body.add("mmai", operands, [acc], attributes)


def _mmaf_scaled(body: Body) -> Operation:
    rng = body.rng
    batch, m, n, _ = _matrices(body)
    scales: list[tuple[Type, Type, int]] = [
        (F8E4M3FN, F8E8M0FNU, 32),
        (F8E5M2, F8E8M0FNU, 32),
        (F4E2M1FN, F8E4M3FN, 16),
        (F4E2M1FN, F8E8M0FNU, 16),
        (F4E2M1FN, F8E8M0FNU, 32),
    ]
    if body.version >= V13_4:
        scales += [(F4E2M1FN, FNV8E5M3FNU, 16), (F4E2M1FN, FNV8E5M3FNU, 32)]
    element, scale, block = rng.choice(scales)
    blocks = rng.choice((1, 2))
    k = block * blocks
    acc = tile_type((*batch, m, n), F32)
    types: list[Type] = [
        tile_type((*batch, m, k), element),
        tile_type((*batch, k, n), element),
        acc,
        tile_type((*batch, m, blocks), scale),
        tile_type((*batch, blocks, n), scale),
    ]
    return body.add("mmaf_scaled", [body.value(type) for type in types], [acc])


# --- memory ---


def _keywords(body: Body, name: str, attributes: tuple[str, ...]) -> dict[str, Attribute]:
    """A keyword for each enumeration attribute of an operation."""
    inherent = REGISTRY.by_name[f"cuda_tile.{name}"].inherent
    return {key: body.attributes.keyword(body.attributes.enum_kind(inherent[key])) for key in attributes}


def _ordering(body: Body, name: str, words: tuple[str, ...], scoped: bool) -> dict[str, Attribute]:
    """An ordering out of those allowed and a scope; without `scoped` a weak access has none."""
    draft = ("seq_cst",) if body.program.draft_forms else ()
    attributes = _keywords(body, name, ("memory_ordering_semantics", "memory_scope"))
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


def _maybe(body: Body, type: Type, chance: float = 0.5) -> list[Value]:
    return [body.value(type)] if body.rng.random() < chance else []


def _add_grouped(
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
        _maybe(body, tile_type(values.shape, I1)),
        _maybe(body, values),
        _maybe(body, TOKEN),
    ]
    return _add_grouped(body, "load_ptr_tko", groups, [values, TOKEN], attributes)


def _store_pointer(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "store_ptr_tko", ("weak", "relaxed", "release"), False)
    if body.rng.random() < 0.2:
        attributes["optimization_hints"] = body.attributes.hints()
    mask = tile_type(values.shape, I1)
    groups = [[body.value(pointers)], [body.value(values)], _maybe(body, mask), _maybe(body, TOKEN)]
    return _add_grouped(body, "store_ptr_tko", groups, [TOKEN], attributes)


def _atomic_load(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "atomic_load_tko", ("weak", "relaxed", "acquire"), True)
    groups = [[body.value(pointers)], _maybe(body, tile_type(values.shape, I1)), _maybe(body, TOKEN)]
    return _add_grouped(body, "atomic_load_tko", groups, [values, TOKEN], attributes)


def _atomic_store(body: Body) -> Operation:
    values, pointers = _pointers(body)
    attributes = _ordering(body, "atomic_store_tko", ("weak", "relaxed", "release"), True)
    mask = tile_type(values.shape, I1)
    groups = [[body.value(pointers)], [body.value(values)], _maybe(body, mask), _maybe(body, TOKEN)]
    return _add_grouped(body, "atomic_store_tko", groups, [TOKEN], attributes)


_ATOMIC_ORDERINGS = ("relaxed", "acquire", "release", "acq_rel")


def _compare_and_swap(body: Body) -> Operation:
    values, pointers = _pointers(body, [I32, I64, F32, F64])
    attributes = _ordering(body, "atomic_cas_tko", _ATOMIC_ORDERINGS, True)
    mask = _maybe(body, tile_type(values.shape, I1))
    groups = [[body.value(pointers)], [body.value(values)], [body.value(values)], mask, _maybe(body, TOKEN)]
    return _add_grouped(body, "atomic_cas_tko", groups, [values, TOKEN], attributes)


def _mode(body: Body, name: str) -> tuple[Attribute, list[Type]]:
    """A mode of an atomic and the element types it works on."""
    mode = _keywords(body, name, ("mode",))["mode"]
    word = mode.bare_text
    if word == "addf":
        return mode, [F16, BF16, F32, F64]
    return mode, [I32, I64, F32, F64] if word == "xchg" else [I32, I64]


def _read_modify_write(body: Body) -> Operation:
    mode, elements = _mode(body, "atomic_rmw_tko")
    values, pointers = _pointers(body, elements)
    attributes = _ordering(body, "atomic_rmw_tko", _ATOMIC_ORDERINGS, True)
    attributes["mode"] = mode
    mask = _maybe(body, tile_type(values.shape, I1))
    groups = [[body.value(pointers)], [body.value(values)], mask, _maybe(body, TOKEN)]
    return _add_grouped(body, "atomic_rmw_tko", groups, [values, TOKEN], attributes)


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
    """A view that is there, or a new one."""
    if not wanted:
        for value in reversed(body.values):
            if isinstance(value.type, TileViewType) and body.rng.random() < 0.5:
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
    if body.version >= V13_4 and body.rng.random() < 0.3:
        attributes["inbounds"] = dense_array_attribute(I1, tuple([body.rng.randrange(2) for _ in range(rank)]))
    return attributes


def _load_view(body: Body) -> Operation:
    view, type = _some_view(body)
    attributes = _access_attributes(body, "load_view_tko", ("weak", "relaxed", "acquire"), type.index_rank)
    groups = [[view], _indices(body, type), _maybe(body, TOKEN)]
    return _add_grouped(body, "load_view_tko", groups, [type.tile, TOKEN], attributes)


def _store_view(body: Body) -> Operation:
    view, type = _some_view(body)
    attributes = _access_attributes(body, "store_view_tko", ("weak", "relaxed", "release"), type.index_rank)
    groups = [[body.value(type.tile)], [view], _indices(body, type), _maybe(body, TOKEN)]
    return _add_grouped(body, "store_view_tko", groups, [TOKEN], attributes)


def _reduce_view(body: Body) -> Operation:
    mode, elements = _mode(body, "atomic_red_view_tko")
    while mode.bare_text == "xchg":
        mode, elements = _mode(body, "atomic_red_view_tko")
    kind = body.rng.choice(("partition", "strided"))
    view, type = _some_view(body, kind=kind, element=body.rng.choice(elements), padded=False)
    attributes = _keywords(body, "atomic_red_view_tko", ("memory_ordering_semantics", "memory_scope"))
    attributes["memory_ordering_semantics"] = MEMORY_ORDERING["relaxed"]
    while attributes["memory_scope"].bare_text == "sys":
        attributes.update(_keywords(body, "atomic_red_view_tko", ("memory_scope",)))
    attributes["mode"] = mode
    indices = [body.value(scalar_tile(body.rng.choice((I32, I64)))) for _ in type.tile_shape]
    groups = [[view], indices, [body.value(type.tile)], _maybe(body, TOKEN)]
    return _add_grouped(body, "atomic_red_view_tko", groups, [TOKEN], attributes)


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


# --- the rest ---


def _assume(body: Body) -> Operation:
    rng = body.rng
    if rng.random() < 0.15:
        tensor = body.value(body.types.tensor_view())
        return body.add("assume", [tensor], [tensor.type], {"predicate": body.attributes.div_by(None)})
    value = body.some_tile((IntegerType, PointerType))
    type = value.type
    assert isinstance(type, TileType)
    choice = rng.randrange(3)
    if choice == 0 and isinstance(type.element, IntegerType):
        predicate = body.attributes.bounded(type.element.width)
    elif choice == 1:
        predicate = body.attributes.same_elements(type.shape)
    else:
        predicate = body.attributes.div_by(type.shape)
    return body.add("assume", [value], [type], {"predicate": predicate})


def _print(body: Body) -> Operation:
    rng = body.rng
    arguments = [body.some_tile() for _ in range(rng.randrange(4))]
    parts = [rng.choice(STRINGS)]
    for value in arguments:
        assert isinstance(value.type, TileType)
        number = "%5.2f" if isinstance(value.type.element, FloatType) else rng.choice(("%d", "%lld", "%x"))
        parts.append(number + rng.choice((" ", "%%", ", ", "\n")))
    token = _maybe(body, TOKEN) if body.version >= (13, 2) else []
    attributes: dict[str, Attribute] = {"str": string_attribute("".join(parts))}
    return _add_grouped(body, "print_tko", [arguments, token], [TOKEN], attributes)


def _cast(body: Body) -> Operation:
    inputs = [body.value(body.types.carried()) for _ in range(body.rng.randrange(3))]
    outputs: list[Type] = [body.types.carried() for _ in range(body.rng.randint(1, 2))]
    if body.rng.random() < 0.3:
        outputs.append(body.attributes.any_type())
    return body.add("unrealized_conversion_cast", inputs, outputs)


BUILDERS: dict[str, Builder] = {
    "alloca": _alloca,
    "assume": _assume,
    "atomic_cas_tko": _compare_and_swap,
    "atomic_load_tko": _atomic_load,
    "atomic_red_view_tko": _reduce_view,
    "atomic_rmw_tko": _read_modify_write,
    "atomic_store_tko": _atomic_store,
    "broadcast": _broadcast,
    "cat": _cat,
    "constant": _constant,
    "extract": _extract,
    "get_global": _get_global,
    "get_index_space_shape": _index_space_shape,
    "get_tensor_shape": _tensor_shape,
    "insert": _insert,
    "iota": _iota,
    "join_tokens": _join_tokens,
    "load_ptr_tko": _load_pointer,
    "load_view_tko": _load_view,
    "make_gather_scatter_view": _make_view("gather_scatter"),
    "make_partition_view": _make_view("partition"),
    "make_strided_view": _make_view("strided"),
    "make_tensor_view": _make_tensor_view,
    "mmaf": _mmaf,
    "mmaf_scaled": _mmaf_scaled,
    "mmai": _mmai,
    "pack": _pack,
    "permute": _permute,
    "print_tko": _print,
    "reshape": _reshape,
    "store_ptr_tko": _store_pointer,
    "store_view_tko": _store_view,
    "unpack": _unpack,
    "unrealized_conversion_cast": _cast,
}

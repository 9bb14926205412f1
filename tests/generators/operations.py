"""Random operations without regions.

Most are made from their declaration alone: types that fit the constraints are guessed, one per group of operands and
results that share a type, attributes likewise, and the verifier says whether the guess holds.  The builders in
`BUILDERS` are for operations whose rules such guesses would hardly ever meet.
"""

from __future__ import annotations

from tests.generators.attributes import STRINGS, dense
from tests.generators.body import Body, Builder
from tests.generators.memory_operations import MEMORY_BUILDERS, add_grouped, keywords, maybe

from tileir.dialect.types import (
    TOKEN,
    PointerType,
    TileType,
    scalar_tile,
    tile_error,
    tile_type,
)
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    array_attribute,
    dense_array_attribute,
    dictionary_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE, OPTIONAL, OperandDeclaration, OperationDeclaration, VerifyContext
from tileir.ir.traits import SEGMENTS
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
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import V13_3, V13_4

_TRIES = 60
NOTED = dictionary_attribute({"tileir.note": integer_attribute(I64, 1)})


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
    return tile_type(shape, type.element) if tile_error(shape, type.element, body.version) is None else None


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
    attributes = keywords(body, "mmai", ("signedness_lhs", "signedness_rhs"))
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
    token = maybe(body, TOKEN) if body.version >= (13, 2) else []
    attributes: dict[str, Attribute] = {"str": string_attribute("".join(parts))}
    return add_grouped(body, "print_tko", [arguments, token], [TOKEN], attributes)


def _cast(body: Body) -> Operation:
    inputs = [body.value(body.types.carried()) for _ in range(body.rng.randrange(3))]
    outputs: list[Type] = [body.types.carried() for _ in range(body.rng.randint(1, 2))]
    if body.rng.random() < 0.3:
        outputs.append(body.attributes.any_type())
    return body.add("unrealized_conversion_cast", inputs, outputs)


def _preview_call(body: Body) -> Operation:
    """A call with any arguments, constants and attributes of both."""
    types: list[Type] = [scalar_tile(body.rng.choice((I32, F32))) for _ in range(body.rng.randrange(4))]
    numbers = [integer_attribute(I64, body.rng.randrange(100)) for _ in range(body.rng.randrange(3))]
    attributes: dict[str, Attribute] = {
        "callee": symbol_attribute(body.rng.choice(("f", "a.b"))),
        "const_args": array_attribute((*numbers, NOTED)),
    }
    for name in ("arg_attrs", "res_attrs"):
        if body.rng.random() < 0.5:
            attributes[name] = array_attribute((NOTED,) * len(types))
    return body.add("preview$call", [body.value(type) for type in types], types[1:], attributes)


BUILDERS: dict[str, Builder] = {
    **MEMORY_BUILDERS,
    "preview$call": _preview_call,
    "assume": _assume,
    "broadcast": _broadcast,
    "cat": _cat,
    "constant": _constant,
    "extract": _extract,
    "insert": _insert,
    "iota": _iota,
    "mmaf": _mmaf,
    "mmaf_scaled": _mmaf_scaled,
    "mmai": _mmai,
    "pack": _pack,
    "permute": _permute,
    "print_tko": _print,
    "reshape": _reshape,
    "unpack": _unpack,
    "unrealized_conversion_cast": _cast,
}

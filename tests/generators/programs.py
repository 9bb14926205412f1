"""Random valid programs: every declared operation, every enumerator, every kind of type, attribute and location.

    module = random_module(random.Random(7))                                  everything the newest dialect has
    module = random_module(rng, version=(13, 1), draft_forms=False)            what a 13.1 file can hold
    module = random_module(rng, operations=["addi", "muli"], locations=False) these operations and what feeds them

With hypothesis: `@given(programs())`.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from hypothesis import strategies
from tests.generators.attributes import NAMES, dense
from tests.generators.body import Body, Program
from tests.generators.locations import LocationSource
from tests.generators.regions import fill

import tileir.interface  # noqa: F401  (registers the declarations, gives operations their text)
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.types import PointerType
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    array_attribute,
    dictionary_attribute,
    integer_attribute,
    string_attribute,
    type_attribute,
)
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.types import I64, Type, function_type
from tileir.ir.versions import NEWEST, PREVIEW, V13_3, Version

_STRUCTURE = ("module", "entry", "global")


def declared_operations(version: Version = NEWEST, draft_forms: bool = True) -> list[OperationDeclaration]:
    """The operations of cuda_tile that stand inside an entry, as far as a dialect version has them."""
    return [
        declaration
        for declaration in REGISTRY.declarations()
        if declaration.name.startswith("cuda_tile.")
        and not declaration.testing
        and declaration.mnemonic not in _STRUCTURE
        and (draft_forms if declaration.since is None else declaration.since <= version)
    ]


def random_module(
    rng: Random,
    *,
    operations: Iterable[str] | None = None,
    version: Version = NEWEST,
    locations: bool = True,
    size: int = 30,
    draft_forms: bool = True,
    discardable: bool = True,
    wrapped: bool = False,
) -> Operation:
    """A valid `cuda_tile.module` of about `size` operations drawn from `operations` (mnemonics; all by default).

    Operations that make operands (constants, tokens, views, pointers from integers) and the terminators come on top.
    `draft_forms` allows what has no public bytecode: the operations, enumerators and predicates only the drafts have.
    `discardable` allows attributes nobody declared.  `wrapped` puts a `builtin.module` around the module.
    """
    known = declared_operations(version, draft_forms)
    if operations is not None:
        wanted = set(operations)
        known = [declaration for declaration in known if declaration.mnemonic in wanted]
    program = Program(rng, version, known, draft_forms, discardable)
    outside = LocationSource(rng, locations)
    body = Body(program, outside, Block())
    names = rng.sample(NAMES, rng.choice((1, 2, 3, 4)))
    for name in names[1:]:
        if rng.random() < 0.5:
            _add_global(body, name)
    program.remaining = size
    functions = [name for name in names if name not in dict(program.globals)]
    for position, name in enumerate(functions):
        _add_entry(body, name, outside, -(-program.remaining // (len(functions) - position)))
    module = _module(body, rng.choice(NAMES))
    return _wrapper(body, module) if wrapped else module


def _module(body: Body, name: str) -> Operation:
    declaration = REGISTRY.by_name["cuda_tile.module"]
    attributes: dict[str, Attribute] = {"sym_name": string_attribute(name)}
    if body.version >= V13_3 and body.rng.random() < 0.3:
        attributes["producer"] = string_attribute(body.rng.choice(("tileir 1.0", "größe", "")))
    if any(each.declaration.mnemonic == "preview$call" for entry in body.block for each in entry.walk()):
        attributes[PREVIEW] = UNIT
    found = body.with_extras(declaration, attributes)
    return Operation(declaration, [], [], found, [Region([body.block])], body.locations.location())


def _wrapper(body: Body, module: Operation) -> Operation:
    declaration = REGISTRY.by_name["builtin.module"]
    block = Block()
    block.append(module)
    attributes: dict[str, Attribute] = {"sym_name": string_attribute("around")} if body.rng.random() < 0.5 else {}
    found = body.with_extras(declaration, attributes, dotted=True)
    return Operation(declaration, [], [], found, [Region([block])], body.locations.location())


def _add_global(body: Body, name: str) -> None:
    rng = body.rng
    type = body.types.tile(body.types.numbers, (rng.choice((1, 2, 8, 128)),))
    attributes: dict[str, Attribute] = {"sym_name": string_attribute(name), "value": dense(rng, type)}
    if rng.random() < 0.5:
        attributes["alignment"] = integer_attribute(I64, rng.choice((0, 1, 16, 256)))
    if body.version >= V13_3:
        if rng.random() < 0.5:
            attributes["symbol_visibility"] = SYMBOL_VISIBILITY[rng.choice(("public", "private"))]
        if rng.random() < 0.5:
            attributes["constant"] = UNIT
    body.add("global", [], [], attributes)
    body.program.globals.append((name, type.element))


def _add_entry(module: Body, name: str, outside: LocationSource, count: int) -> None:
    rng = module.rng
    program = module.program
    locations = outside.for_function(name)
    arguments: list[Type] = [program.types.scalar() for _ in range(rng.randrange(5))]
    body = Body(program, locations, Block(arguments))
    body.may_return = True
    fill(body, count)
    body.add("return", [], [])
    attributes: dict[str, Attribute] = {
        "sym_name": string_attribute(name),
        "function_type": type_attribute(function_type(tuple(arguments), ())),
    }
    if rng.random() < 0.3:
        attributes["optimization_hints"] = program.attributes.hints()
    if program.discardable and rng.random() < 0.2:
        attributes["arg_attrs"] = array_attribute(tuple([_argument_attributes(body, t) for t in arguments]))
        if rng.random() < 0.3:
            attributes["res_attrs"] = array_attribute(())
    entry = module.add("entry", [], [], attributes, [Region([body.block])])
    entry.location = locations.function_location()


def _argument_attributes(body: Body, type: Type) -> Attribute:
    if isinstance(type, PointerType) or body.rng.random() < 0.5:
        return dictionary_attribute({})
    return dictionary_attribute({"tileir.note": body.attributes.anything()})


@strategies.composite
def programs(draw: strategies.DrawFn, /, **options: Any) -> Operation:
    """A strategy for `random_module`; hypothesis shrinks the size and tries other seeds."""
    size = draw(strategies.integers(0, 40))
    seed = draw(strategies.integers(0, (1 << 32) - 1))
    return random_module(Random(seed), size=size, **options)

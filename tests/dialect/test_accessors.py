"""Every declared part of an operation is read by a property of its name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.dialect.built_operations import OPERATIONS, built

import tileir
from tileir.declarations import declarations
from tileir.dialect.ops.integer import CMPI
from tileir.ir.accessors import Accessors, NamedParts, accessor_name
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    TypeAttribute,
    UnitAttribute,
)
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import ONE, VARIADIC
from tileir.ir.registry import unregistered
from tileir.ir.types import I1


def plain(attribute: Attribute | None, kind: str) -> object:
    """What a property returns for an attribute."""
    if kind == "unit":
        return isinstance(attribute, UnitAttribute)
    if isinstance(attribute, EnumAttribute):
        return attribute.keyword
    if isinstance(attribute, IntegerAttribute):
        return bool(attribute.value) if attribute.type is I1 else attribute.value
    if isinstance(attribute, StringAttribute):
        return attribute.value
    if isinstance(attribute, TypeAttribute):
        return attribute.type
    if isinstance(attribute, DenseArrayAttribute):
        return attribute.values
    return attribute.elements if isinstance(attribute, ArrayAttribute) else attribute


def assert_accessors_agree(operation: Operation) -> None:
    declaration = operation.declaration
    named: Any = operation
    for operand in declaration.operands:
        group = operation.operand_group(operand.name)
        found = getattr(named, accessor_name(operand.name))
        if operand.count == VARIADIC:
            assert found == group
        else:
            assert found is (group[0] if group else None)
    for attribute in declaration.attributes:
        if attribute.name != "name":
            name = "value_attribute" if attribute.name == "value" else accessor_name(attribute.name)
            found = getattr(named, name)
            assert found == plain(operation.attribute(attribute.name), attribute.constraint.kind)
    for index, result in enumerate(declaration.results):
        # `result` is the only one, whatever the declaration calls it.
        if result.name != "result":
            found = getattr(named, accessor_name(result.name))
            assert found is operation.results[index] if result.count == ONE else list(found) == [*operation.results]
    for region, declared in zip(operation.regions, declaration.regions, strict=False):
        assert getattr(named, accessor_name(declared.name)) is region


@pytest.mark.parametrize("mnemonic", sorted(OPERATIONS))
def test_properties_return_what_the_methods_by_name_return(mnemonic: str) -> None:
    for operation in built(OPERATIONS[mnemonic]).walk():
        assert_accessors_agree(operation)


def test_optional_parts_that_are_absent_are_none() -> None:
    b = tileir.Builder("m")
    with b.entry("k", tileir.types.ptr(tileir.types.f32)) as (data,):
        load = b.operation("load_ptr_tko", data)
        add = b.operation("addf", load.results[0], load.results[0])
    assert (load.source, load.mask, load.padding_value, load.token) == (data, None, None, None)
    assert (load.memory_ordering_semantics, load.memory_scope, load.optimization_hints) == ("weak", None, None)
    assert (add.rounding_mode, add.flush_to_zero) == ("nearest_even", False)


def test_every_property_is_one_of_a_declared_name() -> None:
    parts = [part for d in declarations() for part in (*d.operands, *d.attributes, *d.results, *d.regions)]
    names = {accessor_name(part.name) for part in parts}
    properties = {name for name in dir(Accessors) if not name.startswith("_")}
    assert properties - names - set(dir(NamedParts)) == {"value_attribute"}


def test_a_name_that_the_declaration_lacks_is_explained() -> None:
    b = tileir.Builder("m")
    with b.entry("k") as _:
        one = b.constant(1.0, tileir.types.f32)
        add = b.operation("addf", one, one)
    assert not hasattr(add, "view") and not hasattr(add, "then_region") and hasattr(add, "lhs")
    sentence = "'cuda_tile.addf' has no operand or attribute 'lower_bound'; it has lhs, rhs, result, "
    with pytest.raises(AttributeError, match=sentence + "rounding_mode, flush_to_zero$"):
        add.lower_bound  # noqa: B018
    constant = one.defining_operation
    with pytest.raises(
        AttributeError, match=r"'cuda_tile.constant' has no .* 'value'; it has result, value_attribute$"
    ):
        constant.value  # noqa: B018
    unknown = Operation(unregistered("other.thing"), [], [])
    for name in ("view", "mask", "index", "mode", "dim", "flush_to_zero", "body"):
        with pytest.raises(AttributeError, match=f"'other.thing' has no operand or attribute '{name}'; it has none$"):
            getattr(unknown, name)


def test_a_required_attribute_that_is_missing_is_an_error() -> None:
    comparison = Operation(CMPI, [*Block([I1, I1]).arguments], [])
    with pytest.raises(ValueError, match=r"attribute 'signedness' of 'cuda_tile.cmpi' is missing or of another kind"):
        comparison.signedness  # noqa: B018

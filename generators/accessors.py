"""The properties of `ir/accessors.py`: one for each name that a declaration gives an operand, result or attribute."""

from __future__ import annotations

from typing import Final

from generators import with_generated
from tileir.declarations import declarations
from tileir.ir.accessors import NamedParts, accessor_name
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE, OPTIONAL, VARIADIC, AttributeDeclaration, OperandDeclaration

# The method that reads an attribute by the kind of its constraint, and whether a declaration may be without it.
_READERS: Final = {
    "array": ("_array", True),
    "bool": ("_boolean", False),
    "bool_array": ("_integers", True),
    "dense": ("_dense", False),
    "enum": ("_keyword", True),
    "i32": ("_integer", False),
    "i32_array": ("_integers", True),
    "i64": ("_integer", False),
    "string": ("_string", True),
    "symbol_name": ("_string", True),
    "type": ("_type", False),
}
_VALUES: Final = {ONE: "_value", OPTIONAL: "_optional_value", VARIADIC: "_values"}


def accessors() -> str:
    """The whole file."""
    values: dict[str, list[OperandDeclaration]] = {}
    attributes: dict[str, list[AttributeDeclaration]] = {}
    for declaration in declarations():
        for value in (*declaration.operands, *declaration.results):
            values.setdefault(value.name, []).append(value)
        for attribute in declaration.attributes:
            attributes.setdefault(attribute.name, []).append(attribute)
    found: dict[str, str] = {}
    for name, declared in values.items():
        method = _VALUES[max([each.count for each in declared])]
        found[accessor_name(name)] = f'Accessor(NamedParts.{method}, "{name}")'
    for name, given in attributes.items():
        suffix = "_attribute" if name in values else ""
        found[accessor_name(name) + suffix] = _of_attributes(name, given)
    # What `Operation` has itself stays: its `operands`, `result` and `results` are those of the declarations.
    members = {*vars(Operation), *vars(NamedParts)}
    text = "".join([f"    {name}: ClassVar = {found[name]}\n" for name in sorted(set(found) - members)])
    begin = "    # Written by `make docs` from the declarations; edit those, or generators/accessors.py."
    return with_generated("src/tileir/ir/accessors.py", text, begin)


def _of_attributes(name: str, declared: list[AttributeDeclaration]) -> str:
    """The property of an attribute that several operations may have."""
    kind = declared[0].constraint.kind
    if kind == "unit":
        return f'Accessor(NamedParts._is_present, "{name}")'
    method, may_be_absent = _READERS.get(kind, ("_attribute", True))
    is_optional = may_be_absent and any(each.optional for each in declared)
    return f'{"Accessor" if is_optional else "Required"}(NamedParts.{method}, "{name}")'

"""Writes the table of `ir/accessors.py`: a property of `Operation` for each declared name.

`python -m tileir.tools.builder_stub` writes it together with the stub of the builder.
"""

from __future__ import annotations

from pathlib import Path

from tileir import ir
from tileir.annotations import Final
from tileir.declarations import declarations
from tileir.ir.accessors import NamedParts, accessor_name
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE, OPTIONAL, VARIADIC, AttributeDeclaration, OperandDeclaration

FILE: Final = Path(ir.__path__[0]) / "accessors.py"
# The generated lines follow this one.
_MARK: Final = "src/tileir/tools/accessor_properties.py.\n"

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
    lines = [f"    {name}: ClassVar = {found[name]}\n" for name in sorted(set(found) - members)]
    before, mark, _ = FILE.read_text(encoding="utf-8").partition(_MARK)
    return before + mark + "".join(lines)


def _of_attributes(name: str, declared: list[AttributeDeclaration]) -> str:
    """The property of an attribute that several operations may have."""
    kind = declared[0].constraint.kind
    if kind == "unit":
        return f'Accessor(NamedParts._is_present, "{name}")'
    method, may_be_absent = _READERS.get(kind, ("_attribute", True))
    is_optional = may_be_absent and any(each.optional for each in declared)
    return f'{"Accessor" if is_optional else "Required"}(NamedParts.{method}, "{name}")'

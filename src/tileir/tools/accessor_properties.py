"""Writes `ir/accessors.py`: a property of `Operation` for each declared name.

`python -m tileir.tools.builder_stub` writes it together with the stub of the builder.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.declarations import declarations
from tileir.ir.core import Operation
from tileir.ir.declaration import ONE, OPTIONAL, VARIADIC, AttributeDeclaration, OperandDeclaration
from tileir.ir.named_parts import NamedParts, accessor_name

_HEAD: Final = '''\
# Written by `make docs` from the declarations; edit those, or src/tileir/tools/accessor_properties.py.
# fmt: off
"""A property for each operand, attribute and result that an operation declares, by its name in snake case.

An operand or result is a `Value`, an optional one a `Value` or None, a variadic one a list.  An enum attribute is its
keyword, a unit attribute whether it is present; numbers, strings, types and arrays are Python values.
An attribute that shares its name with an operand of other operations ends in `_attribute`.
Asked of an operation that does not declare the name, a property raises `AttributeError`.
"""

from __future__ import annotations

from tileir.ir.attributes import Attribute
from tileir.ir.dense import DenseAttribute
from tileir.ir.named_parts import NamedParts
from tileir.ir.types import Type
from tileir.ir.values import Value


class Accessors(NamedParts):
    """The declared parts of an operation by name."""

    __slots__ = ()

'''

# The Python type of an attribute by the kind of its constraint, and the expression that reads it.
_ALWAYS_GIVEN: Final = {
    "bool": ("bool", "self._integer({name}) != 0"),
    "dense": ("DenseAttribute", "self._dense({name})"),
    "i32": ("int", "self._integer({name})"),
    "i64": ("int", "self._integer({name})"),
    "type": ("Type", "self._type({name})"),
    "unit": ("bool", "self._attribute({name}) is not None"),
}
# As above where a declaration may be optional: None stands for an absent attribute.
_OPTIONAL: Final = {
    "array": ("tuple[Attribute, ...]", "self._array({name})"),
    "bool_array": ("tuple[int, ...]", "self._integers({name})"),
    "enum": ("str", "self._keyword({name})"),
    "i32_array": ("tuple[int, ...]", "self._integers({name})"),
    "string": ("str", "self._string({name})"),
    "symbol_name": ("str", "self._string({name})"),
}
_VALUES: Final = {
    ONE: ("Value", "_value"),
    OPTIONAL: ("Value | None", "_optional_value"),
    VARIADIC: ("list[Value]", "_values"),
}


def accessors() -> str:
    """The whole file."""
    values: dict[str, list[OperandDeclaration]] = {}
    attributes: dict[str, list[AttributeDeclaration]] = {}
    for declaration in declarations():
        for value in (*declaration.operands, *declaration.results):
            values.setdefault(value.name, []).append(value)
        for attribute in declaration.attributes:
            attributes.setdefault(attribute.name, []).append(attribute)
    found: dict[str, tuple[str, str]] = {}
    for name, declared in values.items():
        kind, method = _VALUES[max([each.count for each in declared])]
        found[accessor_name(name)] = (kind, f'self.{method}("{name}")')
    for name, given in attributes.items():
        suffix = "_attribute" if name in values else ""
        found[accessor_name(name) + suffix] = _of_attributes(name, given)
    # What `Operation` has itself stays: its `operands`, `result` and `results` are those of the declarations.
    members = {*vars(Operation), *vars(NamedParts)}
    lines: list[str] = []
    for name in sorted(set(found) - members):
        kind, returned = found[name]
        lines += ["    @property", f"    def {name}(self) -> {kind}:", f"        return {returned}"]
    return _HEAD + "\n".join(lines) + "\n"


def _of_attributes(name: str, declared: list[AttributeDeclaration]) -> tuple[str, str]:
    """The type and the expression of an attribute that several operations may have."""
    kind, quoted = declared[0].constraint.kind, f'"{name}"'
    if kind in _ALWAYS_GIVEN:
        type, read = _ALWAYS_GIVEN[kind]
        return type, read.format(name=quoted)
    type, read = _OPTIONAL.get(kind, ("Attribute", "self._attribute({name})"))
    read = read.format(name=quoted)
    if any(each.optional for each in declared):
        return f"{type} | None", read
    return type, f"self._required({quoted}, {read})"

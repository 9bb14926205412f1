"""Reading the operands, attributes and results of an operation by the names in its declaration.

`ir.accessors` has a property for each declared name, made of the methods here; `Operation` inherits both.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    IntegerAttribute,
    StringAttribute,
    TypeAttribute,
)
from tileir.ir.dense import DenseAttribute
from tileir.ir.enums import EnumAttribute
from tileir.ir.hooks import ProgramPart
from tileir.ir.types import Type
from tileir.ir.values import OperationResult, Value

if TYPE_CHECKING:
    from typing import TypeVar

    from tileir.ir.declaration import OperationDeclaration

    Part = TypeVar("Part")


def accessor_name(declared: str) -> str:
    """The property for a declared name: `lowerBound` is `lower_bound`, `from` is `from_`."""
    import keyword

    name = "".join([f"_{letter.lower()}" if letter.isupper() else letter for letter in declared])
    # `str` is no keyword, but a property of this name would hide the type from the annotations below it.
    return f"{name}_" if keyword.iskeyword(name) or name == "str" else name


class NamedParts(ProgramPart):
    """The parts of an operation by name.

    The public methods take any name.  The others serve the properties: a name that the declaration does not have is
    an `AttributeError`, a required attribute that is missing or of another kind a `ValueError`.
    """

    __slots__ = ()

    declaration: OperationDeclaration
    operands: list[Value]
    results: tuple[OperationResult, ...]
    attributes: dict[str, Attribute]
    segments: tuple[int, ...] | None

    def attribute(self, name: str) -> Attribute | None:
        """An attribute, or its declared default, or None."""
        found = self.attributes.get(name)
        return found if found is not None else self.declaration.defaults.get(name)

    def keyword(self, name: str) -> str:
        """The keyword of an enum attribute, or of its declared default; empty where there is none."""
        found = self.attribute(name)
        return found.keyword if isinstance(found, EnumAttribute) else ""

    def operand_group(self, name: str) -> list[Value]:
        """The operands declared under a name: one, none or several."""
        if len(self.declaration.operands) == 1:
            return self.operands
        if not isinstance(name, str):
            raise TypeError(f"an operand has a string for a name, not {name!r}")
        start, end = self._range(name)
        return self.operands[start:end]

    def operand(self, name: str) -> Value | None:
        """The operand declared under a name, None where it is optional and absent."""
        group = self.operand_group(name)
        return group[0] if group else None

    def segment_lengths(self) -> list[int]:
        """How many values each declared operand has."""
        if self.segments is not None:
            return list(self.segments)
        declared = self.declaration.operands
        spare = max(len(self.operands) - sum(1 for each in declared if each.is_one), 0)
        return [1 if each.is_one else spare for each in declared]

    # --- operands and results ---

    def _range(self, name: str) -> tuple[int, int]:
        """Start and end of a declared operand's values in `operands`; a `KeyError` where it is not declared."""
        index = self.declaration.operand_number(name)
        if self.declaration.plain_operands:
            return index, index + 1
        lengths = self.segments if self.segments is not None else self.segment_lengths()
        start = sum(lengths[:index])
        return start, start + lengths[index]

    def _value(self, name: str) -> Value:
        try:
            start, _ = self._range(name)
        except KeyError:
            for index, result in enumerate(self.declaration.results):
                if result.name == name:
                    return self.results[index]
            raise self._not_declared(name) from None
        return self.operands[start]

    def _optional_value(self, name: str) -> Value | None:
        try:
            start, end = self._range(name)
        except KeyError:
            raise self._not_declared(name) from None
        return self.operands[start] if end > start else None

    def _values(self, name: str) -> list[Value]:
        try:
            start, end = self._range(name)
        except KeyError:
            if name in [result.name for result in self.declaration.results]:
                return list(self.results)
            raise self._not_declared(name) from None
        return self.operands[start:end]

    # --- attributes ---

    def _attribute(self, name: str) -> Attribute | None:
        if name not in self.declaration.inherent:
            raise self._not_declared(name)
        found = self.attributes.get(name)
        return found if found is not None else self.declaration.defaults.get(name)

    def _required(self, name: str, found: Part | None) -> Part:
        if found is None:
            raise ValueError(f"attribute '{name}' of '{self.declaration.name}' is missing or of another kind")
        return found

    def _keyword(self, name: str) -> str | None:
        found = self._attribute(name)
        return found.keyword if isinstance(found, EnumAttribute) else None

    def _string(self, name: str) -> str | None:
        found = self._attribute(name)
        return found.value if isinstance(found, StringAttribute) else None

    def _integer(self, name: str) -> int:
        found = self._attribute(name)
        return self._required(name, found.value if isinstance(found, IntegerAttribute) else None)

    def _integers(self, name: str) -> tuple[int, ...] | None:
        found = self._attribute(name)
        return found.values if isinstance(found, DenseArrayAttribute) else None

    def _array(self, name: str) -> tuple[Attribute, ...] | None:
        found = self._attribute(name)
        return found.elements if isinstance(found, ArrayAttribute) else None

    def _type(self, name: str) -> Type:
        found = self._attribute(name)
        return self._required(name, found.type if isinstance(found, TypeAttribute) else None)

    def _dense(self, name: str) -> DenseAttribute:
        found = self._attribute(name)
        return self._required(name, found if isinstance(found, DenseAttribute) else None)

    def _not_declared(self, name: str) -> AttributeError:
        declaration = self.declaration
        names = [accessor_name(each.name) for each in (*declaration.operands, *declaration.results)]
        names += [accessor_name(each.name) for each in declaration.regions]
        for each in declaration.attributes:
            named = accessor_name(each.name)
            names.append(f"{named}_attribute" if hasattr(type(self), f"{named}_attribute") else named)
        return AttributeError(
            f"'{declaration.name}' has no operand or attribute '{accessor_name(name)}'; "
            f"it has {', '.join(names) or 'none'}"
        )

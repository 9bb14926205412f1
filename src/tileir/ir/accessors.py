"""Reading the operands, attributes and results of an operation by the names in its declaration.

`NamedParts` has methods that take any name.  `Accessors` has a property for each declared name, in snake case; its
table is generated.  An operand or result is a `Value`, an optional one a `Value` or None, a variadic one a list.  An
enum attribute is its keyword, a unit attribute whether it is present; numbers, strings, types and arrays are Python
values.  An attribute that shares its name with an operand of other operations ends in `_attribute`.
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Any, Callable, ClassVar, Final, Generic, Part, cast
from tileir.ir.attributes import (
    UNIT,
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    TypeAttribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.dense import DenseAttribute
from tileir.ir.floats import FORMATS, from_double
from tileir.ir.interning import ProgramPart
from tileir.ir.types import F64, I1, I8, I16, I32, I64, Type
from tileir.ir.values import OperationResult, Value

if TYPE_CHECKING:
    from tileir.ir.declaration import OperationDeclaration


def accessor_name(declared: str) -> str:
    """The property for a declared name: `lowerBound` is `lower_bound`, `from` is `from_`."""
    import keyword

    name = "".join([f"_{letter.lower()}" if letter.isupper() else letter for letter in declared])
    # `str` is no keyword, but a property of this name would hide the type from the annotations below it.
    return f"{name}_" if keyword.iskeyword(name) or name == "str" else name


class NamedParts(ProgramPart):
    """The parts of an operation by name.

    The public methods take any name.  The others serve the properties: a name that the declaration does not have is
    an `AttributeError`.
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

    def _range(self, name: str) -> tuple[int, int]:
        """Start and end of a declared operand's values in `operands`; a `KeyError` where it is not declared."""
        index = self.declaration.operand_number(name)
        if self.declaration.plain_operands:
            return index, index + 1
        lengths = self.segment_lengths()
        start = 0
        for number in range(index):
            start += lengths[number]
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

    # Each of the following returns None where the attribute is absent or of another kind.

    def _attribute(self, name: str) -> Attribute | None:
        if name not in self.declaration.inherent:
            raise self._not_declared(name)
        return self.attribute(name)

    def _is_present(self, name: str) -> bool:
        return self._attribute(name) is not None

    def _keyword(self, name: str) -> str | None:
        found = self._attribute(name)
        return found.keyword if isinstance(found, EnumAttribute) else None

    def _string(self, name: str) -> str | None:
        found = self._attribute(name)
        return found.value if isinstance(found, StringAttribute) else None

    def _integer(self, name: str) -> int | None:
        found = self._attribute(name)
        return found.value if isinstance(found, IntegerAttribute) else None

    def _boolean(self, name: str) -> bool | None:
        found = self._attribute(name)
        return found.value != 0 if isinstance(found, IntegerAttribute) else None

    def _integers(self, name: str) -> tuple[int, ...] | None:
        found = self._attribute(name)
        return found.values if isinstance(found, DenseArrayAttribute) else None

    def _array(self, name: str) -> tuple[Attribute, ...] | None:
        found = self._attribute(name)
        return found.elements if isinstance(found, ArrayAttribute) else None

    def _type(self, name: str) -> Type | None:
        found = self._attribute(name)
        return found.type if isinstance(found, TypeAttribute) else None

    def _dense(self, name: str) -> DenseAttribute | None:
        found = self._attribute(name)
        return found if isinstance(found, DenseAttribute) else None

    def _not_declared(self, name: str) -> AttributeError:
        declaration = self.declaration
        names = [accessor_name(each.name) for each in (*declaration.operands, *declaration.results)]
        names += [accessor_name(each.name) for each in declaration.regions]
        for each in declaration.attributes:
            named = accessor_name(each.name)
            names.append(f"{named}_attribute" if f"{named}_attribute" in vars(Accessors) else named)
        return AttributeError(
            f"'{declaration.name}' has no operand or attribute '{accessor_name(name)}'; "
            f"it has {', '.join(names) or 'none'}"
        )


# Lists may contain themselves.
_DEEPEST_VALUE: Final = 100


def plain_attributes(value: object, depth: int = 0) -> list[Attribute]:
    """The attributes a Python value may stand for, the likeliest first; `TypeError` for a value without one."""
    if depth > _DEEPEST_VALUE:
        raise TypeError(f"lists in an attribute nest more than {_DEEPEST_VALUE} deep, or contain themselves")
    if isinstance(value, Attribute):
        return [value]
    if value is None:
        return [UNIT]
    if isinstance(value, bool):
        return [bool_attribute(value), UNIT] if value else [bool_attribute(value)]
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise TypeError(f"{value} is too large for an attribute of 64 bits")
        # i64 has no sign: the larger half stands for the negative numbers.
        wide = value if value < 1 << 63 else value - (1 << 64)
        found: list[Attribute] = [integer_attribute(I64, wide)]
        for type in (I32, I16, I8):
            if -(1 << (type.width - 1)) <= value < 1 << (type.width - 1):
                found.append(integer_attribute(type, value))
        return found
    if isinstance(value, float):
        return [float_attribute(F64, from_double(FORMATS["f64"], value))]
    if isinstance(value, str):
        return [string_attribute(value), symbol_attribute(value)]
    if isinstance(value, Type):
        return [type_attribute(value)]
    if isinstance(value, (list, tuple)):
        found = [array_attribute(tuple([plain_attributes(element, depth + 1)[0] for element in value]))]
        if all(isinstance(element, bool) for element in value):
            found.append(dense_array_attribute(I1, tuple([int(element) for element in value])))
        numbers = [element for element in value if isinstance(element, int) and not isinstance(element, bool)]
        if len(numbers) == len(value):
            found += [dense_array_attribute(I64, tuple(numbers)), dense_array_attribute(I32, tuple(numbers))]
        return found
    if isinstance(value, dict):
        entries: dict[str, Attribute] = {}
        for name, entry in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the name of an attribute is a string, not {name!r}")
            entries[name] = plain_attributes(entry, depth + 1)[0]
        return [dictionary_attribute(entries)]
    raise TypeError(
        f"{value!r} is no attribute: give an Attribute, a string, a number, a boolean, a type, a list or a dictionary"
    )


class Accessor(Generic[Part]):
    """A property of an operation: what `read` returns for a declared name."""

    __slots__ = ("name", "read")

    def __init__(self, read: Callable[[NamedParts, str], Part], name: str) -> None:
        self.read: Callable[[NamedParts, str], Part] = read
        self.name: str = name

    def __get__(self, operation: NamedParts | None, owner: object = None) -> Part:
        if operation is None:
            # Read from the class, as `help` does.
            return cast(Any, self)  # type: ignore[no-any-return]
        return self.read(operation, self.name)


class Required(Generic[Part]):
    """As `Accessor`, of an attribute that every operation with this name must have."""

    __slots__ = ("name", "read")

    def __init__(self, read: Callable[[NamedParts, str], Part | None], name: str) -> None:
        self.read: Callable[[NamedParts, str], Part | None] = read
        self.name: str = name

    def __get__(self, operation: NamedParts | None, owner: object = None) -> Part:
        if operation is None:
            return cast(Any, self)  # type: ignore[no-any-return]
        found = self.read(operation, self.name)
        if found is None:
            message = f"attribute '{self.name}' of '{operation.declaration.name}' is missing or of another kind"
            raise ValueError(message)
        return found


class Accessors(NamedParts):
    """The declared parts of an operation by name."""

    __slots__ = ()

    # Written by `make docs` from the declarations; edit those, or generators/accessors.py.
    acc: ClassVar = Accessor(NamedParts._value, "acc")
    alignment: ClassVar = Required(NamedParts._integer, "alignment")
    arg: ClassVar = Accessor(NamedParts._value, "arg")
    arg_attrs: ClassVar = Accessor(NamedParts._array, "arg_attrs")
    args: ClassVar = Accessor(NamedParts._values, "args")
    base: ClassVar = Accessor(NamedParts._value, "base")
    block_id_x: ClassVar = Accessor(NamedParts._value, "blockId_x")
    block_id_y: ClassVar = Accessor(NamedParts._value, "blockId_y")
    block_id_z: ClassVar = Accessor(NamedParts._value, "blockId_z")
    callee: ClassVar = Required(NamedParts._attribute, "callee")
    cmp: ClassVar = Accessor(NamedParts._value, "cmp")
    comparison_ordering: ClassVar = Accessor(NamedParts._keyword, "comparison_ordering")
    comparison_predicate: ClassVar = Required(NamedParts._keyword, "comparison_predicate")
    cond: ClassVar = Accessor(NamedParts._value, "cond")
    condition: ClassVar = Accessor(NamedParts._value, "condition")
    const_args: ClassVar = Required(NamedParts._array, "const_args")
    constant: ClassVar = Accessor(NamedParts._is_present, "constant")
    destination: ClassVar = Accessor(NamedParts._value, "destination")
    dim: ClassVar = Required(NamedParts._integer, "dim")
    dynamic_shape: ClassVar = Accessor(NamedParts._values, "dynamicShape")
    dynamic_strides: ClassVar = Accessor(NamedParts._values, "dynamicStrides")
    exponent: ClassVar = Accessor(NamedParts._value, "exponent")
    fast_acc: ClassVar = Accessor(NamedParts._is_present, "fast_acc")
    flush_to_zero: ClassVar = Accessor(NamedParts._is_present, "flush_to_zero")
    from_: ClassVar = Accessor(NamedParts._value, "from")
    function_type: ClassVar = Required(NamedParts._type, "function_type")
    global_: ClassVar = Accessor(NamedParts._is_present, "global")
    grid_size_x: ClassVar = Accessor(NamedParts._value, "gridSize_x")
    grid_size_y: ClassVar = Accessor(NamedParts._value, "gridSize_y")
    grid_size_z: ClassVar = Accessor(NamedParts._value, "gridSize_z")
    identities: ClassVar = Required(NamedParts._array, "identities")
    inbounds: ClassVar = Accessor(NamedParts._integers, "inbounds")
    index: ClassVar = Accessor(NamedParts._values, "index")
    indices: ClassVar = Accessor(NamedParts._values, "indices")
    init_values: ClassVar = Accessor(NamedParts._values, "initValues")
    inputs: ClassVar = Accessor(NamedParts._values, "inputs")
    lhs: ClassVar = Accessor(NamedParts._value, "lhs")
    lhs_scale: ClassVar = Accessor(NamedParts._value, "lhs_scale")
    lower_bound: ClassVar = Accessor(NamedParts._value, "lowerBound")
    mask: ClassVar = Accessor(NamedParts._optional_value, "mask")
    memory_ordering_semantics: ClassVar = Required(NamedParts._keyword, "memory_ordering_semantics")
    memory_scope: ClassVar = Accessor(NamedParts._keyword, "memory_scope")
    message: ClassVar = Required(NamedParts._string, "message")
    mode: ClassVar = Required(NamedParts._keyword, "mode")
    num_elem: ClassVar = Required(NamedParts._integer, "num_elem")
    offset: ClassVar = Accessor(NamedParts._value, "offset")
    optimization_hints: ClassVar = Accessor(NamedParts._attribute, "optimization_hints")
    outputs: ClassVar = Accessor(NamedParts._values, "outputs")
    overflow: ClassVar = Required(NamedParts._keyword, "overflow")
    padding_value: ClassVar = Accessor(NamedParts._optional_value, "paddingValue")
    permutation: ClassVar = Required(NamedParts._integers, "permutation")
    pointers: ClassVar = Accessor(NamedParts._value, "pointers")
    predicate: ClassVar = Required(NamedParts._attribute, "predicate")
    producer: ClassVar = Accessor(NamedParts._string, "producer")
    propagate_nan: ClassVar = Accessor(NamedParts._is_present, "propagate_nan")
    ptr: ClassVar = Accessor(NamedParts._value, "ptr")
    reduction: ClassVar = Required(NamedParts._keyword, "reduction")
    res_attrs: ClassVar = Accessor(NamedParts._array, "res_attrs")
    result_token: ClassVar = Accessor(NamedParts._value, "result_token")
    result_values: ClassVar = Accessor(NamedParts._values, "resultValues")
    reverse: ClassVar = Required(NamedParts._boolean, "reverse")
    rhs: ClassVar = Accessor(NamedParts._value, "rhs")
    rhs_scale: ClassVar = Accessor(NamedParts._value, "rhs_scale")
    rounding: ClassVar = Required(NamedParts._keyword, "rounding")
    rounding_mode: ClassVar = Required(NamedParts._keyword, "rounding_mode")
    saturating: ClassVar = Accessor(NamedParts._is_present, "saturating")
    scope: ClassVar = Required(NamedParts._keyword, "scope")
    signedness: ClassVar = Required(NamedParts._keyword, "signedness")
    signedness_lhs: ClassVar = Required(NamedParts._keyword, "signedness_lhs")
    signedness_rhs: ClassVar = Required(NamedParts._keyword, "signedness_rhs")
    source: ClassVar = Accessor(NamedParts._value, "source")
    src: ClassVar = Accessor(NamedParts._value, "src")
    step: ClassVar = Accessor(NamedParts._value, "step")
    str_: ClassVar = Required(NamedParts._string, "str")
    sym_name: ClassVar = Accessor(NamedParts._string, "sym_name")
    sym_visibility: ClassVar = Accessor(NamedParts._string, "sym_visibility")
    symbol_visibility: ClassVar = Required(NamedParts._keyword, "symbol_visibility")
    tensor_view: ClassVar = Accessor(NamedParts._value, "tensor_view")
    tile: ClassVar = Accessor(NamedParts._value, "tile")
    to: ClassVar = Accessor(NamedParts._value, "to")
    token: ClassVar = Accessor(NamedParts._optional_value, "token")
    tokens: ClassVar = Accessor(NamedParts._values, "tokens")
    unsigned_cmp: ClassVar = Accessor(NamedParts._is_present, "unsignedCmp")
    upper_bound: ClassVar = Accessor(NamedParts._value, "upperBound")
    val: ClassVar = Accessor(NamedParts._value, "val")
    val_if_false: ClassVar = Accessor(NamedParts._value, "val_if_false")
    val_if_true: ClassVar = Accessor(NamedParts._value, "val_if_true")
    value: ClassVar = Accessor(NamedParts._value, "value")
    value_attribute: ClassVar = Required(NamedParts._dense, "value")
    view: ClassVar = Accessor(NamedParts._value, "view")
    x: ClassVar = Accessor(NamedParts._value, "x")
    y: ClassVar = Accessor(NamedParts._value, "y")

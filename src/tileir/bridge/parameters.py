"""What cuTile would know about the arguments of a launch, found out without a GPU.

cuTile compiles a kernel once for each *specialization*: the constants, and of each array its dtype and rank, which
strides are 1, which strides, extents and base addresses are multiples of 16, and whether elements overlap.  Its own
code that reads the arguments needs the CUDA driver.  `describe` does the same here: `parameters` is what the
kernel is compiled for (equal ones share a compilation), `values` and `memory` what it runs with.

Calling convention: a constant is compiled in; an array is a pointer, then its extents, then its strides in elements; a
list of arrays is a pointer to a table with one row of 64-bit words per array (address, extents, strides) and the number
of rows; a tuple is its items.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import numpy

from tileir.execute.arguments.binding import TORCH_DTYPES, Buffer, Pointer, buffer_of, is_array, is_on_gpu
from tileir.execute.errors import LaunchError, WrongDeviceError
from tileir.execute.locations.wording import argument_name, item_name, items_of
from tileir.ir.quoting import type_text

# The unit of alignment that cuTile compiles for: bytes of an address or a stride, elements of an extent.
ALIGNMENT = 16
# Arrays of higher rank are not specialized.
SPECIALIZED_RANK = 5


_FACTS: Final = ("extent", "stride", "address", "distinct")


class Fact(NamedTuple):
    """What a kernel relies on of an array: an extent or a stride that is known, or of which a number is a divisor."""

    what: str  # One of `_FACTS`; "address" is in bytes, and "distinct" means that no two indices name the same element.
    axis: int = 0
    divisor: int = 1
    number: int | None = None

    def __str__(self) -> str:
        if self.what == "address":
            return f"at a multiple of {self.divisor} bytes"
        if self.what == "distinct":
            return "without elements that overlap"
        number = f"a multiple of {self.divisor}" if self.number is None else self.number
        return f"{self.what} {number} along axis {self.axis}"


class ArrayParameter(NamedTuple):
    """All that a kernel knows about an array when it is compiled."""

    dtype: str  # The name in `cuda.tile`.
    rank: int
    index_width: int
    facts: frozenset[Fact]


class ListParameter(NamedTuple):
    element: ArrayParameter


class ScalarParameter(NamedTuple):
    dtype: str


class TupleParameter(NamedTuple):
    items: tuple[Parameter, ...]


class TypedParameter(NamedTuple):
    """A parameter of a Triton kernel: its type, and a divisor of the number or address."""

    type: str
    divisor: int


@dataclass(frozen=True, slots=True)
class ConstantParameter:
    """A value compiled in."""

    key: tuple[type, object]
    value: object = field(compare=False)


Parameter = ArrayParameter | ListParameter | ScalarParameter | TupleParameter | ConstantParameter | TypedParameter


def constant_key(value: object) -> tuple[type, object]:
    """The key of a constant: 1, True and 1.0 differ; -0.0 is not 0.0, and a NaN is itself."""
    if isinstance(value, numpy.generic):
        value = value.item()
    return type(value), struct.pack("=d", value) if isinstance(value, float) else value


def words_of(parameter: Parameter, all_facts: bool = False) -> str:
    """What a kernel is compiled for, as text: `float32 of rank 2`; with `all_facts` what it relies on as well."""
    if isinstance(parameter, ListParameter):
        return f"a list of {words_of(parameter.element, all_facts)}"
    if isinstance(parameter, ScalarParameter):
        return parameter.dtype
    if isinstance(parameter, ConstantParameter):
        return f"the constant {parameter.value!r}"
    if isinstance(parameter, TypedParameter):
        return f"{parameter.type}, a multiple of {parameter.divisor}" if parameter.divisor > 1 else parameter.type
    if isinstance(parameter, ArrayParameter):
        facts = sorted(parameter.facts, key=lambda fact: (_FACTS.index(fact.what), fact.axis)) if all_facts else []
        return ", ".join([f"{parameter.dtype} of rank {parameter.rank}", *map(str, facts)])
    if not all_facts:
        return "a tuple"
    return f"a tuple of {', '.join([words_of(item, True) for item in parameter.items]) or 'nothing'}"


def fits(expected: Parameter, found: Parameter) -> bool:
    """Whether what was compiled for one parameter is right for another."""
    if isinstance(expected, ArrayParameter) and isinstance(found, ArrayParameter):
        return expected[:3] == found[:3] and expected.facts <= found.facts
    if isinstance(expected, TypedParameter) and isinstance(found, TypedParameter):
        return expected.type == found.type and found.divisor % expected.divisor == 0
    if isinstance(expected, ListParameter) and isinstance(found, ListParameter):
        return fits(expected.element, found.element)
    if isinstance(expected, TupleParameter) and isinstance(found, TupleParameter):
        return len(expected.items) == len(found.items) and all(map(fits, expected.items, found.items))
    return expected == found


# --- errors, of the classes that cuTile raises: a script may catch those ---


_CLASSES: Final[dict[type[Exception], Any]] = {}


def _error(kind: type[Exception], message: str, cutile: str = "") -> LaunchError:
    """A `LaunchError` that is also of cuTile's class, with cuTile's message for the same error."""
    if kind not in _CLASSES:
        # Shown and pickled as what it is to users.
        members = {name: getattr(LaunchError, name) for name in ("__module__", "__qualname__")}
        members["__reduce__"] = lambda error: (LaunchError, (error.message,))
        _CLASSES[kind] = type(LaunchError.__name__, (LaunchError, kind), members)
    found: LaunchError = _CLASSES[kind](f"{message} (cuTile: {cutile})" if cutile else message)
    return found


wrong_type = partial(_error, TypeError)
wrong_value = partial(_error, ValueError)
too_large = partial(_error, OverflowError)


# --- a launch ---


@dataclass(slots=True)
class Description:
    """A launch as its kernel sees it."""

    names: list[str] = field(default_factory=list)  # Of the parameters.
    parameters: list[Parameter] = field(default_factory=list)
    values: list[object] = field(default_factory=list)  # The arguments of the compiled kernel.
    memory: list[Pointer] = field(default_factory=list)  # The arrays reached through tables.


def describe(kernel: str, names: list[str], annotations: list[Any], arguments: tuple[object, ...]) -> Description:
    """Look at the arguments of a launch; `annotations` are cuTile's, one for each parameter."""
    if len(arguments) != len(names):
        expected = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        given = f"but {len(arguments)} {'was' if len(arguments) == 1 else 'were'} given"
        message = f"{kernel} takes {expected} ({', '.join(names)}), {given}"
        raise wrong_type(message, f"Kernel expects {expected} {given}")
    description = Description(list(names))
    for name, annotation, value in zip(names, annotations, arguments, strict=True):
        description.parameters.append(_describe(description, annotation, value, argument_name(name, kernel)))
    return description


def _describe(description: Description, annotation: Any, value: object, name: str) -> Parameter:
    if isinstance(value, tuple):
        return _describe_tuple(description, annotation, value, name)
    if annotation.KIND != "leaf":
        message = f"{name} is annotated as a tuple, but {type_text(value)} was given: pass a tuple"
        words = "Received a non-tuple argument for a parameter annotated as a tuple"
        raise wrong_type(message, words)
    if annotation.constant:
        if annotation.scalar is not None:
            words = "Constant annotation cannot be combined with ScalarAnnotation/ScalarInt64"
            raise wrong_type(f"{name} is annotated in two ways: choose one", words)
        return _describe_constant(description, value, name)
    if isinstance(value, list):
        return _describe_list(description, annotation.list, value, name)
    if is_array(value):
        buffer = memory_of(value, name)
        strides = strides_of(buffer, annotation.array, name)
        description.values += (Pointer(value, name), *buffer.shape, *strides)
        return array_parameter(buffer, strides, annotation.array, name)
    return _describe_scalar(description, annotation.scalar, value, name)


def _describe_tuple(description: Description, annotation: Any, value: tuple[object, ...], name: str) -> Parameter:
    if type(value) is not tuple:
        kind = type(value).__name__
        words = f"{_path(description, name)}: '{kind}' is a subclass of 'tuple'. Only plain tuples are accepted."
        raise wrong_type(f"{name} is {type_text(value)}: pass a tuple, as tuple(x)", words)
    annotations = item_annotations(annotation, len(value))
    if len(annotations) != len(value):
        message = f"{name} is a tuple of {len(annotations)} items, but one of {len(value)} was given"
        words = f"Received a tuple of length {len(value)} for a parameter annotated as a tuple of length "
        raise wrong_type(message, f"{words}{len(annotations)}")
    pairs = enumerate(zip(annotations, value, strict=True))
    items = [_describe(description, inner, item, item_name(number, name)) for number, (inner, item) in pairs]
    return TupleParameter(tuple(items))


def item_annotations(annotation: Any, count: int) -> Sequence[Any]:
    """The annotations of the items of a tuple; that of a leaf holds for each."""
    if annotation.KIND == "heterogeneous_tuple":
        found: Sequence[Any] = annotation.items
        return found
    return [annotation if annotation.KIND == "leaf" else annotation.each] * count


def _path(description: Description, name: str) -> str:
    """Where an argument is, as cuTile counts: `Invalid item #0 of kernel argument #2`."""
    items = "".join([f"item #{number} of " for number in items_of(name)])
    return f"Invalid {items}kernel argument #{len(description.parameters)}"


def _describe_constant(description: Description, value: object, name: str) -> Parameter:
    if is_array(value):
        message = f"{name} is annotated as a constant, but an array was given: pass a number, as x.item()"
        words = f"Could not interpret object of type '{type(value).__name__}' as a constant."
        raise wrong_type(message, f"{_path(description, name)}: {words}")
    constant = ConstantParameter(constant_key(value), value.item() if isinstance(value, numpy.generic) else value)
    try:
        hash(constant)
    except TypeError:
        raise LaunchError(
            f"{name} is annotated as a constant, but {type_text(value)} was given: "
            "pass a number, a string, a dtype or a tuple of them"
        ) from None
    return constant


def _describe_scalar(description: Description, annotation: Any, value: object, name: str) -> Parameter:
    if isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, bool):
        dtype = "bool_"
    elif isinstance(value, int):
        width = integer_width(annotation)
        if not -(1 << (width - 1)) <= value < 1 << (width - 1):
            hint = "annotate the parameter with ct.ScalarInt64" if width == 32 else "pass a smaller number"
            raise too_large(f"{name} is {value}, which does not fit an int{width}: {hint}")
        dtype = f"int{width}"
    elif isinstance(value, float):
        dtype = "float32"
    else:
        # cuTile takes no None, as a constant either.
        or_constant = "" if value is None else ", or annotate the parameter with ct.Constant"
        raise wrong_type(
            f"{name} is {type_text(value)}, which no kernel can take: pass an array, a number, a bool, a list of "
            f"arrays or a tuple{or_constant}"
        )
    description.values.append(value)
    return ScalarParameter(dtype)


def integer_width(annotation: Any) -> int:
    """The bits of a number of a parameter with this annotation."""
    return 32 if annotation is None else int(annotation.dtype.bitwidth)


def _describe_list(description: Description, annotation: Any, value: list[object], name: str) -> Parameter:
    if not value:
        raise wrong_type(f"{name} is an empty list: pass at least one array")
    element = None if annotation is None else annotation.element
    buffers: list[Buffer] = []
    rows: list[list[int]] = []
    parameters: list[ArrayParameter] = []
    for number, item in enumerate(value):
        what = item_name(number, name)
        if not is_array(item):
            raise wrong_type(f"{what} is {type_text(item)}, but a list is a list of arrays: pass an array")
        buffer = memory_of(item, what)
        strides = strides_of(buffer, element, what)
        buffers.append(buffer)
        rows.append([buffer.address, *buffer.shape, *strides])
        parameters.append(array_parameter(buffer, strides, element, what))
        description.memory.append(Pointer(item, what))
        if parameters[-1][:2] != parameters[0][:2]:
            raise wrong_type(
                f"{what} is {buffer.description}, but item 0 is {buffers[0].description}: "
                "the arrays of a list have one dtype and one rank"
            )
    table = _beside(value[0], numpy.array(rows, numpy.uint64).view(numpy.int64), name)
    description.values += (Pointer(table, f"the table of {name}"), len(value))
    common = frozenset.intersection(*[each.facts for each in parameters])
    for fact in sorted(parameters[0].facts - common):
        static = getattr(element, _STATIC.get(fact.what, ""), None)
        for other in [each.number for one in parameters for each in one.facts if static and each[:3] == fact[:3]]:
            if other != fact.number:
                # The annotation compiles it in.
                arrays = f"{name} has arrays of {fact.what} {fact.number} and {other} along axis {fact.axis}"
                static = "shape" if fact.what == "extent" else fact.what
                words = f"Arrays in list vary in static {static} at axis {fact.axis} ({fact.number} vs {other})"
                raise wrong_value(f"{arrays}, which its annotation compiles in: pass arrays that agree", words)
    return ListParameter(parameters[0]._replace(facts=common))


def memory_of(value: object, name: str) -> Buffer:
    """The memory of an array, here or on a GPU."""
    try:
        return buffer_of(value, name)
    except WrongDeviceError:
        # Imported here: few have a GPU.
        from tileir.execute.gpu.arrays import device_buffer

        return device_buffer(value, name)


def _beside(array: Any, table: Any, name: str) -> object:
    """A table in the memory that an array is in."""
    if not is_on_gpu(array):
        return table
    library = type(array).__module__.partition(".")[0]
    if library == "torch":
        return sys.modules["torch"].from_numpy(table).to(array.device)
    if library == "cupy":
        with array.device:
            return sys.modules["cupy"].asarray(table)
    raise LaunchError(
        f"{name} is a list of {type(array).__name__} on a GPU: pass a list of torch tensors or CuPy arrays"
    )


# --- arrays ---


def strides_of(buffer: Buffer, annotation: Any, name: str) -> list[int]:
    """The strides of an array in elements; it is refused if cuTile would refuse its dtype, extents or strides."""
    dtype, size = buffer.dtype, buffer.dtype.itemsize
    if dtype.name not in TORCH_DTYPES or not dtype.isnative:
        raise wrong_type(
            f"{name} is an {buffer.kind} of {dtype}, which cuTile has no dtype for: convert it, "
            "as x.astype(numpy.float32)"
        )
    for axis, stride in enumerate(buffer.strides):
        if stride < 0 or stride % size:
            problem = "a negative stride" if not stride % size else f"a stride of {stride} bytes"
            reason = "cuTile has no way to express" if not stride % size else "is no whole number of elements"
            hint = "pass a contiguous copy, as numpy.ascontiguousarray(x)"
            raise LaunchError(f"{name} has {problem} along axis {axis}, which {reason}: {hint}")
    strides = [stride // size for stride in buffer.strides]
    largest = max(*buffer.shape, *strides, 0, 0)
    if largest >= 1 << 31 and _index_width(annotation) == 32:
        raise too_large(
            f"{name} ({buffer.description}) has an extent or a stride of {largest}, which does not fit an int32: "
            "annotate the parameter with ct.IndexedWithInt64"
        )
    return strides


_STATIC: Final = {"stride": "static_stride_dims", "extent": "static_shape_dims"}


def array_parameter(buffer: Buffer, strides: Sequence[int], annotation: Any, name: str) -> ArrayParameter:
    rank, size = len(strides), buffer.dtype.itemsize
    facts: list[Fact] = []
    for what, numbers, divisor in (("stride", strides, ALIGNMENT // size), ("extent", buffer.shape, ALIGNMENT)):
        static = _static_axes(annotation, _STATIC[what], rank, name)
        for axis, number in enumerate(numbers):
            if axis in static or (rank <= SPECIALIZED_RANK and what == "stride" and not static and number == 1):
                facts.append(Fact(what, axis, 1, number))
            elif rank <= SPECIALIZED_RANK and number % divisor == 0:
                facts.append(Fact(what, axis, divisor))
    if buffer.address % ALIGNMENT == 0:
        facts.append(Fact("address", 0, ALIGNMENT))
    if not _overlaps(buffer, strides):
        facts.append(Fact("distinct"))
    dtype = "bool_" if buffer.dtype.name == "bool" else buffer.dtype.name
    return ArrayParameter(dtype, rank, _index_width(annotation), frozenset(facts))


def _index_width(annotation: Any) -> int:
    return 32 if annotation is None else int(annotation.index_dtype.bitwidth)


def _overlaps(buffer: Buffer, strides: Sequence[int]) -> bool:
    """Whether two indices may name one element, by cuTile's rule, which is right about most arrays."""
    end = 1
    for stride, extent in sorted(zip(strides, buffer.shape, strict=True)):
        if stride < end:
            return True
        end = stride * extent
    return False


def _static_axes(annotation: Any, field: str, rank: int, name: str) -> list[int]:
    """The axes whose extents or strides an annotation compiles in."""
    axes = getattr(annotation, field, None) or ()
    for axis in axes:
        if not -rank <= axis < rank:
            message = f"{name} has rank {rank}, but its annotation names axis {axis} in {field}"
            raise wrong_value(message, f"{field} contains axis {axis} but array rank is {rank}")
    found = [axis % rank for axis in axes]
    for axis in found:
        if found.count(axis) > 1:
            message = f"the annotation of {name} names axis {axis} twice in {field}"
            raise wrong_value(message, f"{field} contains duplicate axis {axis}")
    return found

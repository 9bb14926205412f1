"""What cuTile would know about the arguments of a launch, found out without a GPU.

cuTile compiles a kernel once for each *specialization*: the constants, and of each array its dtype and rank, which
strides are 1, which strides, extents and base addresses are multiples of 16, and whether elements overlap.  Its own
code that looks at the arguments needs the CUDA driver.  `describe` does the same here: `parameters` says what the
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
from typing import Any, NamedTuple

import numpy

from tileir.execute.arguments.binding import TORCH_DTYPES, Buffer, Pointer, buffer_of, is_array, is_on_gpu
from tileir.execute.errors import LaunchError, WrongDeviceError
from tileir.execute.locations.wording import argument_name, item_name, items_of
from tileir.ir.quoting import type_text

# The unit of alignment that cuTile compiles for: bytes of an address or a stride, elements of an extent.
ALIGNMENT = 16
# Arrays of higher rank are not specialized.
SPECIALIZED_RANK = 5


class ArrayParameter(NamedTuple):
    """All that a kernel knows about an array when it is compiled."""

    dtype: str
    """The name of the dtype in `cuda.tile`."""
    rank: int
    index_width: int
    # From here on as in cuTile's `ArrayConstraint`.
    shape_constant: tuple[int | None, ...]
    stride_constant: tuple[int | None, ...]
    shape_divisible_by: tuple[int, ...]
    stride_divisible_by: tuple[int, ...]
    base_addr_divisible_by: int
    may_alias_internally: bool
    """Whether two indices may mean the same element, as in an array with a stride of zero."""


class ListParameter(NamedTuple):
    element: ArrayParameter


class ScalarParameter(NamedTuple):
    dtype: str


class TupleParameter(NamedTuple):
    items: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class ConstantParameter:
    """A value compiled in."""

    key: tuple[type, object]
    value: object = field(compare=False)


def constant_key(value: object) -> tuple[type, object]:
    """What tells constants apart: 1, True and 1.0 are three; -0.0 is not 0.0, and a NaN is itself."""
    if isinstance(value, numpy.generic):
        value = value.item()
    return type(value), struct.pack("=d", value) if isinstance(value, float) else value


Parameter = ArrayParameter | ListParameter | ScalarParameter | TupleParameter | ConstantParameter


def words_of(parameter: Parameter, all_facts: bool = False) -> str:
    """What a kernel is compiled for, in words: `float32 of rank 2`; with `all_facts` what it relies on as well."""
    if isinstance(parameter, ListParameter):
        return f"a list of {words_of(parameter.element, all_facts)}"
    if isinstance(parameter, ScalarParameter):
        return parameter.dtype
    if isinstance(parameter, ConstantParameter):
        return f"the constant {parameter.value!r}"
    if isinstance(parameter, TupleParameter):
        if not all_facts:
            return "a tuple"
        return f"a tuple of {', '.join([words_of(item, True) for item in parameter.items]) or 'nothing'}"
    words = [f"{parameter.dtype} of rank {parameter.rank}"]
    if all_facts:
        for what, numbers, divisors in (
            ("extent", parameter.shape_constant, parameter.shape_divisible_by),
            ("stride", parameter.stride_constant, parameter.stride_divisible_by),
        ):
            for axis, (number, divisor) in enumerate(zip(numbers, divisors, strict=True)):
                if number is not None or divisor > 1:
                    words.append(f"{what} {f'a multiple of {divisor}' if number is None else number} along axis {axis}")
        if parameter.base_addr_divisible_by > 1:
            words.append(f"at a multiple of {parameter.base_addr_divisible_by} bytes")
        if parameter.may_alias_internally:
            words.append("with elements that overlap")
    return ", ".join(words)


# --- errors, of the classes that cuTile raises: a script may catch those ---


def _reduce(error: Any) -> tuple[object, tuple[object, ...]]:
    """Pickled as what it is to users."""
    return LaunchError, (error.message,)


_SHOWN = {"__module__": LaunchError.__module__, "__qualname__": LaunchError.__qualname__, "__reduce__": _reduce}
_CLASSES: dict[type[Exception], Any] = {
    kind: type(LaunchError.__name__, (LaunchError, kind), _SHOWN) for kind in (TypeError, ValueError, OverflowError)
}


def _error(kind: type[Exception], message: str, cutile: str = "") -> LaunchError:
    """An error with what cuTile says of the same mistake, which whoever knows cuTile recognizes."""
    found: LaunchError = _CLASSES[kind](f"{message} (cuTile: {cutile})" if cutile else message)
    return found


wrong_type = partial(_error, TypeError)
wrong_value = partial(_error, ValueError)
too_large = partial(_error, OverflowError)


# --- a launch ---


@dataclass(slots=True)
class Description:
    """A launch as its kernel sees it."""

    parameters: list[Parameter] = field(default_factory=list)
    values: list[object] = field(default_factory=list)
    """The arguments of the compiled kernel."""
    memory: list[Pointer] = field(default_factory=list)
    """The arrays reached through tables."""


def describe(kernel: str, names: list[str], annotations: list[Any], arguments: tuple[object, ...]) -> Description:
    """Look at the arguments of a launch; `annotations` are cuTile's, one for each parameter."""
    if len(arguments) != len(names):
        expected = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        given = f"but {len(arguments)} {'was' if len(arguments) == 1 else 'were'} given"
        message = f"{kernel} takes {expected} ({', '.join(names)}), {given}"
        raise wrong_type(message, f"Kernel expects {expected} {given}")
    description = Description()
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
        facts = ArrayFacts(buffer, annotation.array, name)
        description.values += (Pointer(value, name), *buffer.shape, *facts.strides)
        return facts.parameter([facts])
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
    """The annotations of the items of a tuple; what a leaf says holds for each."""
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
        description.values.append(value)
        return ScalarParameter("bool_")
    if isinstance(value, int):
        width = integer_width(annotation)
        if not -(1 << (width - 1)) <= value < 1 << (width - 1):
            hint = "annotate the parameter with ct.ScalarInt64" if width == 32 else "pass a smaller number"
            raise too_large(f"{name} is {value}, which does not fit an int{width}: {hint}")
        description.values.append(value)
        return ScalarParameter(f"int{width}")
    if isinstance(value, float):
        description.values.append(value)
        return ScalarParameter("float32")
    raise wrong_type(
        f"{name} is {type_text(value)}, which no kernel can take: pass an array, a number, a bool, a list of "
        "arrays or a tuple, or annotate the parameter with ct.Constant"
    )


def integer_width(annotation: Any) -> int:
    """The bits of a number of a parameter with this annotation."""
    return 32 if annotation is None else int(annotation.dtype.name.removeprefix("int"))


def _describe_list(description: Description, annotation: Any, value: list[object], name: str) -> Parameter:
    if not value:
        raise wrong_type(f"{name} is an empty list: pass at least one array")
    element = None if annotation is None else annotation.element
    facts: list[ArrayFacts] = []
    rows: list[list[int]] = []
    for number, item in enumerate(value):
        what = item_name(number, name)
        if not is_array(item):
            raise wrong_type(f"{what} is {type_text(item)}, but a list is a list of arrays: pass an array")
        buffer = memory_of(item, what)
        facts.append(ArrayFacts(buffer, element, what))
        rows.append([buffer.address, *buffer.shape, *facts[-1].strides])
        description.memory.append(Pointer(item, what))
        first = facts[0]
        if (facts[-1].dtype, len(buffer.shape)) != (first.dtype, len(first.buffer.shape)):
            raise wrong_type(
                f"{what} is {buffer.description}, but item 0 is {first.buffer.description}: "
                "the arrays of a list have one dtype and one rank"
            )
    table = _beside(value[0], numpy.array(rows, numpy.uint64).view(numpy.int64), name)
    description.values += (Pointer(table, f"the table of {name}"), len(value))
    return ListParameter(facts[0].parameter(facts))


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


class ArrayFacts:
    """What is to be known about one array."""

    def __init__(self, buffer: Buffer, annotation: Any, name: str) -> None:
        self.buffer: Buffer = buffer
        self.name: str = name
        self.dtype: str = _dtype_name(buffer, name)
        self.annotation: Any = annotation
        self.index_width: int = 32 if annotation is None else int(annotation.index_dtype.bitwidth)
        self.strides: list[int] = []
        size = buffer.dtype.itemsize
        for axis, stride in enumerate(buffer.strides):
            if stride < 0 or stride % size:
                problem = "a negative stride" if not stride % size else f"a stride of {stride} bytes"
                reason = "cuTile has no way to express" if not stride % size else "is no whole number of elements"
                hint = "pass a contiguous copy, as numpy.ascontiguousarray(x)"
                raise LaunchError(f"{name} has {problem} along axis {axis}, which {reason}: {hint}")
            self.strides.append(stride // size)
        if self.index_width == 32:
            for number in (*buffer.shape, *self.strides):
                if number >= 1 << 31:
                    raise too_large(
                        f"{name} ({buffer.description}) has an extent or a stride of {number}, which does not fit an "
                        "int32: annotate the parameter with ct.IndexedWithInt64"
                    )

    def parameter(self, all_facts: list[ArrayFacts]) -> ArrayParameter:
        """What holds for all these arrays."""
        size = self.buffer.dtype.itemsize
        rank = len(self.strides)
        extents = [[facts.buffer.shape[axis] for facts in all_facts] for axis in range(rank)]
        steps = [[facts.strides[axis] for facts in all_facts] for axis in range(rank)]
        static_shape, static_strides = self._axes("static_shape_dims", rank), self._axes("static_stride_dims", rank)
        shape: list[int | None] = [None] * rank
        strides: list[int | None] = [None] * rank
        shape_divisor, stride_divisor = [1] * rank, [1] * rank
        for axis in range(rank):
            is_specialized = rank <= SPECIALIZED_RANK
            if axis in static_strides:
                strides[axis] = _common(steps[axis], "stride", axis, self.name)
            elif is_specialized and not static_strides and set(steps[axis]) == {1}:
                strides[axis] = 1
            elif is_specialized and all(step * size % ALIGNMENT == 0 for step in steps[axis]):
                stride_divisor[axis] = ALIGNMENT // size
            if axis in static_shape:
                shape[axis] = _common(extents[axis], "extent", axis, self.name)
            elif is_specialized and all(extent % ALIGNMENT == 0 for extent in extents[axis]):
                shape_divisor[axis] = ALIGNMENT
        return ArrayParameter(
            self.dtype,
            rank,
            self.index_width,
            tuple(shape),
            tuple(strides),
            tuple(shape_divisor),
            tuple(stride_divisor),
            ALIGNMENT if all(facts.buffer.address % ALIGNMENT == 0 for facts in all_facts) else 1,
            any(facts.overlapping() for facts in all_facts),
        )

    def overlapping(self) -> bool:
        """Whether two indices may mean one element: judged as cuTile does, which tells most arrays rightly."""
        end = 1
        for stride, extent in sorted(zip(self.strides, self.buffer.shape, strict=True)):
            if stride < end:
                return True
            end = stride * extent
        return False

    def _axes(self, field: str, rank: int) -> list[int]:
        """The axes an annotation names."""
        axes = getattr(self.annotation, field, None) or ()
        for axis in axes:
            if not -rank <= axis < rank:
                message = f"{self.name} has rank {rank}, but its annotation names axis {axis} in {field}"
                words = f"{field} contains axis {axis} but array rank is {rank}"
                raise wrong_value(message, words)
        found = [axis % rank for axis in axes]
        for axis in found:
            if found.count(axis) > 1:
                message = f"the annotation of {self.name} names axis {axis} twice in {field}"
                raise wrong_value(message, f"{field} contains duplicate axis {axis}")
        return found


def _common(numbers: list[int], what: str, axis: int, name: str) -> int:
    for number in numbers:
        if number != numbers[0]:
            message = (
                f"{name.partition(' of ')[2]} has arrays of {what} {numbers[0]} and {number} along axis {axis}, "
                f"which its annotation compiles in: pass arrays that agree"
            )
            static = "shape" if what == "extent" else what
            words = f"Arrays in list vary in static {static} at axis {axis} ({numbers[0]} vs {number})"
            raise wrong_value(message, words)
    return numbers[0]


def _dtype_name(buffer: Buffer, name: str) -> str:
    name_here = buffer.dtype.name
    if name_here not in TORCH_DTYPES or not buffer.dtype.isnative:
        raise wrong_type(
            f"{name} is an {buffer.kind} of {buffer.dtype}, which cuTile has no dtype for: convert it, "
            "as x.astype(numpy.float32)"
        )
    return "bool_" if name_here == "bool" else name_here

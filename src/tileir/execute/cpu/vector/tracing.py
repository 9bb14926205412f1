"""Running NumPy kernels on symbolic values, to emit what they compute as LLVM instructions.

A `Tracer` stands for an array: it has a dtype and a register (a scalar or a vector, whose lanes are the elements), and
answers NumPy's protocols (`__array_ufunc__`, `__array_function__`), operators, `astype`, `view` and masked items.
Promotion is NumPy's own: loops are found with `ufunc.resolve_dtypes`, with Python scalars weak.

What a kernel may do: straight-line NumPy, elementwise.  A branch on `numpy.count_nonzero(mask)` or `mask.any()` is
taken if an element of any such mask is set, so what it guards must change nothing where the mask is not set;
`x[mask]` is all of `x`, and `x[mask] = y` chooses.  Anything else is an `Untraceable` error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from tileir.execute.arithmetic import rounding
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import BOOL, DOUBLE, Untraceable, binary, cast, choose, compare, reinterpret
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, suffix_of, value_type
from tileir.execute.cpu.vector.ufuncs import FORMULAS, UFUNCS, emit_ufunc
from tileir.execute.dtypes import DType
from tileir.ir.types import F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, FNV8E5M3FNU


def trace(builder: Builder, kernel: Callable[..., Any], operands: list[Register]) -> Register:
    """Emit what a kernel computes of operands of one width (scalars among vectors are spread).  A kernel that does much
    more where a mask is set somewhere (`numpy.count_nonzero(mask)`), or tests a mask first, is emitted twice: without
    that, and whole behind a test of all such masks."""
    width = max([operand.width for operand in operands])
    spread = [builder.splat(operand, width) for operand in operands]
    outer = builder.lines
    whole = _Traced(builder, kernel, spread, True)
    if whole.masks:
        short = _Traced(builder, kernel, spread, False)
        tests_first = len(short.masks) == 1 and short.before_test <= _FIRST
        if tests_first or len(whole.lines) - len(short.lines) >= _WORTH_A_BRANCH:
            builder.lines = outer
            return _either(builder, short, whole, short.before_test if tests_first else len(short.lines))
    outer.extend(whole.lines)
    builder.lines = outer
    return whole.result


_WORTH_A_BRANCH: Final = 24  # Instructions that a test and a branch may save.
_FIRST: Final = 12  # Instructions that may come before a test that is the first.
_MAGNITUDE: Final = 0x7FFFFFFF  # All bits of a float32 but its sign.


class _Traced:
    """A kernel's result, instructions and tested masks (the first after `before_test` instructions); every test returns
    `taken`."""

    def __init__(self, builder: Builder, kernel: Callable[..., Any], operands: list[Register], taken: bool) -> None:
        self.masks: Final[list[Register]] = []
        self.taken: Final = taken
        self.before_test: int = 0
        self.lines: Final[list[str]] = []
        builder.lines = self.lines
        outer, builder.has_set_lane = builder.has_set_lane, self.test
        try:
            with numpy.errstate(all="ignore"):
                result = kernel(*[Tracer(builder, operand) for operand in operands])
        finally:
            builder.has_set_lane = outer
        if isinstance(result, Tracer):
            self.result: Register = result.register
        else:
            self.result = _constant(result, numpy.asarray(result).dtype, operands[0].width)

    def test(self, mask: Register) -> bool:
        if not self.masks:
            self.before_test = len(self.lines)
        self.masks.append(mask)
        return self.taken


def _any_set(mask: Tracer) -> int:
    return int(mask.builder.has_set_lane(casting.truth(mask.builder, mask.register)))


def _either(builder: Builder, short: _Traced, whole: _Traced, common: int) -> Register:
    """The short way, or the whole one if a mask has an element set; the `common` instructions come before."""
    builder.lines.extend(short.lines[:common])
    together = short.masks[0]
    for mask in short.masks[1:]:
        together = binary(builder, "or", together, mask)
    if together.width:
        bits = builder.emit(f"bitcast {together.typed} to i{together.width}")
        nowhere = builder.emit(f"icmp eq i{together.width} {bits}, 0")
    else:
        nowhere = builder.emit(f"xor i1 {together.name}, true")
    is_known = any(way.result.normal != "false" for way in (short, whole))

    def follow(way: _Traced, first: int) -> list[str]:
        builder.lines.extend(way.lines[first:])
        return [way.result.typed, *([f"i1 {way.result.normal}"] if is_known else [])]

    found = builder.branch(nowhere, lambda: follow(short, common), lambda: follow(whole, 0), likely=True)
    return Register(found[0], short.result.dtype, short.result.width, *found[1:])


def _constant(value: Any, dtype: DType, width: int) -> Register:
    """A number of Python or NumPy, or an array all of whose elements are one number."""
    array = numpy.asarray(value)
    if array.size != 1:
        first = array.reshape(-1)[:1]
        if array.size == 0 or array.tobytes() != first.tobytes() * array.size:
            raise Untraceable(f"an array of shape {array.shape} among traced values")
        array = first
    # Python integers that the dtype does not hold are an error, as in NumPy.
    number = dtype.type(value) if isinstance(value, int) else array.reshape(()).astype(dtype)[()]
    return literal(number, dtype, width)


class Tracer(NDArrayOperatorsMixin):
    __slots__ = ("builder", "register")

    def __init__(self, builder: Builder, register: Register) -> None:
        self.builder: Builder = builder
        self.register: Register = register

    def __repr__(self) -> str:
        return f"Tracer({self.register})"

    # The attributes and methods of an array that a kernel may use.

    @property
    def dtype(self) -> DType:
        return self.register.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        # Constants of this shape broadcast to any other.
        return ()

    def astype(self, dtype: Any, copy: bool = True) -> Tracer:
        found = numpy.dtype(dtype)
        if found == DOUBLE:
            return Tracer(self.builder, casting.widened(self.builder, self.register))
        return Tracer(self.builder, cast(self.builder, self.register, found))

    def view(self, dtype: Any) -> Tracer:
        return Tracer(self.builder, reinterpret(self.builder, self.register, numpy.dtype(dtype)))

    def any(self) -> bool:
        return bool(_any_set(self))

    def any_beyond(self, limit: Any) -> int:
        """Whether an element is beyond a limit (`rounding.any_beyond`), by one comparison of the largest pattern of
        magnitudes of several vectors.  The mask is narrower than others, so it must be the kernel's only test."""
        builder = self.builder
        pattern = reinterpret(builder, self.register, casting.UINT32)
        largest = binary(builder, "and", pattern, _MAGNITUDE)
        while largest.width > 2 * builder.module.widened_lanes > 0:
            half = largest.width // 2
            parts = [shuffled(builder, largest, None, range(start, start + half)) for start in (0, half)]
            largest = casting.intrinsic(builder, "umax", parts)
        greatest = int(numpy.float32(limit).view(numpy.uint32))
        return int(builder.has_set_lane(compare(builder, "icmp ugt", largest, greatest)))

    def without_subnormals(self) -> Tracer:
        """The same, known to have no subnormal element; for `rounding.without_subnormals`."""
        known = self.register
        return Tracer(self.builder, Register(known.name, known.dtype, known.width, "true"))

    def look_up(self, table: Any) -> Tracer:
        """The elements of a constant table; for `rounding.take`."""
        return Tracer(self.builder, _look_up(self.builder, table, self.register))

    def __getitem__(self, key: Any) -> Tracer:
        self._check_key(key)
        return Tracer(self.builder, self.register)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_key(key)
        assigned = self.operand(value, self.dtype)
        if isinstance(key, Tracer):
            assigned = choose(self.builder, key.register, assigned, self.register)
        self.register = assigned

    def _check_key(self, key: Any) -> None:
        is_mask = isinstance(key, Tracer) and key.dtype == BOOL
        if not is_mask and key is not Ellipsis and key != ():
            raise Untraceable(f"the items {key!r} of a traced value")

    def __bool__(self) -> bool:
        raise Untraceable("a branch on a traced value")

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise Untraceable("the elements of a traced value")

    def operand(self, value: Any, dtype: DType) -> Register:
        """A tracer or a constant as a register of a dtype."""
        if isinstance(value, Tracer):
            return cast(self.builder, value.register, dtype)
        return _constant(value, dtype, self.register.width)

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        name = ufunc.__name__
        formula = FORMULAS.get(name)
        if method != "__call__" or (formula is None and name not in UFUNCS):
            raise Untraceable(f"numpy.{name}{'' if method == '__call__' else f'.{method}'}")
        out = keywords.pop("out", None)
        where = keywords.pop("where", True)
        requested = keywords.pop("dtype", None)
        keywords.pop("casting", None)
        if keywords:
            raise Untraceable(f"{name} with {', '.join(keywords)}")
        builder = self.builder
        dtypes = _loop(ufunc, tuple([_promotable(value) for value in inputs]), requested)
        operands = [self.operand(value, dtype) for value, dtype in zip(inputs, dtypes, strict=False)]
        if formula is None:
            results: Any = Tracer(builder, emit_ufunc(builder, name, operands))
        else:
            results = formula(*[Tracer(builder, operand) for operand in operands])
        tracers = []
        for position, result in enumerate(results if isinstance(results, tuple) else (results,)):
            target = out[position] if out is not None else None
            if target is None:
                tracers.append(result)
                continue
            assigned = cast(builder, result.register, target.dtype)
            if isinstance(where, Tracer):
                assigned = choose(builder, where.register, assigned, target.register)
            target.register = assigned
            tracers.append(target)
        return tracers[0] if len(tracers) == 1 else tuple(tracers)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        found = _FUNCTIONS.get(function)
        if found is None:
            raise Untraceable(f"numpy.{getattr(function, '__name__', function)}")
        return found(*arguments, **keywords)


def _promotable(value: Any) -> Any:
    """What `resolve_dtypes` takes for an operand: a dtype, or the type of a weak Python scalar."""
    if isinstance(value, Tracer):
        return value.dtype
    return type(value) if type(value) in (int, float) else numpy.asarray(value).dtype


@cache
def _loop(ufunc: numpy.ufunc, operands: tuple[Any, ...], requested: Any) -> tuple[DType, ...]:
    """The dtypes of the loop NumPy would run, operands first."""
    every = (*operands, *[None] * ufunc.nout)
    signature = (None,) * ufunc.nin + (None if requested is None else numpy.dtype(requested),) * ufunc.nout
    found: tuple[DType, ...] = ufunc.resolve_dtypes(every, signature=signature)
    return found


# Functions that are not ufuncs


def _where(condition: Any, first: Any, second: Any) -> Any:
    tracer = next(value for value in (condition, first, second) if isinstance(value, Tracer))
    # Python scalars are weak here too.
    dtype = numpy.result_type(*[value.dtype if isinstance(value, Tracer) else value for value in (first, second)])
    builder = tracer.builder
    mask = tracer.operand(condition if isinstance(condition, Tracer) else bool(condition), BOOL)
    return Tracer(builder, choose(builder, mask, tracer.operand(first, dtype), tracer.operand(second, dtype)))


def _clip(value: Any, least: Any = None, greatest: Any = None) -> Any:
    if least is not None:
        value = numpy.maximum(value, least)
    if greatest is not None:
        value = numpy.minimum(value, greatest)
    return value


def _look_up(builder: Builder, table: Any, index: Register) -> Register:
    """Elements of a table; an index is in range, since NumPy would refuse it otherwise."""
    known = _known_table(builder, table, index)
    if known is not None:
        return known
    wide = cast(builder, index, casting.INT64)
    element = scalar_type(table.dtype)
    address = builder.emit(f"getelementptr {element}, ptr {builder.module.table(table)}, {wide.typed}")
    width = index.width
    if not width:
        return builder.load(table.dtype, 0, address)
    vector = value_type(table.dtype, width)
    name = f"llvm.masked.gather.{suffix_of(element, width)}.v{width}p0"
    # As in `codegen.loop_nest`: a function that is declared in two ways is refused.
    operands = [f"<{width} x ptr> {address}", f"i32 {table.dtype.itemsize}", f"<{width} x i1> splat (i1 true)"]
    return Register(builder.call(vector, name, [*operands, f"{vector} poison"]), table.dtype, width)


def _known_table(builder: Builder, table: Any, index: Register) -> Register | None:
    """Tables of a float format's values are computed: that is faster than looking them up, and needs no table."""
    if table is rounding.single_table(F16):
        return casting.to_single(builder, reinterpret(builder, index, numpy.dtype(numpy.float16)))
    for element in (F4E2M1FN, F8E4M3FN, F8E5M2, FNV8E5M3FNU, F8E8M0FNU):
        if table is rounding.value_table(element) or table is rounding.single_table(element):
            form = None if element is F8E8M0FNU else rounding.float_format(element)
            single = casting.decode_power(builder, index) if form is None else casting.decode(builder, index, form)
            return cast(builder, single, DOUBLE) if table.dtype == DOUBLE else single
    return None


_FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {
    numpy.where: _where,
    numpy.clip: _clip,
    numpy.shape: lambda value: (),
    numpy.count_nonzero: _any_set,
    numpy.any: _any_set,
    numpy.broadcast_to: lambda value, shape: value,
}

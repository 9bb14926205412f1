"""Traced kernels and direct instructions compute what the interpreter computes, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest

pytest.importorskip("llvmlite")

from tests.execute.cpu.elementwise import Case, Compiled, function_text, operand_arrays
from tests.execute.cpu.native import undefined_symbols
from tests.execute.cpu.operations import case_of, operations, sample

from tileir.execute.arithmetic import rounding
from tileir.execute.cpu.runtime.llvm_compile import assemble
from tileir.execute.cpu.runtime.loader import CALLABLE
from tileir.execute.cpu.runtime.target import host
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.casting import Untraceable
from tileir.execute.cpu.vector.instructions import DIRECT
from tileir.execute.cpu.vector.llvm import Register, literal
from tileir.execute.cpu.vector.module import Module
from tileir.execute.cpu.vector.tracing import Tracer, trace
from tileir.execute.dtypes import Array, element_of_dtype, memory_dtype, value_dtype
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I1,
    I4,
    I8,
    TF32,
    Type,
)

NOT_ELEMENTWISE = {"pack", "unpack", "mmaf", "mmai", "mmaf_scaled"}
GROUP = 40


def _differences(cases: list[Case], width: int, count: int, native: bool = True, cpu: str = "") -> list[str]:
    found = []
    for start in range(0, len(cases), GROUP):
        group = cases[start : start + GROUP]
        compiled = Compiled(group, width, native, cpu)
        for number, case in enumerate(group):
            found += compiled.differences(number, operand_arrays(case.operands, count, start + number))
    return found


# Operations


def test_every_elementwise_operation_is_swept() -> None:
    names = {operation.declaration.mnemonic for _, operation in operations()}
    kernels = {declaration.mnemonic for declaration in KERNELS}
    assert (kernels - NOT_ELEMENTWISE) | {"select", "offset"} == names
    assert {declaration.mnemonic for declaration in DIRECT} <= names
    assert len(operations()) > 1200


@pytest.mark.parametrize("width", [16, 0])
def test_sample_of_operations_agrees_with_the_interpreter(width: int) -> None:
    assert _differences([case_of(*entry) for entry in sample(12)], width, 4096) == []


def test_sample_of_traced_operations_agrees_with_the_interpreter() -> None:
    cases = [case_of(*entry, traced=True) for entry in sample(16) if entry[1].declaration in DIRECT]
    assert _differences(cases, 8, 4096) == []


def test_sample_of_operations_on_a_machine_without_half_and_fma_instructions() -> None:
    cases = [case_of(*entry) for entry in sample(2) if "f16" in entry[0].replace("bf16", "") or "fma" in entry[0]]
    assert _differences(cases[::4], 16, 4096, native=False, cpu="x86-64" if host().is_x86 else "") == []


def _with_second_operand(text: str, change: Callable[[Builder, Register], Register], seen: Any) -> Case:
    """A binary operation whose second operand is made from the loaded one."""
    (case,) = [case_of(other, operation) for other, operation in operations() if other == text]

    def emit(builder: Builder, operands: list[Register]) -> Register:
        return case.emit(builder, [operands[0], change(builder, operands[1])])

    return case._replace(emit=emit, kernel=lambda left, right: case.kernel(left, seen(right)))


@pytest.mark.parametrize(
    "text",
    [
        "addf %a_f32, %b_f32 : tile<16xf32>",
        "maxf %a_f16, %b_f16 : tile<16xf16>",
        "shri %a_i32, %b_i32 signed : tile<16xi32>",
        "divi %a_i16, %b_i16 signed rounding<negative_inf> : tile<16xi16>",
    ],
)
def test_scalar_operands_among_vectors_are_spread(text: str) -> None:
    def first_lane(builder: Builder, value: Register) -> Register:
        return builder.value(f"extractelement {value.typed}, i64 0", value.dtype)

    case = _with_second_operand(text, first_lane, lambda right: numpy.repeat(right[::16], 16))
    assert _differences([case], 16, 4096) == []


@pytest.mark.parametrize("number", [0, 1, -1, 7, 31, 32, -(2**31)])
@pytest.mark.parametrize(
    "operation",
    ["divi {} signed", "divi {} unsigned", "remi {} signed", "divi {} signed rounding<negative_inf>", "shli {}",
     "shri {} signed", "shri {} unsigned"],
)  # fmt: skip
def test_constant_operands_give_what_variables_give(operation: str, number: int) -> None:
    case = _with_second_operand(
        f"{operation.format('%a_i32, %b_i32')} : tile<16xi32>",
        lambda builder, value: literal(number, value.dtype, value.width),
        lambda right: numpy.full_like(right, number),
    )
    assert _differences([case], 16, 1024) == []


@pytest.mark.long
@pytest.mark.parametrize("traced", [False, True], ids=["direct", "traced"])
@pytest.mark.parametrize("width", [16, 0, 4])
@pytest.mark.parametrize("part", range(4))
def test_every_operation_agrees_with_the_interpreter(part: int, width: int, traced: bool) -> None:
    cases = [case_of(*entry, traced=traced) for entry in operations()[part::4]]
    assert _differences(cases, width, 65536) == []


@pytest.mark.long
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("part", range(4))
def test_every_operation_agrees_on_older_machines(part: int, cpu: str) -> None:
    target = host(cpu)
    if not target.runnable:
        pytest.skip(f"this machine cannot run code for {cpu}")
    cases = [case_of(*entry) for entry in operations()[part::4]]
    assert _differences(cases, target.vector_bytes // 4, 16384, target.has_f16c, cpu) == []


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "sapphirerapids", "cortex-a72"])
def test_code_for_other_machines_calls_nothing_but_exact_functions(cpu: str) -> None:
    target = host(cpu)
    module = Module()
    module.native_half, module.native_fma = target.has_f16c, target.has_fma
    for number, entry in enumerate(sample(60)):
        module.functions.append(function_text(module, f"f{number}", case_of(*entry), target.vector_bytes // 4))
    needed = undefined_symbols(assemble(module.text(), target, 0))
    assert needed and needed <= CALLABLE


# Memory


@pytest.mark.parametrize("element", [I1, I4, I8, F4E2M1FN, TF32, BF16, F16, F8E8M0FNU], ids=str)
@pytest.mark.parametrize("width", [16, 0])
def test_memory_is_read_and_written_as_the_interpreter_does(element: Type, width: int) -> None:
    case = Case("copy", (element,), element, lambda builder, operands: operands[0], lambda value: value)
    dtype = memory_dtype(element)
    patterns = numpy.random.default_rng(1).integers(0, 256, 1024 * dtype.itemsize, numpy.uint8).view(dtype)
    compiled = Compiled([case], width)
    assert compiled.differences(0, [patterns]) == []


# bf16


def test_brain_products_and_quotients_near_the_smallest_numbers_round_once() -> None:
    wanted = ("mulf %a_bf16, %b_bf16 : tile<16xbf16>", "divf %a_bf16, %b_bf16 : tile<16xbf16>")
    cases = [case_of(text, operation) for text, operation in operations() if text in wanted]
    assert len(cases) == len(wanted)
    compiled = Compiled(cases, 16)
    mantissas = numpy.arange(128)
    # All pairs of mantissas, with exponents that bring results from normal numbers to half the smallest one.
    for number, case in enumerate(cases):
        for field in (0, 1, 60):
            below = numpy.arange(-3, 13)
            exponent = (127 - below - field) if case.name.startswith("mulf") else (field + below + 126)
            left, right, other = numpy.meshgrid(mantissas, mantissas, exponent, indexing="ij")
            first = (left | field << 7).reshape(-1).astype(numpy.uint16)
            second = (right | other << 7).reshape(-1).astype(numpy.uint16)
            arrays = [first.view(ml_dtypes.bfloat16), second.view(ml_dtypes.bfloat16)]
            assert compiled.differences(number, arrays) == []


# Conversions between float formats


def _single_patterns() -> Array:
    """Every upper half with lower halves at which rounding to any narrower format changes, and a dense sweep."""
    low = numpy.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], numpy.uint32)
    high = numpy.arange(1 << 16, dtype=numpy.uint32) << 16
    sweep = numpy.arange(0, 1 << 32, 8191, dtype=numpy.uint64).astype(numpy.uint32)
    patterns = numpy.concatenate([(high[:, None] | low).reshape(-1), sweep])
    return patterns[: patterns.size // 16 * 16].view(numpy.float32)


def _cast_case(source: Type, target: Type) -> Case:
    dtype = value_dtype(target)

    def kernel(value: Any) -> Any:
        return value.astype(dtype)

    return Case(
        f"{source} to {target}", (source,), target, lambda builder, operands: trace(builder, kernel, operands), kernel
    )


@pytest.mark.parametrize("native_half", [True, False], ids=["native", "integer"])
def test_casts_from_single_round_as_numpy_and_ml_dtypes_do(native_half: bool) -> None:
    targets = [F16] if not native_half else [F16, BF16, F8E4M3FN, F8E5M2, F64]
    compiled = Compiled([_cast_case(F32, target) for target in targets], 16, native_half)
    for number in range(len(targets)):
        assert compiled.differences(number, [_single_patterns()]) == []


def test_cast_from_single_to_four_bits_rounds_as_ml_dtypes_does() -> None:
    compiled = Compiled([_cast_case(F32, F4E2M1FN)], 16)
    singles = _single_patterns()
    numbers = singles[~numpy.isnan(singles)]
    assert compiled.differences(0, [numbers[: numbers.size // 16 * 16].copy()]) == []


@pytest.mark.parametrize("native_half", [True, False], ids=["native", "integer"])
@pytest.mark.parametrize("target", [F32, F64], ids=str)
def test_casts_of_every_narrow_pattern_are_exact(target: Type, native_half: bool) -> None:
    sources = (F16, BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN)
    compiled = Compiled([_cast_case(source, target) for source in sources], 16, native_half)
    for number, source in enumerate(sources):
        dtype = memory_dtype(source)
        patterns = numpy.arange(1 << 8 * dtype.itemsize, dtype=f"u{dtype.itemsize}")
        assert compiled.differences(number, [patterns.view(dtype)]) == []


@pytest.mark.parametrize("native_half", [True, False], ids=["native", "integer"])
def test_doubles_become_halves_with_one_rounding(native_half: bool) -> None:
    halves = numpy.arange(0x7C00, dtype=numpy.uint16).view(numpy.float16).astype(numpy.float64)
    ties = (halves[1:] + halves[:-1]) / 2
    near = [numpy.nextafter(ties, 0), ties, numpy.nextafter(ties, numpy.inf), ties * (1 + 2.0**-30), halves]
    extremes = numpy.array([0, 65519.99999999999, 65520, 65536, 1e39, 1e-300, 2.0**-25, numpy.inf, numpy.nan, 5e-324])
    magnitudes = numpy.concatenate([*near, extremes])
    numbers = numpy.concatenate([magnitudes, -magnitudes])
    compiled = Compiled([_cast_case(F64, F16)], 16, native_half)
    assert compiled.differences(0, [numbers[: numbers.size // 16 * 16].copy()]) == []


@pytest.mark.parametrize("element", [F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN, FNV8E5M3FNU, F16], ids=str)
def test_format_tables_are_computed_instead_of_looked_up(element: Any) -> None:
    module = Module()
    dtype = value_dtype(element)
    builder = Builder(module)
    trace(builder, rounding.widen_single(element), [Register("%x", dtype, 16)])
    assert "constant" not in module.text()


# NumPy on symbolic values


def _function_case(name: str, kernel: Callable[..., Any], *dtypes: Any) -> Case:
    elements = []
    for dtype in dtypes:
        element = element_of_dtype(numpy.dtype(dtype))
        assert element is not None
        elements.append(element)
    with numpy.errstate(all="ignore"):
        result = element_of_dtype(numpy.asarray(kernel(*[numpy.ones(1, dtype) for dtype in dtypes])).dtype)
    assert result is not None, name
    wanted = value_dtype(result)

    def signless(*values: Any) -> Any:
        # The harness knows signless elements: operands are seen with their dtypes, results by their bits.
        found = kernel(*[value.view(dtype) for value, dtype in zip(values, dtypes, strict=True)])
        return found.astype(wanted) if found.dtype == numpy.bool_ else found.view(wanted)

    return Case(name, tuple(elements), result, lambda builder, operands: trace(builder, signless, operands), signless)


def _masked(x: Any, y: Any) -> Any:
    result = rounding.as_array(x + y)
    small = result < 0
    if numpy.count_nonzero(small):
        result[small] = rounding.as_array(x)[small] * 2.0
    return result


def _in_place(x: Any, y: Any) -> Any:
    total = x + y
    total += 1
    total *= y
    total &= 0x7FFF
    return total


def _doubled(x: Any) -> Any:
    result = rounding.as_array(x + x)
    if (x > 0).any():
        result[x > 0] = 1
    return result


def _table(x: Any) -> Any:
    return rounding.take(numpy.arange(300, 428, dtype=numpy.float64) ** 0.5, x & 127)


D, F, H = numpy.float64, numpy.float32, numpy.float16
I, J, B, S = numpy.int32, numpy.int64, numpy.int8, numpy.int16  # noqa: E741
U, V, W = numpy.uint32, numpy.uint64, numpy.uint8
FUNCTIONS = [
    *[_function_case(f"{f.__name__} {numpy.dtype(d)}", f, d, d) for d in (D, F) for f in (
        numpy.nextafter, numpy.copysign, numpy.fmod, numpy.less, numpy.not_equal)],
    # Which of two zeros NumPy chooses differs from machine to machine, and whether a signalling NaN wins: sums are quiet.
    *[_function_case(f"{f.__name__} {numpy.dtype(d)}", lambda x, y, f=f: numpy.where(f(x, y) == 0, 0, f(x + 0, y + 0)), d, d)
      for d in (D, F, H) for f in (numpy.minimum, numpy.maximum, numpy.fmin, numpy.fmax)],
    *[_function_case(f"{f.__name__} {numpy.dtype(d)}", f, d) for d in (D, F, H) for f in (
        numpy.rint, numpy.trunc, numpy.isinf, numpy.isfinite, numpy.isnan, numpy.signbit,
        numpy.negative, numpy.absolute, numpy.sqrt, numpy.floor)],
    *[_function_case(f"{f.__name__} {numpy.dtype(d)}", f, d, d) for d in (B, S, I, J, W, U, V) for f in (
        numpy.floor_divide, numpy.left_shift, numpy.right_shift, numpy.minimum, numpy.greater_equal)],
    *[_function_case(f"sign {numpy.dtype(d)}", numpy.sign, d) for d in (D, F)],
    *[_function_case(f"frexp mantissa {numpy.dtype(d)}", lambda x: numpy.frexp(x)[0], d) for d in (D, F)],
    *[_function_case(f"frexp exponent {numpy.dtype(d)}", lambda x: numpy.frexp(x)[1], d) for d in (D, F)],
    *[_function_case(f"ldexp {numpy.dtype(d)}", lambda x, n: numpy.ldexp(x, (n & 4095) - 2048), d, I) for d in (D, F)],
    _function_case("ldexp by any number", numpy.ldexp, D, I),
    _function_case("ldexp of a weak scalar", lambda n: numpy.ldexp(0.75, n & 31), I),
    _function_case("half plus weak float", lambda x: x + 1.5, H),
    _function_case("int plus weak float", lambda x: x + 1.5, I),
    _function_case("int8 plus uint8", lambda x, y: x + y, B, W),
    _function_case("int times float32", lambda x, y: x * y, I, F),
    _function_case("bool plus int8", lambda x, y: (x > 0) + y, B, B),
    _function_case("where with weak scalars", lambda x: numpy.where(x > 0, x, 2.0), F),
    _function_case("where of two weak scalars", lambda x: numpy.where(x > 0, -0.0, 1), F),
    _function_case("dtype keyword", lambda x, y: numpy.multiply(x, y, dtype=numpy.int64), I, I),
    _function_case("clip", lambda x: numpy.clip(x, -5, 7), I),
    _function_case("masked items", _masked, D, D),
    _function_case("in place", _in_place, I, I),
    _function_case("table", _table, I),
    _function_case("any", _doubled, I),
    _function_case("constant broadcast", lambda x: numpy.broadcast_to(numpy.float32(3), numpy.shape(x)) / x, F),
    _function_case("logical", lambda x, y: numpy.logical_or(x, y) ^ ~(x > y), F, F),
    _function_case("bfloat16", lambda x, y: numpy.fmax(x, y) - x / y, ml_dtypes.bfloat16, ml_dtypes.bfloat16),
]  # fmt: skip


@pytest.mark.parametrize("width", [16, 0])
def test_numpy_functions_on_symbolic_values(width: int) -> None:
    assert _differences(FUNCTIONS, width, 8192) == []


def _tracer(dtype: Any = numpy.float64) -> Tracer:
    return Tracer(Builder(Module()), Register("%x", numpy.dtype(dtype), 8))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (numpy.exp, "exp"),
        (numpy.add.reduce, "add"),
        (numpy.cumsum, "cumsum"),
        (numpy.asarray, "elements"),
        (lambda x: x if x > 0 else -x, "branch"),
        (lambda x: x[1:], "items"),
        (lambda x: x.view(numpy.int32), "view"),
        (lambda x: x + numpy.arange(3.0), "array of shape"),
        (lambda x: numpy.add(x, 1, order="C"), "order"),
    ],
    ids=range(9),
)
def test_what_cannot_be_traced_is_an_error_that_names_it(kernel: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(Untraceable, match=message):
        kernel(_tracer())


def test_weak_scalars_that_a_dtype_does_not_hold_are_refused() -> None:
    with pytest.raises(OverflowError):
        _tracer(numpy.uint8) + 256


def test_common_operations_are_one_instruction() -> None:
    single = {
        "addf": "fadd",
        "subf": "fsub",
        "mulf": "fmul",
        "divf": "fdiv",
        "fma": "fma",
        "addi": "add",
        "cmpi": "icmp",
    }
    seen = set()
    for text, operation in operations():
        mnemonic = operation.declaration.mnemonic
        plain = "rounding" not in text and "flush" not in text
        if mnemonic in single and plain and ("f32" in text or "i32" in text) and "tf32" not in text:
            builder = Builder(Module())
            case = case_of(text, operation)
            registers = [Register(f"%{n}", value_dtype(e), 16) for n, e in enumerate(case.operands)]
            case.emit(builder, registers)
            assert len(builder.lines) == 1, text
            assert single[mnemonic] in builder.lines[0]
            seen.add(mnemonic)
    assert seen == set(single)

"""The fast functions are near the exact ones, with the same special values, on every kind of machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy
import pytest

pytest.importorskip("llvmlite")

from tests.execute.cpu.elementwise import Case, Compiled, function_text, operand_arrays, special_patterns
from tests.execute.cpu.native import undefined_symbols

import tileir
from tileir.declarations import declaration_of
from tileir.execute.arithmetic.functions import float_unary
from tileir.execute.cpu.runtime.llvm_compile import assemble, assembly
from tileir.execute.cpu.runtime.target import host
from tileir.execute.cpu.vector import fast_math, instructions
from tileir.execute.cpu.vector.builder import Builder
from tileir.execute.cpu.vector.fast_math import FORMULAS
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.module import Module
from tileir.execute.dtypes import Array, value_dtype
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F16, F32, FloatType

DECLARATIONS = {declaration.mnemonic: declaration for declaration in FORMULAS}
ANGLES = ("sin", "cos")

BOUNDS: dict[str, tuple[float, float]] = {
    "exp": (0.9, 1.2),
    "exp2": (0.95, 1.25),
    "sigmoid": (1.5, 2.4),
    "tanh": (1.5, 1.5),
    "sin": (1.6, 0.7),
    "cos": (1.6, 0.7),
    "rsqrt": (1.5, 1.5),
}
"""The largest error in units of the last place, with fused multiply-add and without; docs/internals/cpu.md has the same table."""


def _sigmoid(value: Array) -> Array:
    small: Array = numpy.exp(-numpy.abs(value))
    return numpy.where(value < 0, small, 1.0) / (1.0 + small)


REFERENCES: dict[str, Callable[..., Array]] = {
    "sigmoid": _sigmoid,
    "rsqrt": lambda value: 1.0 / numpy.sqrt(value),
}


class Configuration(NamedTuple):
    cpu: str
    width: int

    @property
    def is_native(self) -> bool:
        return not self.cpu


CONFIGURATIONS = (Configuration("", 16), Configuration("x86-64-v3", 8), Configuration("x86-64", 4))
WIDTHS = tuple([Configuration("", width) for width in (0, 2, 4, 8, 32)])
NAMES = [*DECLARATIONS]


def _case(name: str, cpu: str) -> Case:
    target = host(cpu or None)

    def emit(builder: Builder, operands: list[Register]) -> Register:
        builder.module.native_fma = target.has_fma
        builder.module.native_scale = target.has_avx512
        return fast_math.call(builder, DECLARATIONS[name], operands[0])

    return Case(name, (F32,), F32, emit, lambda *values: values[0])


@cache
def _compiled(configuration: Configuration) -> Compiled:
    if not host(configuration.cpu or None).runnable:
        pytest.skip(f"this machine cannot run code for {configuration.cpu}")
    return Compiled([_case(name, configuration.cpu) for name in NAMES], configuration.width, True, configuration.cpu)


def _run(configuration: Configuration, name: str, arrays: list[Array]) -> Array:
    return _compiled(configuration).run(NAMES.index(name), arrays)


def _reference(name: str, arrays: list[Array]) -> Array:
    function = REFERENCES.get(name) or getattr(numpy, name)
    with numpy.errstate(all="ignore"):
        wide: Array = function(*[array.astype(numpy.float64) for array in arrays])
    return wide


def _errors(found: Array, wide: Array) -> Array:
    """In units of the last place of the exact result; infinite where one is no number and the other is one."""
    with numpy.errstate(all="ignore"):
        _, exponent = numpy.frexp(wide)
        unit = numpy.exp2(numpy.maximum(exponent - 24.0, -149.0))
        errors: Array = numpy.abs(found.astype(numpy.float64) - wide) / unit
        # Infinity stands for what the next power of two would.
        largest = float(numpy.finfo(numpy.float32).max)
        above = numpy.abs(2.0**128 - numpy.abs(wide)) / 2.0**104
        errors = numpy.where(numpy.isinf(found) & (numpy.abs(wide) > 0.5 * largest), above, errors)
        errors = numpy.where(numpy.isinf(found) & (numpy.abs(wide) > largest), 0.0, errors)
        same = (numpy.isnan(found) & numpy.isnan(wide)) | (found == wide)
        return numpy.where(same, 0.0, numpy.where(numpy.isnan(errors), numpy.inf, errors))


def _bound(name: str, configuration: Configuration) -> float:
    return BOUNDS[name][0 if host(configuration.cpu or None).has_fma else 1]


def _worst(configuration: Configuration, name: str, arrays: list[Array]) -> str:
    """Empty, or what is past the bound."""
    found = _run(configuration, name, arrays)
    wide = _reference(name, arrays)
    errors = _errors(found, wide)
    signs = (numpy.signbit(found) != numpy.signbit(wide)) & ~numpy.isnan(wide)
    errors = numpy.where(signs, numpy.inf, errors)
    at = int(numpy.argmax(errors))
    if errors[at] <= _bound(name, configuration):
        return ""
    values = ", ".join([repr(array[at]) for array in arrays])
    return f"{name}({values}) is {found[at]!r}, not {wide[at]!r}: {errors[at]:.2f} units"


def _strided(stride: int, start: int = 7) -> Array:
    patterns = numpy.arange(start, 1 << 32, stride, dtype=numpy.uint64).astype(numpy.uint32)
    return patterns[: patterns.size // 64 * 64].view(numpy.float32)


def _ordinary(count: int, seed: int) -> Array:
    rng = numpy.random.default_rng(seed)
    parts = [rng.standard_normal(count) * scale for scale in (0.3, 1.0, 10.0, 60.0, 3000.0)]
    parts += [1.0 + rng.standard_normal(count) * 0.2, 1.0 + rng.standard_normal(count) * 1e-3]
    return numpy.concatenate(parts).astype(numpy.float32)


def _inputs(name: str, count: int, seed: int = 1) -> list[list[Array]]:
    return [[_strided((1 << 32) // count, 7 + seed)], [_ordinary(count // 8, seed)]]


# Accuracy


@pytest.mark.sampled(3)
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_near_over_the_whole_range(name: str, configuration: Configuration) -> None:
    for arrays in _inputs(name, 1 << 17):
        assert _worst(configuration, name, arrays) == ""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("configuration", WIDTHS, ids=str)
def test_results_are_near_for_vectors_of_any_width(configuration: Configuration) -> None:
    found = [_worst(configuration, name, arrays) for name in NAMES for arrays in _inputs(name, 1 << 13, 3)]
    assert [text for text in found if text] == []


@pytest.mark.long
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_near_at_many_more_numbers(name: str, configuration: Configuration) -> None:
    for seed in range(2):
        for arrays in _inputs(name, 1 << 22, seed):
            assert _worst(configuration, name, arrays) == ""


# Special values


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_zeros_infinities_and_nan_come_out_as_those_of_the_exact_function(
    name: str, configuration: Configuration
) -> None:
    numbers = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        1.5,
        7.0,
        2.0**23 - 0.5,
        2.0**23 + 1,
        2.0**24,
        1e-45,
        2.0**-126,
        200.0,
        1e5,
        3e38,
    ]
    patterns = special_patterns(F32)
    specials = numpy.array([*numbers, *[-number for number in numbers]], numpy.float32)
    arrays = [numpy.concatenate([patterns.view(numpy.float32), specials])]
    # Whole vectors.
    arrays = [numpy.concatenate([array, numpy.ones(-array.size % 16, numpy.float32)]) for array in arrays]
    found = _run(configuration, name, arrays)
    with numpy.errstate(all="ignore"):
        exact = float_unary(declaration_of(name), F32)(*arrays)
    special = ~numpy.isfinite(exact) | (exact == 0) | ~numpy.isfinite(found) | (found == 0)
    same = (found.view(numpy.uint32) == exact.view(numpy.uint32)) | (numpy.isnan(found) & numpy.isnan(exact))
    wrong = numpy.flatnonzero(special & ~same)
    assert [([array[i] for array in arrays], found[i], exact[i]) for i in wrong[:4]] == []
    assert special.any()


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_powers_of_two_are_exact(configuration: Configuration) -> None:
    whole = numpy.arange(-160, 160, dtype=numpy.float32)
    with numpy.errstate(all="ignore"):
        powers = numpy.exp2(whole.astype(numpy.float64)).astype(numpy.float32)
    assert _run(configuration, "exp2", [whole]).tolist() == powers.tolist()


# Large angles


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
@pytest.mark.parametrize("name", ANGLES)
def test_large_angles_are_those_of_the_exact_function(name: str, configuration: Configuration) -> None:
    large = numpy.exp2(numpy.random.default_rng(2).uniform(17, 128, 4096)).astype(numpy.float32)
    exact = float_unary(declaration_of(name), F32)(large)
    assert _run(configuration, name, [large]).view(numpy.uint32).tolist() == exact.view(numpy.uint32).tolist()


@pytest.mark.parametrize("name", ANGLES)
def test_a_large_angle_does_not_change_its_neighbors(name: str) -> None:
    values = _ordinary(64, 4)
    mixed = values.copy()
    mixed[::7] = numpy.float32(1e20)
    alone, among = (_run(CONFIGURATIONS[0], name, [array]) for array in (values, mixed))
    kept = mixed == values
    assert not kept.all()
    assert alone[kept].tolist() == among[kept].tolist()


# Which operations use them


def _operation(text: str, kind: str = "f32") -> Operation:
    parameters = [f"%a = constant <{kind}: 1.0> : tile<16x{kind}>"]
    program = (
        f"cuda_tile.module @m {{ entry @k() {{\n{chr(10).join(parameters)}\n%r = {text} : tile<16x{kind}>\nreturn }} }}"
    )
    module: Any = tileir.parse(program)
    (kernel,) = module.regions[0].blocks[0].operations
    operations = kernel.regions[0].blocks[0].operations
    return cast(Operation, next(found for found in operations if found.declaration.mnemonic == text.split()[0]))


def _emitted(operation: Operation, fast: bool, dtype: Any = numpy.float32) -> str:
    module = Module()
    module.fast = fast
    builder = Builder(module)
    operands = [Register(f"%x{number}", numpy.dtype(dtype), 16) for number in range(len(operation.operands))]
    instructions.emit_operation(builder, operation, operands)
    return "\n".join(builder.lines) + module.text()


@pytest.mark.parametrize("mnemonic", ["exp", "tanh"])
def test_an_operation_that_says_approx_is_fast(mnemonic: str) -> None:
    assert f"@fast.{mnemonic}.16" in _emitted(_operation(f"{mnemonic} %a rounding<approx>"), False)
    assert "@fast." not in _emitted(_operation(f"{mnemonic} %a rounding<full>"), False)
    assert "@fast." not in _emitted(_operation(f"{mnemonic} %a"), False)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sigmoid"])
def test_a_fast_kernel_uses_the_function_of_every_operation(name: str) -> None:
    operation = _operation(f"{name} %a")
    assert f"@fast.{name}.16" in _emitted(operation, True)
    assert "@fast." not in _emitted(operation, False)


def test_doubles_and_arithmetic_stay_exact_in_a_fast_kernel() -> None:
    assert "@fast." not in _emitted(_operation("exp %a", "f64"), True, numpy.float64)
    for text in ("divf %a, %a rounding<approx>", "sqrt %a rounding<approx>", "addf %a, %a"):
        assert "@fast." not in _emitted(_operation(text), True)


def test_a_function_is_written_once_for_many_uses() -> None:
    module = Module()
    module.fast = True
    builder = Builder(module)
    value = Register("%x", numpy.dtype(numpy.float32), 16)
    for _ in range(3):
        value = instructions.emit_operation(builder, _operation("sin %a"), [value])
    assert sorted(symbol for symbol in module.symbols) == ["fast.sin.16", "slow.sin.16"]
    assert module.text().count("define internal") == 2


def _fast_case(text: str, element: FloatType) -> Case:
    operation = _operation(text, element.name)

    def emit(builder: Builder, operands: list[Register]) -> Register:
        builder.module.fast = True
        return instructions.emit_operation(builder, operation, operands)

    flushes = "flush_to_zero" in text
    return Case(
        text, (element,), element, emit, float_unary(declaration_of(text.split()[0]), element, flush_to_zero=flushes)
    )


@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_every_value_of_the_sixteen_bit_types_is_within_one_unit_of_the_exact_result(element: FloatType) -> None:
    patterns = numpy.arange(1 << 16, dtype=numpy.uint16)
    values = patterns.view(value_dtype(element))
    texts = [f"{name} %a" for name in DECLARATIONS if name != "sigmoid"]
    cases = [_fast_case(text, element) for text in texts]
    compiled = Compiled(cases, 16)
    assert "@fast." in compiled.text
    for number, case in enumerate(cases):
        found = compiled.run(number, [values])
        with numpy.errstate(all="ignore"):
            exact = numpy.asarray(case.kernel(values))
        difference = found.view(numpy.int16).astype(int) - exact.view(numpy.int16)
        nan = numpy.isnan(found.astype(numpy.float32)) & numpy.isnan(exact.astype(numpy.float32))
        assert numpy.abs(difference[~nan]).max() <= 1, case.name
        # Going through float32 changes hardly any.
        assert (difference[~nan] != 0).mean() < 2e-3, case.name


@pytest.mark.parametrize("text", ["exp2 %a flush_to_zero", "rsqrt %a flush_to_zero"])
def test_subnormal_numbers_are_flushed_where_the_operation_says_so(text: str) -> None:
    case = _fast_case(text, F32)
    (specials,) = operand_arrays((F32,), 4096, 5)
    small = numpy.linspace(-150, -120, 256, dtype=numpy.float32)
    values = numpy.concatenate([specials, small])
    found = Compiled([case], 16).run(0, [values])
    with numpy.errstate(all="ignore"):
        exact = case.kernel(values)
    zero = exact == 0
    assert zero.any() and (found[zero].view(numpy.uint32) == exact[zero].view(numpy.uint32)).all()
    assert not ((numpy.abs(found) < 2.0**-126) & ~zero).any()
    finite = numpy.isfinite(exact)
    assert numpy.allclose(found[finite], exact[finite], rtol=3e-7, atol=0)


# Kernels

KERNEL = """
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %x = make_tensor_view %p, shape = [7, 100], strides = [100, 1] : tensor_view<7x100xf32, strides=[100,1]>
  %y = make_tensor_view %q, shape = [7, 100], strides = [100, 1] : tensor_view<7x100xf32, strides=[100,1]>
  %from = make_partition_view %x : partition_view<tile=(4x128), padding_value = zero, tensor_view<7x100xf32, strides=[100,1]>>
  %to = make_partition_view %y : partition_view<tile=(4x128), tensor_view<7x100xf32, strides=[100,1]>>
  %row, %other, %none = get_tile_block_id : tile<i32>
  %a, %t1 = load_view_tko weak %from[%row, %other] : partition_view<tile=(4x128), padding_value = zero, tensor_view<7x100xf32, strides=[100,1]>>, tile<i32> -> tile<4x128xf32>, token
  %s = sin %a : tile<4x128xf32>
  %e = exp %s : tile<4x128xf32>
  %w = pow %e, %a : tile<4x128xf32>
  %t2 = store_view_tko weak %w, %to[%row, %other] : tile<4x128xf32>, partition_view<tile=(4x128), tensor_view<7x100xf32, strides=[100,1]>>, tile<i32> -> token
  return
} }
"""


def test_a_kernel_is_fast_if_it_is_compiled_so() -> None:
    values = numpy.random.default_rng(3).standard_normal((7, 100)).astype(numpy.float32)
    values[3, 50] = 1e10
    results = {}
    for name, backend, fast in (("interpreter", "interpreter", False), ("exact", "cpu", False), ("fast", "cpu", True)):
        results[name] = numpy.zeros_like(values)
        tileir.compile(tileir.parse(KERNEL), backend=backend, fast=fast).launch((2, 1), (values, results[name]))
    assert results["exact"].tobytes() == results["interpreter"].tobytes()
    assert results["fast"].tobytes() != results["interpreter"].tobytes()
    near = numpy.isclose(results["fast"], results["interpreter"], rtol=1e-5, atol=0)
    # One error of the sine counts for 1e10 of the power.
    near[3, 50] = True
    assert near.all()


def test_the_documentation_states_these_errors() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "internals" / "cpu.md").read_text(encoding="utf-8")
    text = page.partition("### Fast functions\n")[2].partition("\n#")[0]
    stated = {}
    for names, fused, plain in re.findall(r"^\| ([a-z0-9, ]+) \| ([0-9.]+) \| ([0-9.]+) \|", text, re.MULTILINE):
        for name in names.split(", "):
            stated[name] = (float(fused), float(plain))
    assert set(BOUNDS) <= set(stated)
    for name, bounds in BOUNDS.items():
        assert all(bound <= limit for bound, limit in zip(bounds, stated[name], strict=True)), name
    assert set(stated.values()) <= {
        tuple([max(BOUNDS[name][column] for name in stated if stated[name] == pair) for column in range(2)])
        for pair in stated.values()
    }


# Code


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "sapphirerapids", "neoverse-v1"])
def test_no_machine_calls_the_c_library(cpu: str) -> None:
    target = host(cpu)
    module = Module()
    module.native_half, module.native_fma, module.native_scale = target.has_f16c, target.has_fma, target.has_avx512
    for number, name in enumerate([name for name in NAMES if name not in ANGLES]):
        module.functions.append(function_text(module, f"f{number}", _case(name, cpu), target.vector_bytes // 4))
    assert not undefined_symbols(assemble(module.text(), target))


def test_exp_scales_in_one_instruction_where_there_is_one() -> None:
    target = host("sapphirerapids")
    for width in (16, 64):
        module = Module()
        module.functions.append(function_text(module, "f", _case("exp", "sapphirerapids"), width))
        text = assembly(module.text(), target)
        assert text.count("vscalefps") == width // 16
        assert text.count("vfmadd") + text.count("vfmsub") == 9 * (width // 16)

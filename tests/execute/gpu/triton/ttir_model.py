"""Elementwise TTIR run with NumPy: what its operations mean, with an assertion wherever they mean nothing.

LLVM makes whatever it likes of a shift by the width, of a division by zero and of a conversion that overflows: a program
that does so fails here.  Instructions of PTX and functions of libraries are those of the interpreter's arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy

from tileir.dialect import ops
from tileir.execute.arithmetic.conversion import float_to_float, integer_to_float
from tileir.execute.arithmetic.elementary import float_binary, float_fma, float_minmax, float_remainder
from tileir.execute.arithmetic.functions import float_atan2, float_power, float_unary
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, TF32, FloatType, integer_type

DTYPES = {
    "i1": numpy.dtype(numpy.bool_),
    "i8": numpy.dtype(numpy.int8),
    "i16": numpy.dtype(numpy.int16),
    "i32": numpy.dtype(numpy.int32),
    "i64": numpy.dtype(numpy.int64),
    "f16": numpy.dtype(numpy.float16),
    "bf16": numpy.dtype(ml_dtypes.bfloat16),
    "f32": numpy.dtype(numpy.float32),
    "f64": numpy.dtype(numpy.float64),
    "f8E4M3FN": numpy.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": numpy.dtype(ml_dtypes.float8_e5m2),
}
FLOATS: dict[str, FloatType] = {
    "f16": F16,
    "bf16": BF16,
    "f32": F32,
    "f64": F64,
    "f8E4M3FN": F8E4M3FN,
    "f8E5M2": F8E5M2,
}
MODES = {
    "rn": "nearest_even",
    "rz": "zero",
    "rm": "negative_inf",
    "rp": "positive_inf",
    "approx": "approx",
    "full": "full",
}
ARITHMETIC = {"add": ops.ADDF, "sub": ops.SUBF, "mul": ops.MULF, "div": ops.DIVF}
UNARY = {
    "exp": ops.EXP, "exp2": ops.EXP2, "log": ops.LOG, "log2": ops.LOG2, "sin": ops.SIN, "cos": ops.COS, "tan": ops.TAN,
    "sinh": ops.SINH, "cosh": ops.COSH, "tanh": ops.TANH, "rsqrt": ops.RSQRT,
}  # fmt: skip
INSTRUCTIONS = {"ex2": ops.EXP2, "rsqrt": ops.RSQRT, "tanh": ops.TANH, "lg2": ops.LOG2, "sin": ops.SIN, "cos": ops.COS}


def dtype_of(element: str) -> Any:
    return numpy.dtype(numpy.int64) if element.startswith("!tt.ptr") else DTYPES[element]


def _unsigned(array: Any) -> Any:
    return array if array.dtype == numpy.bool_ else array.view(f"u{array.dtype.itemsize}")


def _width(array: Any) -> int:
    return 1 if array.dtype == numpy.bool_ else 8 * int(array.dtype.itemsize)


def _shift(operation: Callable[..., Any], is_signed: bool) -> Callable[..., Any]:
    def shifted(a: Any, b: Any) -> Any:
        amount = _unsigned(b)
        assert (amount < _width(a)).all(), "a shift by the width"
        value = a if is_signed else _unsigned(a)
        return operation(value, amount.astype(value.dtype)).view(a.dtype)

    return shifted


def _divide(is_signed: bool, wants_rest: bool) -> Callable[..., Any]:
    def divided(a: Any, b: Any) -> Any:
        left, right = (a, b) if is_signed else (_unsigned(a), _unsigned(b))
        assert (right != 0).all(), "a division by zero"
        if is_signed:
            least = numpy.iinfo(left.dtype).min
            assert not ((left == least) & (right == -1)).any(), "a quotient that overflows"
        quotient = numpy.floor_divide(left, right)
        rest = left - quotient * right
        if is_signed:
            quotient = quotient + ((rest != 0) & ((left < 0) != (right < 0))).astype(left.dtype)
            rest = left - quotient * right
        return (rest if wants_rest else quotient).view(a.dtype)

    return divided


def _on_unsigned(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: operation(_unsigned(a), _unsigned(b)).view(a.dtype)


def _high(a: Any, b: Any) -> Any:
    pairs = zip(*numpy.broadcast_arrays(_unsigned(a), _unsigned(b)), strict=True)
    products = [(int(x) * int(y)) >> _width(a) for x, y in pairs]
    return numpy.array(products, f"u{a.dtype.itemsize}").view(a.dtype)


def _truth(operation: Callable[..., Any], on_bits: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: on_bits(a, b) if a.dtype == numpy.bool_ else operation(a, b)


INTEGER: dict[str, Callable[..., Any]] = {
    "arith.addi": _truth(numpy.add, numpy.not_equal),
    "arith.subi": _truth(numpy.subtract, numpy.not_equal),
    "arith.muli": _truth(numpy.multiply, numpy.logical_and),
    "arith.andi": numpy.bitwise_and,
    "arith.ori": numpy.bitwise_or,
    "arith.xori": numpy.bitwise_xor,
    "arith.shli": _shift(numpy.left_shift, True),
    "arith.shrsi": _shift(numpy.right_shift, True),
    "arith.shrui": _shift(numpy.right_shift, False),
    "arith.divsi": _divide(True, False),
    "arith.divui": _divide(False, False),
    "arith.remsi": _divide(True, True),
    "arith.remui": _divide(False, True),
    "arith.maxsi": numpy.maximum,
    "arith.minsi": numpy.minimum,
    "arith.maxui": _on_unsigned(numpy.maximum),
    "arith.minui": _on_unsigned(numpy.minimum),
    "tt.mulhiui": _high,
}
PREDICATES: dict[str, Callable[..., Any]] = {
    "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater,
    "ge": numpy.greater_equal,
}  # fmt: skip


def _compare_integers(predicate: str, a: Any, b: Any) -> Any:
    if predicate in ("eq", "ne"):
        return PREDICATES[predicate](a, b)
    if predicate[0] == "u":
        return PREDICATES[predicate[1:]](_unsigned(a), _unsigned(b))
    if a.dtype == numpy.bool_:
        a, b = -a.astype(numpy.int8), -b.astype(numpy.int8)
    return PREDICATES[predicate[1:]](a, b)


def _compare_floats(predicate: str, a: Any, b: Any) -> Any:
    unordered = numpy.isnan(a) | numpy.isnan(b)
    if predicate in ("ord", "uno"):
        return unordered if predicate == "uno" else ~unordered
    found = PREDICATES[predicate[1:]](a, b)
    return found & ~unordered if predicate[0] == "o" else found | unordered


def _float_binary(name: str, element: str, a: Any, b: Any) -> Any:
    kind = FLOATS[element]
    if name in ("arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf"):
        which = ops.MAXF if "max" in name else ops.MINF
        return float_minmax(which, kind, propagate_nan="imum" in name)(a, b)
    mnemonic = {"arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div"}.get(name, "div")
    return float_binary(ARITHMETIC[mnemonic], kind)(a, b)


def _float_unary(name: str, element: str, a: Any) -> Any:
    if name == "math.absf":
        return numpy.abs(a)
    which = {"math.floor": ops.FLOOR, "math.ceil": ops.CEIL, "math.sqrt": ops.SQRT, "tt.precise_sqrt": ops.SQRT}[name]
    return float_unary(which, FLOATS[element])(a)


def _convert(name: str, source: str, target: str, a: Any) -> Any:
    if name in ("arith.extf", "arith.truncf"):
        return float_to_float(FLOATS[source], FLOATS[target])(a)
    if name == "arith.extsi":
        return (-a.astype(numpy.int8) if source == "i1" else a).astype(DTYPES[target])
    if name == "arith.extui":
        return _unsigned(a).astype(DTYPES[target])
    if name == "arith.trunci":
        return (a & 1).astype(numpy.bool_) if target == "i1" else a.astype(DTYPES[target])
    if name in ("arith.sitofp", "arith.uitofp"):
        value = (-a.astype(numpy.int8) if source == "i1" else a) if name == "arith.sitofp" else _unsigned(a)
        assert target != "bf16" or value.itemsize <= 2, "it is rounded twice on some GPUs"
        if value.dtype == numpy.bool_:
            value = value.astype(numpy.int8)
        signedness = "signed" if value.dtype.kind == "i" else "unsigned"
        convert = integer_to_float(integer_type(8 * value.itemsize), FLOATS[target], signedness)
        return convert(value.view(f"i{value.itemsize}"))
    assert name in ("arith.fptosi", "arith.fptoui")
    value = numpy.trunc(a.astype(numpy.float64))
    limits = numpy.iinfo(DTYPES[target].name if name == "arith.fptosi" else f"u{DTYPES[target].name}")
    assert ((value >= limits.min) & (value < float(limits.max + 1))).all(), "a conversion that overflows"
    return value.astype(limits.dtype).view(DTYPES[target])


def _assembly(instruction: str, values: list[Any]) -> Any:
    mnemonic, *modifiers = instruction.split(".")
    if mnemonic == "cvt":
        rounding, target, source = modifiers
        if rounding == "rzi":
            return _to_integer(target, values[0])
        if target == "tf32":
            return float_to_float(F32, TF32, MODES[rounding])(values[0]).view(numpy.int32)
        made = float_to_float(FLOATS[source], FLOATS[target], MODES[rounding])(values[0])
        return made.view(numpy.int16) if target == "f16" else made
    if mnemonic == "mov":
        return values[0]
    element = FLOATS[modifiers[-1]]
    flush = "ftz" in modifiers
    if mnemonic in ("max", "min"):
        which = ops.MAXF if mnemonic == "max" else ops.MINF
        return float_minmax(which, element, propagate_nan="NaN" in modifiers, flush_to_zero=flush)(*values)
    rounding = MODES[modifiers[0]]
    if mnemonic == "fma":
        return float_fma(element, rounding, flush)(*values)
    if mnemonic == "sqrt":
        return float_unary(ops.SQRT, element, rounding, flush)(*values)
    if mnemonic in INSTRUCTIONS:
        return float_unary(INSTRUCTIONS[mnemonic], element, flush_to_zero=flush)(*values)
    return float_binary(ARITHMETIC[mnemonic], element, rounding, flush)(*values)


def _to_integer(target: str, value: Any) -> Any:
    """PTX: clamped; of a NaN 0, but the number with the highest bit alone from f64 or to 64 bits."""
    limits = numpy.iinfo({"s": "int", "u": "uint"}[target[0]] + target[1:])
    whole = numpy.trunc(value.astype(numpy.float64))
    inside = (whole >= float(limits.min)) & (whole < float(limits.max + 1))
    made = numpy.where(inside, whole, 0.0).astype(limits.dtype)
    made = numpy.where(whole >= float(limits.max + 1), limits.dtype.type(limits.max), made)
    made = numpy.where(whole < float(limits.min), limits.dtype.type(limits.min), made)
    made = made.view(f"i{limits.dtype.itemsize}")
    if value.dtype == numpy.float64 or target[1:] == "64":
        made = numpy.where(numpy.isnan(value), numpy.iinfo(made.dtype).min, made)
    return made


def _external(symbol: str, element: str, values: list[Any]) -> Any:
    name = symbol.removeprefix("__nv_").removeprefix("__ocml_").removesuffix("_f32").removesuffix("_f64")
    if element == "f32" and symbol.startswith("__nv_"):
        name = name.removesuffix("f")
    kind = FLOATS[element]
    if name in UNARY:
        return float_unary(UNARY[name], kind)(*values)
    return {"fmod": float_remainder, "pow": float_power, "atan2": float_atan2}[name](kind)(*values)


_SCALAR = r"(?:tensor<(?:\d+x)*)?(!tt\.ptr<\w+>|\w+)>?"
_LINE = re.compile(r"\s*(%\w+(?:, %\w+)*) = ([\w.]+) ?(.*)")
_NAME = re.compile(r"%\w+")


def run(text: str, values: dict[str, Any]) -> dict[str, Any]:
    """All values of a body, given those it begins with; constants are the same for every element."""
    known = dict(values)
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        assert found is not None, line
        results, name, rest = found.groups()
        with numpy.errstate(all="ignore"):
            made = _shaped(name, rest, known)
            made = [operation(name, rest, known)] if made is None else made
        known.update(zip(results.split(", "), made, strict=True))
    return known


def _shaped(name: str, rest: str, known: dict[str, Any]) -> list[Any] | None:
    """Operations that move elements."""
    if name not in ("tt.join", "tt.split", "tt.reshape"):
        return None
    head, _, types = rest.rpartition(" : ")
    values = [known[each] for each in _NAME.findall(head)]
    if name == "tt.join":
        return [numpy.stack(values, -1)]
    if name == "tt.split":
        return [values[0][..., 0], values[0][..., 1]]
    shape = re.findall(r"\d+(?=x)", types.partition("-> ")[2])
    return [values[0].reshape([int(extent) for extent in shape])]


def operation(name: str, rest: str, known: dict[str, Any]) -> Any:
    """The result of an operation, of which `rest` is the text behind its name."""
    if name == "arith.constant":
        return _constant(rest)
    head, _, types = rest.rpartition(" : ")
    elements = re.findall(_SCALAR, types.replace("to ", "-> ").replace("(", "").replace(")", ""))
    values = [known[each] for each in _NAME.findall(head)]
    if name == "tt.elementwise_inline_asm":
        instruction = re.search(r'"([\w.]+) ', head)
        assert instruction is not None
        made = _assembly(instruction[1], values)
    elif name == "tt.extern_elementwise":
        symbol = re.search(r'symbol = "(\w+)"', head)
        assert symbol is not None
        made = _external(symbol[1], elements[0], values)
    elif name in ("tt.bitcast", "tt.int_to_ptr", "tt.ptr_to_int"):
        made = values[0].view(dtype_of(elements[-1]))
    elif name == "tt.fp_to_fp":
        made = float_to_float(FLOATS[elements[0]], FLOATS[elements[1]])(values[0])
    elif name == "arith.cmpi":
        made = _compare_integers(head.split(",")[0], *values)
    elif name == "arith.cmpf":
        made = _compare_floats(head.split(",")[0], *values)
    elif name == "arith.select":
        made = numpy.where(*values)
    elif name == "math.fma":
        made = float_fma(FLOATS[elements[0]])(*values)
    elif name in INTEGER:
        made = INTEGER[name](*values)
    elif " to " in types:
        made = _convert(name, elements[0], elements[1], values[0])
    elif len(values) == 2:
        made = _float_binary(name, elements[0], *values)
    else:
        made = _float_unary(name, elements[0], *values)
    wanted = numpy.dtype(numpy.bool_) if name.startswith("arith.cmp") else dtype_of(elements[-1])
    assert made.dtype == wanted, f"{name} {rest}: {made.dtype}"
    return made


def _constant(rest: str) -> Any:
    if rest in ("true", "false"):
        return numpy.array(rest == "true")
    number, _, type = rest.rpartition(" : ")
    number = number.removeprefix("dense<").removesuffix(">")
    (element,) = re.findall(_SCALAR, type)
    dtype = DTYPES[element]
    if element == "i1":
        return numpy.array(number == "true")
    if number.startswith("0x"):
        return numpy.array(int(number, 16), f"u{dtype.itemsize}").view(dtype)
    if element in FLOATS:
        return numpy.array(float(number)).astype(dtype)
    return numpy.array(int(number), numpy.int64).astype(dtype)

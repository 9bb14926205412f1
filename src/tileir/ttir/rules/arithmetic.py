"""Numbers: constants, integer and float arithmetic, comparisons, conversions, mathematical functions."""

from __future__ import annotations

from tileir.dialect.types import PointerType, TileType, with_element
from tileir.ir.attributes import FloatAttribute, IntegerAttribute
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute, dense_attribute
from tileir.ir.types import F32, I8, I64, FloatType, IntegerType
from tileir.ir.values import Value
from tileir.ttir.rules.formulas import Number
from tileir.ttir.translation import RULES, Rule, Translation, rule

# arith.cmpi and arith.cmpf write their predicates as numbers.
_INTEGER_PREDICATES = (
    ("equal", "signed"),
    ("not_equal", "signed"),
    ("less_than", "signed"),
    ("less_than_or_equal", "signed"),
    ("greater_than", "signed"),
    ("greater_than_or_equal", "signed"),
    ("less_than", "unsigned"),
    ("less_than_or_equal", "unsigned"),
    ("greater_than", "unsigned"),
    ("greater_than_or_equal", "unsigned"),
)

_OVERFLOW = {
    (False, False): "none",
    (True, False): "no_signed_wrap",
    (False, True): "no_unsigned_wrap",
    (True, True): "no_wrap",
}
_FLOAT_COMPARISONS = (
    "equal",
    "greater_than",
    "greater_than_or_equal",
    "less_than",
    "less_than_or_equal",
    "not_equal",
)


def _direct(mnemonic: str, *extra: object, **keywords: object) -> Rule:
    """The rule of an operation that has a counterpart with the same operands."""

    def translate(t: Translation, op: Operation) -> Value:
        return t.build.operation(mnemonic, *t.operands(op), *extra, **keywords).result

    return translate


def _of_floats(mnemonic: str, **keywords: object) -> Rule:
    """The rule of such an operation on floats; Tile IR has none on those of 8 bits, which f32 contains."""

    def translate(t: Translation, op: Operation) -> Value:
        operands = t.operands(op)
        value: Value = t.build.operation(mnemonic, *[_wide(t, each) for each in operands], **keywords).result
        return value if value.type is operands[0].type else t.build.ftof(value, operands[0].type)

    return translate


def _wide(t: Translation, value: Value) -> Value:
    assert isinstance(value.type, TileType) and isinstance(value.type.element, FloatType)
    return value if value.type.element.width > 8 else t.build.ftof(value, with_element(value.type, F32))


def _wrapping(mnemonic: str) -> Rule:
    """The rule of an operation with flags that promise that it does not overflow."""

    def translate(t: Translation, op: Operation) -> Value:
        flags = op.attributes.get("overflowFlags")
        overflow = _OVERFLOW[("nsw" in flags.text, "nuw" in flags.text)] if flags is not None else "none"
        return t.build.operation(mnemonic, *t.operands(op), overflow=overflow).result

    return translate


def _conversion(mnemonic: str, *extra: object) -> Rule:
    """The rule of an operation that has a counterpart with the type of the result."""

    def translate(t: Translation, op: Operation) -> Value:
        return t.build.operation(mnemonic, *t.operands(op), t.result_type(op), *extra).result

    return translate


RULES.update(
    {
        **{f"arith.{name}": _of_floats(name) for name in ("addf", "subf", "mulf", "divf", "remf", "negf")},
        **{f"arith.{name}": _direct(name) for name in ("andi", "ori", "xori")},
        **{f"arith.{name}": _wrapping(name) for name in ("addi", "subi", "muli", "shli")},
        **{f"arith.{name}si": _direct(f"{name}i", "signed") for name in ("div", "rem", "max", "min")},
        **{f"arith.{name}ui": _direct(f"{name}i", "unsigned") for name in ("div", "rem", "max", "min")},
        "arith.shrsi": _direct("shri", "signed"),
        "arith.shrui": _direct("shri", "unsigned"),
        "arith.maxnumf": _of_floats("maxf"),
        "arith.minnumf": _of_floats("minf"),
        "arith.maximumf": _of_floats("maxf", propagate_nan=True),
        "arith.minimumf": _of_floats("minf", propagate_nan=True),
        "tt.mulhiui": _direct("mulhii"),
        "math.absi": _direct("absi"),
        **{f"math.{name}": _of_floats(name) for name in ("ceil", "floor", "cos", "sin", "exp", "exp2", "log", "log2")},
        **{f"math.{name}": _of_floats(name) for name in ("rsqrt", "sqrt", "fma")},
        "tt.precise_sqrt": _of_floats("sqrt"),
        "tt.precise_divf": _of_floats("divf"),
        "tt.approx_divf": _of_floats("divf"),
        "arith.extsi": _conversion("exti", "signed"),
        "arith.extui": _conversion("exti", "unsigned"),
        "arith.trunci": _conversion("trunci"),
        "arith.extf": _conversion("ftof"),
        "arith.truncf": _conversion("ftof"),
        "arith.sitofp": _conversion("itof", "signed"),
        "arith.uitofp": _conversion("itof", "unsigned"),
        "arith.fptosi": _conversion("ftoi", "signed"),
        "arith.fptoui": _conversion("ftoi", "unsigned"),
        "arith.bitcast": _conversion("bitcast"),
        "tt.int_to_ptr": _conversion("int_to_ptr"),
    }
)


@rule("arith.constant")
def constant(t: Translation, op: Operation) -> Value:
    type, value = t.result_type(op), op.attributes["value"]
    if isinstance(value, DenseAttribute):
        return t.build.operation("constant", type, dense_attribute(type, type.shape, type.element, value.data)).result
    assert isinstance(value, (IntegerAttribute, FloatAttribute))
    return filled(t, value.bits if isinstance(value, FloatAttribute) else value.value, type)


def filled(t: Translation, bits: int, type: TileType) -> Value:
    """A tile whose elements all have one bit pattern."""
    element = type.element
    assert isinstance(element, (FloatType, IntegerType))
    size = (element.width + 7) // 8
    data = (bits & ((1 << element.width) - 1)).to_bytes(size, "little")
    return t.build.operation("constant", type, dense_attribute(type, type.shape, element, data)).result


@rule("math.absf")
def absolute_float(t: Translation, op: Operation) -> Value:
    """Clear the first bit of floats of 8 bits, whose conversion from f32 has no infinity."""
    (value,), type = t.operands(op), t.result_type(op)
    if _wide(t, value) is value:
        return t.build.absf(value)
    bits = with_element(type, I8)
    return t.build.bitcast(t.build.andi(t.build.bitcast(value, bits), filled(t, 0x7F, bits)), type)


@rule("arith.cmpi")
def compare_integers(t: Translation, op: Operation) -> Value:
    lhs, rhs = t.operands(op)
    predicate, signedness = _INTEGER_PREDICATES[t.attribute(op, "predicate")]
    return t.build.operation("cmpi", lhs, rhs, predicate, signedness).result


@rule("arith.cmpf")
def compare_floats(t: Translation, op: Operation) -> Value:
    """The predicates are: false, six ordered ones, ordered, six unordered ones, unordered, true."""
    lhs, rhs = [_wide(t, each) for each in t.operands(op)]
    predicate = t.attribute(op, "predicate")
    if predicate in (0, 15):
        return filled(t, int(predicate == 15), t.result_type(op))
    if predicate in (7, 14):
        both = [t.build.cmpf(each, each, "equal", "ordered") for each in (lhs, rhs)]
        ordered = t.build.andi(*both)
        return ordered if predicate == 7 else t.build.xori(ordered, filled(t, 1, t.result_type(op)))
    ordering = "ordered" if predicate < 7 else "unordered"
    return t.build.operation("cmpf", lhs, rhs, _FLOAT_COMPARISONS[(predicate - 1) % 7], ordering).result


@rule("arith.select")
def select(t: Translation, op: Operation) -> list[Value]:
    condition, yes, no = [t.parts(each) for each in op.operands]
    found = []
    for type, first, second in zip(t.types(op.results), yes, no, strict=True):
        found.append(t.build.select(splat(t, condition[0], type.shape), first, second))
    return found


def splat(t: Translation, value: Value, shape: tuple[int, ...]) -> Value:
    """A scalar as a tile; a tile that has the shape already stays as it is."""
    assert isinstance(value.type, TileType)
    if value.type.shape == shape:
        return value
    return t.build.broadcast(t.build.reshape(value, (1,) * len(shape)), shape)


@rule("tt.clampf")
def clamp(t: Translation, op: Operation) -> Value:
    """Without NaN propagation, NaN becomes the lower bound: each of the two steps returns the operand that is none."""
    x, low, high = t.operands(op)
    keep_nan = t.attribute(op, "propagateNan", 0) != 0
    return t.build.minf(t.build.maxf(x, low, propagate_nan=keep_nan), high, propagate_nan=keep_nan)


@rule("tt.fp_to_fp")
def convert_float(t: Translation, op: Operation) -> Value:
    """The attribute is left out where every number fits."""
    rounding = t.attribute(op, "rounding", 1)
    if rounding not in (0, 1):
        raise t.unsupported(op, "stochastic rounding has no counterpart")
    (value,), type = t.operands(op), t.result_type(op)
    if rounding == 0 and isinstance(type.element, FloatType) and type.element.width == 8:
        return _toward_zero(Number(t.build, value), type)
    return t.build.ftof(value, type, rounding_mode="nearest_even" if rounding else "zero")


def _toward_zero(x: Number, type: TileType) -> Value:
    """Numbers with 8 bits, which Tile IR rounds to nearest only: one less in size where that is larger."""
    near = x.apply("ftof", type)
    bits = near.bits(I8)
    is_larger = abs(near.apply("ftof", x.type)) > abs(x)
    return is_larger.choose(bits - 1, bits).bits(type.element).value


@rule("tt.bitcast")
def bitcast(t: Translation, op: Operation) -> Value:
    """Between numbers, or between pointers."""
    (value,), type = t.operands(op), t.result_type(op)
    if value.type is type:
        return value
    mnemonic = "ptr_to_ptr" if isinstance(type.element, PointerType) else "bitcast"
    return t.build.operation(mnemonic, value, type).result


@rule("tt.ptr_to_int")
def pointer_to_integer(t: Translation, op: Operation) -> Value:
    (pointer,), type = t.operands(op), t.result_type(op)
    address = t.build.ptr_to_int(pointer)
    return address if address.type is type else t.build.trunci(address, type)


@rule("ub.poison")
def poison(t: Translation, op: Operation) -> Value:
    """A value that must not matter: zero."""
    type = t.result_type(op)
    if isinstance(type.element, PointerType):
        return t.build.int_to_ptr(filled(t, 0, with_element(type, I64)), type)
    return filled(t, 0, type)

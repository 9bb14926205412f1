"""Where a GPU may differ from the interpreter: every rule with its reason, and no difference without a rule.

A rule says for which programs it is, which of the elements that differ it explains, and how far apart they are.
`docs/reference/numerics.md` has the rules of the dialect, "On hardware" there what was seen; `docs/internals/nvidia.md` the assembler's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy
from tests.execute.cpu.nan_programs import is_nan, is_signalling
from tests.hardware.agreement.program import Pointer, Program, bits_of, dtype_of, element_of

from tileir.execute.dtypes import value_dtype
from tileir.ir.types import FloatType

OPEN = "open"
UNSPECIFIED = "unspecified"
ASSEMBLER = "assembler"
DIFFERENT = "different"
Explained = tuple[Any, Any]
"""Which elements are explained, and by how much each differs, or None."""


class Differences:
    """The elements of one argument that differ: their places, the interpreter's patterns and the GPU's."""

    def __init__(self, program: Program, number: int, element: str, indices: Any, wanted: Any, found: Any) -> None:
        self.program = program
        self.number = number
        self.element = element
        self.indices = indices
        self.wanted = wanted
        self.found = found
        self.notes: list[str] = []

    @property
    def operation(self) -> str:
        """The text of the one operation that the program is about, or nothing."""
        return str(self.program.details.get("operation", ""))

    @property
    def mnemonic(self) -> str:
        return self.operation.partition(" ")[0]

    @property
    def about(self) -> str:
        approximate = [word for word in ("rounding<approx>", "rounding<full>") if word in self.operation]
        return " ".join(
            [self.mnemonic or self.program.family, *approximate, self.program.details.get("types", self.element)]
        )

    @property
    def is_float(self) -> bool:
        return isinstance(element_of(self.element), FloatType)

    def only(self, mask: Any) -> Differences:
        return Differences(
            self.program, self.number, self.element, self.indices[mask], self.wanted[mask], self.found[mask]
        )

    def operand(self, number: int) -> Any:
        """What the elements that differ were computed from, in an elementwise program."""
        argument = self.program.arguments[number]
        assert isinstance(argument, Pointer)
        return bits_of(argument.element, self.program.memories[argument.memory])[self.indices]

    def words(self, most: int) -> list[str]:
        lines = []
        for place in range(min(most, self.indices.size)):
            index = int(self.indices[place])
            operands = [
                f"{int(self.operand(number)[place]):#x}" for number in range(self.program.details.get("operands", 0))
            ]
            lines.append(
                f"argument {self.number} [{index}] {self.element}: {' '.join(operands)} wanted "
                f"{int(self.wanted[place]):#x} found {int(self.found[place]):#x} ({self.indices.size} differ)"
            )
        return lines

    # --- numbers ---

    @cached_property
    def both_nan(self) -> Any:
        kind = element_of(self.element)
        if not isinstance(kind, FloatType):
            return numpy.zeros(self.indices.size, bool)
        return is_nan(kind, self.wanted) & is_nan(kind, self.found)

    @cached_property
    def units(self) -> Any:
        """How many representable numbers apart the two are; infinite for NaN against a number."""
        return apart(self.element, self.wanted, self.found)

    @cached_property
    def absolute(self) -> Any:
        """How far apart the two are."""
        with numpy.errstate(all="ignore"):
            return abs(number(self.element, self.found) - number(self.element, self.wanted))


def number(element: str, bits: Any) -> Any:
    """Patterns as doubles."""
    dtype = value_dtype(element_of(element))
    with numpy.errstate(all="ignore"):
        return numpy.ascontiguousarray(bits).view(dtype).astype(numpy.float64)


def apart(element: str, left: Any, right: Any) -> Any:
    kind = element_of(element)
    assert isinstance(kind, FloatType)
    width = 8 * dtype_of(element).itemsize
    magnitudes, signs = [], []
    for bits in (left, right):
        magnitudes.append((bits & bits.dtype.type((1 << (width - 1)) - 1)).astype(numpy.int64))
        signs.append(bits >> bits.dtype.type(width - 1) != 0)
    one, other = magnitudes
    # Integers: a double does not hold all 64 bits.
    units = numpy.where(signs[0] == signs[1], abs(one - other).astype(float), one.astype(float) + other.astype(float))
    if element == "tf32":
        units = units / (1 << 13)
    nans = is_nan(kind, left) | is_nan(kind, right)
    return numpy.where(nans, numpy.inf, units)


class Rule(NamedTuple):
    name: str
    kind: str
    unit: str
    reason: str
    applies: Callable[[Differences], bool]
    explains: Callable[[Differences], Explained]


def within(limits: dict[str, float]) -> Callable[[Differences], Explained]:
    """At most so many units in the last place, by element type."""

    def explains(found: Differences) -> Explained:
        return found.units <= limits.get(found.element, 0.0), found.units

    return explains


FUNCTIONS = (
    "rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "tanhf", "pow", "powf", "atan2",
    "fpowi", "sigmoid", "log10", "log1p",
)  # fmt: skip
"""Of which the dialect does not say how many bits are right."""
MOVES = ("select", "bitcast")
"""Elementwise operations that copy bits, those of NaNs too."""


def _about(*mnemonics: str, having: str = "") -> Callable[[Differences], bool]:
    return lambda found: found.mnemonic in mnemonics and having in found.operation


def _approximate_quotient(found: Differences) -> Explained:
    """Two units; a divisor above 2^126 counts as infinite."""
    if found.program.details.get("operands") != 2:
        return found.units <= 2, found.units
    numerator, divisor = (abs(number("f32", found.operand(place))) for place in (0, 1))
    result = number("f32", found.found)
    infinite = (divisor > 2.0**126) & numpy.where(numpy.isinf(numerator), numpy.isnan(result), result == 0)
    return (found.units <= 2) | infinite, numpy.where(infinite, 0.0, found.units)


def _powers(found: Differences) -> Explained:
    """A unit for each of the multiplications."""
    if found.program.details.get("operands") != 2:
        return numpy.zeros(found.indices.size, bool), None
    bits = found.operand(1)
    turns = abs(bits.view(f"i{bits.itemsize}").astype(float))
    return found.units <= turns, found.units


def _inverse_powers(found: Differences) -> Explained:
    """x^-n is 0 where x^n overflows."""
    if found.program.details.get("operands") != 2:
        return numpy.zeros(found.indices.size, bool), None
    bits = found.operand(1)
    return (bits.view(f"i{bits.itemsize}") < 0) & (number(found.element, found.found) == 0), None


def _out_of_range(found: Differences) -> Explained:
    """NaN, and numbers beyond the target; constants are not known here, but the interpreter's results tell them."""
    width = 8 * dtype_of(found.element).itemsize
    signed = " signed" in found.operation
    most = (1 << (width - 1)) - 1 if signed else (1 << width) - 1
    if found.program.details.get("operands"):
        argument = found.program.arguments[0]
        assert isinstance(argument, Pointer)
        with numpy.errstate(invalid="ignore"):
            value = numpy.trunc(number(argument.element, found.operand(0)))
        return ~((value < most + 1) & (value >= (-most - 1 if signed else 0))), None
    ends = {most, (1 << (width - 1)) if signed else 0, 0}
    return numpy.isin(found.wanted.astype(numpy.uint64), numpy.array(sorted(ends), numpy.uint64)), None


def _all_bits_of_tf32(found: Differences) -> Explained:
    """Elements whose low 13 bits are not zero."""
    return found.operand(0) & 0x1FFF != 0, None


def _identity(found: Differences) -> Explained:
    """The identity in place of NaN, and +0 in place of -0."""
    identity = int(found.program.details["identity"].split()[0], 16) if "0x" in found.program.details["identity"] else 0
    kind = element_of(found.element)
    assert isinstance(kind, FloatType)
    nan = is_nan(kind, found.wanted) & (found.found == found.found.dtype.type(identity))
    zero = (found.wanted == 0x80000000) & (found.found == 0)
    return nan | zero, None


def _saturation_folded(found: Differences) -> Explained:
    """NaN where the conversion saturates."""
    kind = element_of(found.element)
    assert isinstance(kind, FloatType)
    return is_nan(kind, found.found) & (found.wanted & 0x7F == 0x7E), None


def _rounded_twice(found: Differences) -> Explained:
    return found.units <= 1, found.units


MANTISSA = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "tf32": 10, "f8E4M3FN": 3, "f8E5M2": 2}
LARGEST = {"f64": 2.0**1023, "f32": 2.0**127, "f16": 2.0**15, "bf16": 2.0**127}


def _sums(found: Differences) -> Explained:
    """Differences of sums, relative to the sums of magnitudes: `details` says how to form those."""
    scale = magnitudes(found.program)[found.indices]
    with numpy.errstate(all="ignore"):
        measured = found.absolute / (scale * 2.0 ** -(MANTISSA[found.element] + 1))
    limit = float(found.program.details["limit"])
    return numpy.isfinite(measured) & (measured <= limit), measured


def _overflowing_sums(found: Differences) -> Explained:
    scale = magnitudes(found.program)[found.indices]
    return ~(scale <= LARGEST[found.element]), None


def _factors(found: Differences) -> Explained:
    """A unit for each factor."""
    count = float(found.program.details["factors"])
    return found.units <= count, found.units


def _overflowing_products(found: Differences) -> Explained:
    """Whatever has factors whose magnitudes go far in either direction."""
    argument = found.program.arguments[0]
    assert isinstance(argument, Pointer)
    values = number(argument.element, bits_of(argument.element, found.program.memories[argument.memory]))
    with numpy.errstate(all="ignore"):
        far = numpy.nansum(abs(numpy.log2(abs(values[numpy.isfinite(values) & (values != 0)]))))
    special = not numpy.isfinite(values).all() or bool((values == 0).any())
    wide = bool(far > numpy.log2(LARGEST[found.element])) or special
    return numpy.full(found.indices.size, wide), None


def magnitudes(program: Program) -> Any:
    """For each element of the result, the sum of the magnitudes of what is added."""
    sizes = program.details["sum"]
    arrays = []
    for place, shape in sizes["operands"]:
        argument = program.arguments[place]
        assert isinstance(argument, Pointer)
        arrays.append(
            abs(number(argument.element, bits_of(argument.element, program.memories[argument.memory]))).reshape(shape)
        )
    if sizes["kind"] == "product":
        with numpy.errstate(all="ignore"):
            total = numpy.matmul(arrays[0], arrays[1])
            if len(arrays) > 2:
                total = total + arrays[2]
        return total.reshape(-1)
    (array,) = arrays
    axis = sizes["axis"]
    with numpy.errstate(all="ignore"):
        if sizes["kind"] == "reduce":
            return array.sum(axis=axis).reshape(-1)
        ordered = numpy.flip(array, axis) if sizes["reverse"] else array
        total = numpy.cumsum(ordered, axis=axis)
        return (numpy.flip(total, axis) if sizes["reverse"] else total).reshape(-1)


def _signs_of_zero(found: Differences) -> Explained:
    return (number(found.element, found.wanted) == 0) & (number(found.element, found.found) == 0), None


def _saturated(found: Differences) -> Explained:
    return (found.found == 0x7FFFFFFF) | (found.found == 0x80000000), None


def _flushed(found: Differences) -> Explained:
    """The GPU's sum is that with every subnormal number in it replaced by zero: it differs by less than three of them."""
    return found.absolute <= 3 * 2.0**-126, None


def _padding(found: Differences) -> Explained:
    """The padding's 19 bits stand in the low bits of the word, of which the last byte may keep what it was."""
    return found.found & 0xFFFFFF == (found.wanted >> 13), None


def _infinity_of_nan(found: Differences) -> Explained:
    kind = element_of(found.element)
    assert isinstance(kind, FloatType)
    return is_nan(kind, found.wanted) & numpy.isinf(number(found.element, found.found)), None


def _near(found: Differences) -> Explained:
    """What random programs make of open operations: near in proportion."""
    with numpy.errstate(all="ignore"):
        wanted = abs(number(found.element, found.wanted))
        # What nearly cancels out is judged by what is typical.
        typical = float(numpy.median(wanted[numpy.isfinite(wanted)])) if numpy.isfinite(wanted).any() else 0.0
        measured = found.absolute / numpy.maximum(wanted, typical)
    return measured <= NEAR.get(found.element, 0.0), measured


NEAR = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1, "tf32": 1e-2, "f8E4M3FN": 0.3, "f8E5M2": 0.5}


def _all(found: Differences) -> Explained:
    return numpy.ones(found.indices.size, bool), None


def _signalling_folded(found: Differences) -> Explained:
    """A constant signalling NaN wins over the number."""
    kind = element_of(found.element)
    assert isinstance(kind, FloatType)
    return is_nan(kind, found.found) & ~is_signalling(kind, found.found), None


def _outside(found: Differences) -> Explained:
    number, places = found.program.details["unspecified"]
    return numpy.isin(found.indices, places) & (number == found.number), None


RULES = [
    Rule(
        "views without padding", OPEN, "", "elements outside of the tensor are unspecified",
        lambda found: "unspecified" in found.program.details, _outside,
    ),
    Rule(
        "which NaN", OPEN, "", "sign and payload of a NaN that an operation makes are not specified",
        lambda found: found.is_float and found.mnemonic not in MOVES and not found.program.details.get("moves"),
        lambda found: (found.both_nan, None),
    ),
    Rule(
        "approximate functions", OPEN, "ulp", "`rounding<approx>` asks for speed",
        _about("exp", "tanh", "tanhf", having="approx"), within({"f32": 150, "f16": 2, "bf16": 2}),
    ),
    Rule(
        "functions", OPEN, "ulp", "the dialect does not say how many bits are right",
        _about(*FUNCTIONS), within({"f64": 3, "f32": 3, "f16": 1, "bf16": 1}),
    ),
    Rule(
        "approximate division", OPEN, "ulp", "`approx` and `full` ask for speed; zero for divisors above 2^126 (PTX)",
        _about("divf", having="rounding<"), _approximate_quotient,
    ),
    Rule(
        "approximate square root", OPEN, "ulp", "`approx` asks for speed",
        _about("sqrt", having="approx"), within({"f32": 2}),
    ),
    Rule(
        "powers", OPEN, "ulp", "multiplied one by one, each product rounded",
        _about("fpowi"), _powers,
    ),
    Rule(
        "powers with huge exponents", OPEN, "", "x^-n is 1 / x^n on the GPU, and 0 where x^n overflows",
        _about("fpowi"), _inverse_powers,
    ),
    Rule(
        "integers out of range", UNSPECIFIED, "", "`ftoi` without `saturating` is undefined there in the public dialect",
        lambda found: found.mnemonic == "ftoi" and "saturating" not in found.operation, _out_of_range,
    ),
    Rule(
        "low bits of tf32", OPEN, "", "the GPU converts tf32 as f32, with all of its bits",
        lambda found: found.mnemonic in ("ftof", "ftoi") and "xtf32> ->" in found.operation and bool(found.program.details.get("operands")),
        _all_bits_of_tf32,
    ),
    Rule(
        "identities", OPEN, "", "a GPU begins with the identity, any number of times (docs/reference/numerics.md)",
        lambda found: "identity" in found.program.details, _identity,
    ),
    Rule(
        "sums", OPEN, "2^-(m+1) sum of magnitudes", "the order of additions is left open",
        lambda found: "sum" in found.program.details and found.is_float, _sums,
    ),
    Rule(
        "sums that may overflow", OPEN, "", "the order of additions decides which partial sums are infinite",
        lambda found: "sum" in found.program.details and found.element in LARGEST, _overflowing_sums,
    ),
    Rule(
        "products of many factors", OPEN, "ulp", "the order of multiplications is left open",
        lambda found: "factors" in found.program.details, _factors,
    ),
    Rule(
        "products that may overflow", OPEN, "", "the order of multiplications decides which partial products do",
        lambda found: "factors" in found.program.details, _overflowing_products,
    ),
    Rule(
        "sign of a sum that is zero", OPEN, "", "sums of products begin with +0 on the GPU",
        _about("mmaf", "mmaf_scaled"), _signs_of_zero,
    ),
    Rule(
        "integer products that overflow", OPEN, "", "tensor cores saturate, small tiles wrap",
        _about("mmai"), _saturated,
    ),
    Rule(
        "atomic additions of f32", OPEN, "", "flush subnormal numbers (PTX)",
        lambda found: found.mnemonic.startswith("atomic") and "addf" in found.operation and found.element == "f32", _flushed,
    ),
    Rule(
        "what follows from open operations", OPEN, "relative", "a random program has one of the operations above",
        lambda found: bool(found.program.details.get("open")) and found.is_float, _near,
    ),
    Rule(
        "two roundings", ASSEMBLER, "ulp", "docs/internals/nvidia.md#two-roundings",
        lambda found: found.mnemonic in ("ftof", "itof") and found.element in ("tf32", "f8E4M3FN", "f8E5M2"), _rounded_twice,
    ),
    Rule(
        "folded constants", ASSEMBLER, "", "docs/internals/nvidia.md#folded-constants",
        lambda found: found.program.family == "folded" and found.mnemonic in ("maxf", "minf"), _signalling_folded,
    ),
    Rule(
        "folded conversions", ASSEMBLER, "", "constants that are too large become NaN; operands from memory saturate",
        lambda found: found.program.family in ("folded", "numbers") and found.element == "f8E4M3FN", _saturation_folded,
    ),
    Rule(
        "negative zero of f8 and tf32 as i1", ASSEMBLER, "", "`ftoi` of -0.0 is true, of other types false",
        lambda found: found.mnemonic == "ftoi" and found.element == "i1" and ("xf8" in found.operation or "xtf32" in found.operation),
        lambda found: (found.operand(0) == 1 << (8 * found.operand(0).itemsize - 1), None),
    ),
    Rule(
        "folded sums", ASSEMBLER, "ulp", "docs/internals/nvidia.md#folded-constants",
        lambda found: found.program.family == "folded" and "flush_to_zero" in found.operation, within({"f32": 1}),
    ),
    Rule(
        "padding of tf32", ASSEMBLER, "", "docs/internals/nvidia.md#padding-of-tf32",
        lambda found: found.element == "tf32" and "padding" in found.program.details, _padding,
    ),
    Rule(
        "nearest_away of a NaN", ASSEMBLER, "", "docs/internals/nvidia.md#nearest_away-of-a-nan",
        _about("ftof", having="nearest_away"), _infinity_of_nan,
    ),
    Rule(
        "lost order", ASSEMBLER, "", "docs/internals/nvidia.md: the sanitizer's notes name the pattern",
        lambda found: bool(found.notes), _all,
    ),
]  # fmt: skip

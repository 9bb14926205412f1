"""Values at which rules begin to matter: identities that are not neutral, halves between numbers, the smallest numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy
from tests.hardware.agreement.elementwise import TILE, kernel
from tests.hardware.agreement.program import Program, dtype_of, simple
from tests.hardware.agreement.structure import COMBINATIONS, MINUS
from tests.hardware.agreement.writing import evaluated, tile

COUNTS = (1, 4, 8, 32, 64, 128, 256, 512, 1024, 2048)


def programs() -> Iterator[Program]:
    yield from identities()
    yield from halves()
    yield from smallest()


# --- identities ---


def identities() -> Iterator[Program]:
    """Reductions and scans whose identity shows, and of values that a neutral one would change."""
    cases = [
        ("ones, identity 1", "addf", "1.0 : f32", 0x3F800000),
        ("negative zeros", "addf", "0.0 : f32", 0x80000000),
        ("NaN alone", "maxf", f"{MINUS['f32']} : f32", 0x7FC00000),
        ("signalling NaN alone", "maxf", f"{MINUS['f32']} : f32", 0x7F800001),
        ("NaN alone", "minf", "0x7F800000 : f32", 0x7FC00000),
        ("NaN alone", "maxf propagate_nan", f"{MINUS['f32']} : f32", 0x7FC00000),
    ]
    for (name, combination, identity, pattern), count, word in product(
        cases, COUNTS, ("reduce", "scan", "scan reverse")
    ):
        bits = numpy.full(count, pattern, "u4")
        yield _aggregate(f"{word} {combination} of {name}", word, combination, identity, bits, (count,), 0)
    for (name, combination, identity, pattern), axis, word in product(cases, (0, 1), ("reduce", "scan")):
        bits = numpy.full(32 * 64, pattern, "u4")
        yield _aggregate(
            f"{word} {combination} of {name} dim {axis}", word, combination, identity, bits, (32, 64), axis
        )


def _aggregate(
    name: str, word: str, combination: str, identity: str, bits: Any, shape: tuple[int, ...], axis: int
) -> Program:
    source = tile(shape, "f32")
    kept = shape if word != "reduce" else tuple([extent for place, extent in enumerate(shape) if place != axis])
    reverse = f" reverse={'true' if 'reverse' in word else 'false'}" if word != "reduce" else ""
    body = (
        f"%r = {word.split()[0]} %x dim={axis}{reverse} identities=[{identity}] : {source} -> {tile(kept, 'f32')} "
        f"(%l: tile<f32>, %m: tile<f32>) {{\n%o = {COMBINATIONS[combination]} : tile<f32>\nyield %o : tile<f32>\n}}"
    )
    details = {"operation": f"{word.split()[0]} {combination}", "types": f"{combination} f32", "identity": identity}
    counted = "x".join(map(str, shape))
    return evaluated(
        f"edges: {name} {counted}", body, {"x": (source, bits.view("f4"))}, {"r": tile(kept, "f32")}, details
    )


# --- halves between numbers of narrow types ---


def halves() -> Iterator[Program]:
    """Conversions of every number of a narrow type, of the halves between neighbors, and of what is next to those."""
    for target, source in product(("f8E4M3FN", "f8E5M2", "f16", "bf16"), ("f16", "bf16", "f32", "f64")):
        if target == source or (target, source) in (("f16", "bf16"), ("bf16", "f16")):
            continue
        values = _halves(target, source)
        modes = (
            ("", " rounding<nearest_even>")
            if target.startswith("f8")
            else ("", " rounding<zero>", " rounding<positive_inf>")
        )
        for rounding in modes:
            text = f"ftof %a{rounding} : tile<16x{source}> -> tile<16x{target}>"
            written = kernel([source], target, f"%r = {text.replace('16x', f'{TILE}x')}", TILE)
            given: list[Any] = [(source, values), (target, numpy.zeros(values.size, dtype_of(target)))]
            details = {"unwatched": True, "operation": text, "operands": 1}
            name = f"edges: halves{rounding} {source} -> {target}"
            yield simple(name, written, given, (values.size // TILE, 1, 1), details)


def _halves(target: str, source: str) -> Any:
    dtype, wide = dtype_of(target), dtype_of(source)
    width = 8 * dtype.itemsize
    step = 1 if width == 8 else 61
    bits = numpy.arange(0, 1 << width, step).astype(f"u{dtype.itemsize}")
    with numpy.errstate(all="ignore"):
        numbers = bits.view(dtype).astype(numpy.float64)
        following = (bits + 1).astype(bits.dtype).view(dtype).astype(numpy.float64)
        middle = (numbers + following) / 2
        # What would follow the largest number, and the middle before it.
        most = numpy.nanmax(numpy.where(numpy.isinf(numbers), numpy.nan, numbers))
        beyond = most * numpy.array([1.0, 1 + 2.0**-4, 1 + 2.0**-4 + 2.0**-7, 1 + 2.0**-3, 1.25, 2.0, 1e3])
        found = numpy.concatenate([numbers, middle, beyond, -beyond]).astype(wide)
        near = found.view(f"u{wide.itemsize}")
        every = numpy.concatenate([near, near + near.dtype.type(1), near - near.dtype.type(1)])
    return numpy.resize(every, -(-every.size // TILE) * TILE).view(wide)


# --- the smallest numbers ---


def smallest() -> Iterator[Program]:
    """`flush_to_zero` where results round up to the smallest normal number, and sums, extremes and roots about there."""
    near = [0x007FFFFF, 0x00800000, 0x00800001, 0x00400000, 1, 2, 0, 0x00FFFFFF, 0x01000000, 0x01000001]
    ones = [0x3F800000 - place for place in range(12)] + [0x3F800001, 0x3F000000, 0x3EFFFFFF, 0x40000000, 0x3FFFFFFF]
    signs = (0, 0x80000000)
    first = numpy.array([a | sign for a in (*near, *ones) for sign in signs], "u4")
    second = numpy.array([b | sign for b in near for sign in signs], "u4")
    a, b = (side.reshape(-1) for side in numpy.meshgrid(first, second, indexing="ij"))
    size = -(-a.size // TILE) * TILE
    a, b = numpy.resize(a, size), numpy.resize(b, size)
    zero = numpy.resize(numpy.array([0, 0x80000000, 1, 0x80000001, 0x00800000, 0x80800000], "u4"), size)
    modes = ("nearest_even", "zero", "negative_inf", "positive_inf")
    for mnemonic, mode, flush in product(("addf", "subf", "mulf", "divf", "fma"), modes, ("", " flush_to_zero")):
        operands = "%a, %b, %c" if mnemonic == "fma" else "%a, %b"
        yield _smallest(f"{mnemonic} {operands} rounding<{mode}>{flush}", [a, b, zero][: operands.count("%")])
    for mnemonic, more in product(("maxf", "minf"), ("", " flush_to_zero", " flush_to_zero propagate_nan")):
        yield _smallest(f"{mnemonic} %a, %b{more}", [a, b])
    for text in ("exp2 %a", "rsqrt %a", "sqrt %a", "sqrt %a rounding<zero>", "exp %a", "tanh %a", "log %a", "log2 %a"):
        yield _smallest(text, [a])
        if text.split()[0] in ("exp2", "rsqrt", "sqrt"):
            yield _smallest(f"{text} flush_to_zero", [a])
    for mode in ("approx", "full"):
        yield _smallest(f"divf %a, %b rounding<{mode}>", [a, b])
        yield _smallest(f"divf %a, %b rounding<{mode}> flush_to_zero", [a, b])


def _smallest(text: str, arrays: list[Any]) -> Program:
    written = kernel(["f32"] * len(arrays), "f32", f"%r = {text} : tile<{TILE}xf32>", TILE)
    given: list[Any] = [("f32", array.view("f4")) for array in arrays]
    given.append(("f32", numpy.zeros(arrays[0].size, "f4")))
    details = {"unwatched": True, "operation": text, "operands": len(arrays)}
    return simple(f"edges: {text}", written, given, (arrays[0].size // TILE, 1, 1), details)

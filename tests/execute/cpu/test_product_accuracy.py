"""What docs/reference/numerics.md promises of products by default: as accurate as a chain of fma, and the same for the same machine.

Sums are compared with those of doubles, whose own error does not count beside the bound, and those of doubles with exact
fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.execute.cpu.emulated_amx import emulate
from tests.execute.cpu.native import cpu_kernel
from tests.execute.cpu.product_programs import FORMS, PAIRS, Tile, product_kernel

import tileir
from tileir.execute.cpu.runtime.target import host
from tileir.execute.launching.kernel import Kernel

Array = numpy.ndarray[Any, Any]
Matrices = tuple[Array, Array, Array]
Extents = tuple[int, int, int]

TILES: list[Tile] = [(32, 32, 64), (16, 64, 32), (4, 8, 16)]
"""Two that fill the tiles of matrix units, whose k is 32 numbers of two bytes, and one that does not."""

HERE = host("native")
NARROW = ("bf16", "f16", "f8E4M3FN", "f8E5M2")
"""What matrix tiles multiply."""

DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f16": numpy.float16,
    "f32": numpy.float32,
    "tf32": numpy.float32,
    "f64": numpy.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
EXPONENTS = {
    "bf16": (-133, 127), "f16": (-24, 15), "f32": (-149, 127), "tf32": (-136, 127), "f64": (-1074, 1023),
    "f8E4M3FN": (-9, 8), "f8E5M2": (-16, 15),
}  # fmt: skip
"""Those of the least and of the largest power of two."""
NORMAL = {"bf16": -126, "f16": -14, "f32": -126, "tf32": -126, "f64": -1022, "f8E4M3FN": -6, "f8E5M2": -14}
"""That of the least which is not subnormal."""


def rounded(element: str, numbers: Array) -> Array:
    """Doubles as numbers of a type."""
    with numpy.errstate(all="ignore"):
        if element == "f64":
            return numbers
        single = numbers.astype(numpy.float32)
        if element == "tf32":
            return (single.view(numpy.uint32) & numpy.uint32(0xFFFFE000)).view(numpy.float32)
        return single.astype(DTYPES[element])


def doubles(array: Array) -> Array:
    with numpy.errstate(all="ignore"):
        wide: Array = array.astype(numpy.float64)
    return wide


class Data:
    """Makes matrices of one kind after another."""

    def __init__(self, element: str, accumulator: str, extents: Extents, seed: int) -> None:
        self.element = element
        self.accumulator = accumulator
        self.m, self.n, self.k = extents
        self.rng = numpy.random.default_rng(seed)

    def made(self, a: Array, b: Array, c: Array) -> Matrices:
        return rounded(self.element, a), rounded(self.element, b), rounded(self.accumulator, c)

    def signs(self, shape: tuple[int, int]) -> Array:
        return self.rng.choice([-1.0, 1.0], shape)

    def normal(self, scale: float = 1.0) -> Matrices:
        rng = self.rng
        shapes = (self.m, self.k), (self.k, self.n), (self.m, self.n)
        return self.made(*[rng.normal(0, scale, shape) for shape in shapes])

    def integers(self) -> Matrices:
        """Every partial sum is an integer of less than 11 bits."""
        rng = self.rng
        most = 2 if self.k < 200 else 1
        a = rng.integers(-most, most + 1, (self.m, self.k)).astype(float)
        b = rng.integers(-most, most + 1, (self.k, self.n)).astype(float)
        return self.made(a, b, rng.integers(-100, 101, (self.m, self.n)).astype(float))

    def powers(self, shape: tuple[int, int], low: int, high: int) -> Array:
        return self.signs(shape) * numpy.ldexp(self.rng.uniform(1, 2, shape), self.rng.integers(low, high, shape))

    def wide(self) -> Matrices:
        """Numbers of all sizes whose sums are finite."""
        low, high = EXPONENTS[self.element]
        limit = 6 if self.accumulator == "f16" else 55 if self.accumulator == "f32" else 500
        low, high = max(low, -limit), min(high, limit)
        return self.made(
            self.powers((self.m, self.k), low, high),
            self.powers((self.k, self.n), low, high),
            self.powers((self.m, self.n), -4 if self.accumulator == "f16" else low, high),
        )

    def cancelling(self) -> Matrices:
        """Large products that come in pairs of opposite signs, and small ones beside them."""
        a, b, c = (doubles(each) for each in self.normal())
        half = self.k // 2
        high = min(EXPONENTS[self.element][1] - 2, 20)
        if self.accumulator != "f16":
            a[:, :half] *= 2.0 ** (high // 2)
            b[:half] *= 2.0 ** (high // 2)
        order = self.rng.permutation(half)
        a[:, half : 2 * half] = -a[:, order]
        b[half : 2 * half] = b[order]
        a[:, -1] = 0.125
        return self.made(a, b, c)

    def subnormal(self) -> Matrices:
        """Subnormal factors that count: rows of nothing else, and some among normal ones, times large numbers."""
        a, b, c = (doubles(each) for each in self.normal())
        low, normal = EXPONENTS[self.element][0], NORMAL[self.element]
        some = numpy.less(self.rng.random(a.shape), 0.3)
        some[::2] = True
        a = numpy.where(some, self.powers(a.shape, low, normal), numpy.ldexp(a, normal))
        large = min(-normal - 10, EXPONENTS[self.element][1] - 10)
        return self.made(a, numpy.ldexp(b, max(large, 0)), numpy.ldexp(c, -40))

    def tiny(self) -> Matrices:
        """Products and accumulators about the least normal number of f32 and below it, where the type has them."""
        low = EXPONENTS[self.element][0]
        part = max(low, -70) if self.element != "f64" else -530
        a = self.powers((self.m, self.k), part, part + 8)
        b = self.powers((self.k, self.n), part, part + 8)
        return self.made(a, b, self.powers((self.m, self.n), -30 if self.accumulator == "f16" else -140, -24))

    def special(self) -> Matrices:
        """Infinities, NaN and zeros of both signs in some places, subnormal numbers in others."""
        a, b, c = (doubles(each) for each in self.normal())
        odd = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, 2.0 ** EXPONENTS[self.element][0]])
        for array, share in ((a, 0.004), (b, 0.004), (c, 0.02)):
            where = self.rng.random(array.shape) < share
            array[where] = self.rng.choice(odd, int(where.sum()))
        return self.made(a, b, c)

    def zeros(self) -> Matrices:
        a, b, c = self.normal()
        return self.made(doubles(a), 0.0 * doubles(b), 0.0 * doubles(c))

    def kinds(self, form: str) -> dict[str, Matrices]:
        found = {
            "normal": self.normal(),
            "large": self.normal(3.0 if self.accumulator == "f16" else 16.0),
            "integers": self.integers(),
            "wide": self.wide(),
            "cancelling": self.cancelling(),
            "subnormal": self.subnormal(),
            "tiny": self.tiny(),
            "special": self.special(),
            "zeros": self.zeros(),
        }
        return {name: self.held(matrices, form) for name, matrices in found.items()}

    def held(self, matrices: Matrices, form: str) -> Matrices:
        """Numbers that stay what they are on the way to a product: conversions to eight bits saturate."""
        if form != "converted" or self.element not in ("f64", "f8E4M3FN", "f8E5M2"):
            return matrices
        with numpy.errstate(all="ignore"):
            a, b = (doubles(each.astype(numpy.float32)) for each in matrices[:2])
            if self.element != "f64":
                largest = float(ml_dtypes.finfo(DTYPES[self.element]).max)
                a, b = numpy.clip(a, -largest, largest), numpy.clip(b, -largest, largest)
        return rounded(self.element, a), rounded(self.element, b), matrices[2]


@cache
def kernel(
    element: str,
    accumulator: str,
    tile: Tile,
    form: str,
    mode: str = "default",
    engine: str = "cpu",
    machine: str | None = None,
) -> Kernel:
    module = tileir.parse(product_kernel(element, accumulator, tile, form))
    return tileir.compile(module, backend=engine, exact=mode == "exact", fast=mode == "fast", cpu=machine)


def product(compiled: Kernel, form: str, tile: Tile, matrices: Matrices, in_place: bool = False, **how: Any) -> Array:
    """What a kernel makes of matrices."""
    a, b, c = matrices
    (m, k), n = a.shape, b.shape[1]
    if form == "converted":
        with numpy.errstate(all="ignore"):
            a, b = a.astype(numpy.float32), b.astype(numpy.float32)
    if form == "transposed":
        b = b.T
    c = c.copy()
    d = c if in_place else numpy.zeros_like(c)
    grid = (-(-m // tile[0]), -(-n // tile[1]))
    compiled.launch(grid, (numpy.ascontiguousarray(a), numpy.ascontiguousarray(b), c, d, m, n, k), **how)
    return d


def cases(pairs: Sequence[tuple[str, str]]) -> list[Any]:
    """Every form of every pair; the long tests have those that only multiply what others do."""
    usual = {("bf16", "f32"): FORMS, ("f16", "f32"): ("views", "pointers"), ("f32", "f32"): ("views", "pointers")}
    return [
        pytest.param(*pair, form, marks=[] if form in usual.get(pair, ()) else [pytest.mark.long])
        for pair in pairs
        for form in FORMS
    ]


def extents_of(form: str, tile: Tile) -> Extents:
    """More than a tile of each, and no whole number of them where that is allowed."""
    m, n, k = tile
    if form == "pointers":
        return 2 * m, n, 3 * k
    return 2 * m - 3, n + 5, 3 * k - 7


def check(matrices: Matrices, result: Array, accumulator: str, tile_k: int, words: str) -> None:
    """Whether each element is as near to the exact sum as a chain of fma would be, or the right one of no number."""
    a, b, c = (doubles(each) for each in matrices)
    found = doubles(result)
    # Operations have whole tiles: what is added at an edge are terms too, zeros.
    k = -(-a.shape[1] // tile_k) * tile_k
    with numpy.errstate(all="ignore"):
        products = a[:, None, :] * b.T[None]
        wanted = products.sum(axis=2) + c
        size = numpy.abs(products).sum(axis=2) + numpy.abs(c)
        unit = 2.0**-53 if accumulator == "f64" else 2.0**-24
        bound = k * unit / (1 - k * unit) * size + (k + 1) * (2.0**-1074 if accumulator == "f64" else 2.0**-126)
        largest = 2.0**1023 if accumulator == "f64" else 2.0**127
        if accumulator == "f16":
            # Every operation rounds its sum.
            bound += k // tile_k * (2.0**-11 * (size + bound) + 2.0**-25)
            largest = 32768.0
        if accumulator == "f64":
            for i, j in numpy.ndindex(2, 2):
                _check_exactly(a[i], b[:, j], float(c[i, j]), float(found[i, j]), float(bound[i, j]), words)
            # Elsewhere a double's own error has to be allowed for.
            bound *= 2
        undefined = numpy.isnan(wanted)
        infinite = numpy.isinf(size) & ~undefined
        finite = ~undefined & ~infinite & (size < largest)
        assert numpy.isnan(found[undefined]).all(), f"{words}: a number where there is none"
        assert (found[infinite] == wanted[infinite]).all(), f"{words}: not the right infinity"
        error = numpy.abs(found - wanted)
        wrong = finite & ~(error <= bound)
        assert not wrong.any(), (
            f"{words}: {int(wrong.sum())} of {wrong.size} elements are off, one by "
            f"{(error[wrong] / bound[wrong])[0]} of what is allowed: {found[wrong][0]!r} and {wanted[wrong][0]!r}"
        )


def _check_exactly(a: Array, b: Array, c: float, found: float, bound: float, words: str) -> None:
    if not numpy.isfinite([*a, *b, c, found]).all():
        return
    total = Fraction(float(c)) + sum([Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)])
    assert abs(Fraction(float(found)) - total) <= Fraction(float(bound)) * Fraction(1001, 1000), words


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "tile", [TILES[0], *[pytest.param(tile, marks=pytest.mark.long) for tile in TILES[1:]]], ids=str
)
@pytest.mark.parametrize(("element", "accumulator", "form"), cases(PAIRS))
def test_a_product_is_as_accurate_as_a_chain(element: str, accumulator: str, form: str, tile: Tile) -> None:
    check_kinds(kernel(element, accumulator, tile, form), element, accumulator, form, tile)


def check_kinds(compiled: Kernel, element: str, accumulator: str, form: str, tile: Tile, **how: Any) -> None:
    for name, matrices in Data(element, accumulator, extents_of(form, tile), 1).kinds(form).items():
        result = product(compiled, form, tile, matrices, **how)
        check(matrices, result, accumulator, tile[2], name)
        if name == "integers":
            a, b, c = (doubles(each) for each in matrices)
            assert (doubles(result) == a @ b + c).all()


# Emulation takes its time: two of them by default.
EMULATED: list[Any] = [("bf16", "f32", "views"), ("f16", "f32", "transposed")]
EMULATED += [
    pytest.param(*case, marks=pytest.mark.long)
    for case in [tuple(getattr(each, "values", each)) for each in cases([p for p in PAIRS if p[0] in NARROW])]
    if case not in EMULATED
]


@pytest.mark.skipif(HERE.has_amx, reason="the machine has tiles of its own")
@pytest.mark.parametrize(("element", "accumulator", "form"), EMULATED)
def test_a_product_of_emulated_matrix_tiles_is_as_accurate_as_a_chain(
    element: str, accumulator: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tile = TILES[1]
    compiled = kernel(element, accumulator, tile, form, machine=emulate(monkeypatch))
    assert "plan: amx," in compiled.dump("loops")
    # There is one set of tiles.
    check_kinds(compiled, element, accumulator, form, tile, threads=1)
    for name in ("normal", "subnormal", "special"):
        data = Data(element, accumulator, extents_of(form, tile), 6)
        matrices = data.held(getattr(data, name)(), form)
        first = product(compiled, form, tile, matrices, threads=1)
        for how in ({"sanitize": True}, {"unchecked": True}, {"in_place": True}):
            assert same(product(compiled, form, tile, matrices, threads=1, **how), first), (name, how)


def same(left: Array, right: Array) -> bool:
    """The same bits, but for those of a NaN."""
    undefined = numpy.isnan(doubles(left))
    if not (undefined == numpy.isnan(doubles(right))).all():
        return False
    return left[~undefined].tobytes() == right[~undefined].tobytes()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("element", "accumulator", "form"), cases(PAIRS))
def test_a_product_is_the_same_in_every_launch(element: str, accumulator: str, form: str) -> None:
    """With any number of threads, again and again, sanitized, unchecked, and where arrays share memory."""
    tile = TILES[0]
    compiled = kernel(element, accumulator, tile, form)
    m, n, k = extents_of(form, tile)
    data = Data(element, accumulator, (3 * m, 2 * n, k) if form != "pointers" else (128, 64, 192), 2)
    for name, matrices in (
        ("normal", data.normal()),
        ("subnormal", data.subnormal()),
        ("special", data.special()),
        ("cancelling", data.cancelling()),
    ):
        first = product(compiled, form, tile, matrices, threads=1)
        for threads in (1, 2, 5):
            assert same(product(compiled, form, tile, matrices, threads=threads), first), (name, threads)
        assert same(product(compiled, form, tile, matrices, sanitize=True), first), name
        assert same(product(compiled, form, tile, matrices, unchecked=True), first), name
        assert same(product(compiled, form, tile, matrices, in_place=True), first), name


def test_arrays_that_share_memory_have_a_version_of_their_own() -> None:
    """Which is what makes `in_place` another case than the rest."""
    tile = TILES[0]
    compiled = tileir.compile(tileir.parse(product_kernel("bf16", "f32", tile, "views")), backend="cpu")
    matrices = Data("bf16", "f32", extents_of("views", tile), 3).normal()
    product(compiled, "views", tile, matrices)
    apart = set(cpu_kernel(compiled)._versions)
    product(compiled, "views", tile, matrices, in_place=True)
    assert set(cpu_kernel(compiled)._versions) - apart == {(True, False, False)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "pointers"])
@pytest.mark.parametrize(("element", "accumulator"), [("bf16", "f32"), ("f16", "f32"), ("f16", "f16"), ("f32", "f32")])
def test_an_element_is_the_same_at_an_edge_and_inside(element: str, accumulator: str, form: str) -> None:
    tile = TILES[0]
    compiled = kernel(element, accumulator, tile, form)
    m, n, k = tile[0] - 5, tile[1] - 7, 2 * tile[2]
    for seed, name in enumerate(("normal", "subnormal", "cancelling")):
        whole = getattr(Data(element, accumulator, (2 * tile[0], 2 * tile[1], k), seed), name)()
        a, b, c = (numpy.ascontiguousarray(each) for each in (whole[0][:m], whole[1][:, :n], whole[2][:m, :n]))
        inside, edge = product(compiled, form, tile, whole), product(compiled, form, tile, (a, b, c))
        # What else is in a tile may decide how it is computed: numbers that a unit would flush.
        if name != "subnormal":
            assert same(numpy.ascontiguousarray(inside[:m, :n]), edge), name
        check((a, b, c), edge, accumulator, tile[2], name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("element", "accumulator", "form"), cases(PAIRS))
def test_exact_is_the_interpreters_chain(element: str, accumulator: str, form: str) -> None:
    tile = TILES[1]
    matrices = Data(element, accumulator, extents_of(form, tile), 4).special()
    native = product(kernel(element, accumulator, tile, form, "exact"), form, tile, matrices)
    interpreted = product(kernel(element, accumulator, tile, form, "exact", "interpreter"), form, tile, matrices)
    assert same(native, interpreted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("element", "accumulator"), PAIRS)
def test_fast_products_are_those_by_default(element: str, accumulator: str) -> None:
    tile = TILES[0]
    matrices = Data(element, accumulator, extents_of("views", tile), 5).normal()
    default, fast = (
        product(kernel(element, accumulator, tile, "views", mode), "views", tile, matrices)
        for mode in ("default", "fast")
    )
    assert same(default, fast)


@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    pair=st.sampled_from([("bf16", "f32"), ("f16", "f32"), ("f16", "f16"), ("f8E4M3FN", "f32"), ("f32", "f32")]),
    form=st.sampled_from([form for form in FORMS if form != "pointers"]),
    tile=st.sampled_from([*TILES[:2], (64, 32, 32), (16, 16, 32)]),
    extents=st.tuples(st.integers(1, 80), st.integers(1, 80), st.integers(1, 160)),
    name=st.sampled_from(["normal", "wide", "cancelling", "subnormal", "tiny", "special"]),
    seed=st.integers(0, 1 << 16),
)
def test_any_product(pair: tuple[str, str], form: str, tile: Tile, extents: Extents, name: str, seed: int) -> None:
    compiled = kernel(pair[0], pair[1], tile, form)
    data = Data(pair[0], pair[1], extents, seed)
    matrices = data.held(getattr(data, name)(), form)
    result = product(compiled, form, tile, matrices)
    check(matrices, result, pair[1], tile[2], name)
    assert same(product(compiled, form, tile, matrices, sanitize=True), result)
    assert same(product(compiled, form, tile, matrices, in_place=True), result)


SCALED = """cuda_tile.module @m { entry @product(
  %a: tile<ptr<ELEMENT>>, %b: tile<ptr<ELEMENT>>, %c: tile<ptr<f32>>, %sa: tile<ptr<SCALE>>, %sb: tile<ptr<SCALE>>) {
%z = constant <i32: 0> : tile<i32>
LOADS
%r = mmaf_scaled %xa, %xb, %xc, %xsa, %xsb : tile<32x64xELEMENT>, tile<64x32xELEMENT>, tile<32x32xf32>,
  tile<32xCOUNTxSCALE>, tile<COUNTx32xSCALE>
%t = store_view_tko weak %r, %vc[%z, %z] : tile<32x32xf32>, VIEWC, tile<i32> -> token
return } }"""


def scaled_kernel(element: str, scale: str, count: int) -> str:
    text = SCALED
    loads = []
    for name, kind, rows, columns in (
        ("a", element, 32, 64), ("b", element, 64, 32), ("c", "f32", 32, 32), ("sa", scale, 32, count),
        ("sb", scale, count, 32),
    ):  # fmt: skip
        tensor = f"tensor_view<{rows}x{columns}x{kind}, strides=[{columns},1]>"
        view = f"partition_view<tile=({rows}x{columns}), {tensor}>"
        loads.append(
            f"%t{name} = make_tensor_view %{name}, shape = [{rows}, {columns}], strides = [{columns}, 1] : {tensor}\n"
            f"%v{name} = make_partition_view %t{name} : {view}\n"
            f"%x{name}, %k{name} = load_view_tko weak %v{name}[%z, %z] : {view}, tile<i32> -> "
            f"tile<{rows}x{columns}x{kind}>, token"
        )
        text = text.replace(f"VIEW{name.upper()}", view)
    text = text.replace("LOADS", "\n".join(loads)).replace("ELEMENT", element)
    return text.replace("SCALE", scale).replace("COUNT", str(count))


@pytest.mark.parametrize(
    ("element", "scale", "count"),
    [("f8E4M3FN", "f8E8M0FNU", 2), ("f8E5M2", "f8E8M0FNU", 2), ("f4E2M1FN", "f8E4M3FN", 4)],
)
def test_a_scaled_product_is_as_accurate_as_a_chain(element: str, scale: str, count: int) -> None:
    compiled = tileir.compile(tileir.parse(scaled_kernel(element, scale, count)), backend="cpu")
    for seed in range(5):
        rng = numpy.random.default_rng(seed)
        a, b, c = Data(element, "f32", (32, 32, 64), seed).normal()
        scales = [
            numpy.ldexp(1.0, rng.integers(-6, 7, shape)).astype(DTYPES[scale]) for shape in ((32, count), (count, 32))
        ]
        result = c.copy()
        compiled.launch(1, (a, b, result, *scales))
        left = doubles(a) * numpy.repeat(doubles(scales[0]), 64 // count, axis=1)
        right = doubles(b) * numpy.repeat(doubles(scales[1]), 64 // count, axis=0)
        check((left, right, c), result, "f32", 64, f"seed {seed}")

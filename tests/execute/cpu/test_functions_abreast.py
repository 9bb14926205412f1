"""Two vectors go through a function side by side, where it is one whose steps wait for each other."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")


def program(operation: str, tile: int, element: str = "f32", before: str = "") -> str:
    """Apply an operation, and others `before` it, to the elements of an array, which has any number of them."""
    tensor = f"tensor_view<?x{element}, strides=[1]>"
    view, part = f"partition_view<tile=({tile}), padding_value = zero, {tensor}>", f"tile<{tile}x{element}>"
    return f"""cuda_tile.module @m {{
      entry @k(%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %n: tile<i32>) {{
        %i, %y, %z = get_tile_block_id : tile<i32>
        %ta = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> {tensor}
        %va = make_partition_view %ta : {view}
        %tb = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> {tensor}
        %vb = make_partition_view %tb : {view}
        %x, %t1 = load_view_tko weak %va[%i] : {view}, tile<i32> -> {part}, token
        {before}
        %r = {operation} : {part}
        %t2 = store_view_tko weak %r, %vb[%i] : {part}, {view}, tile<i32> -> token
        return
      }}
    }}"""


def widest(
    operation: str,
    tile: int,
    element: str = "f32",
    cpu: str = "skylake-avx512",
    before: str = "",
    fast: bool = False,
) -> int:
    """The lanes of a nest, as those of the vectors it stores."""
    module = tileir.parse(program(operation, tile, element, before))
    text = tileir.compile(module, backend="cpu", cpu=cpu, fast=fast).dump("llvm")
    kinds = {"f32": "float", "f64": "double", "f16": "half"}
    stores = [line for line in text.splitlines() if line.startswith("  store <") and f" x {kinds[element]}>" in line]
    return max(int(line.split("<")[1].split(" ")[0]) for line in stores)


def test_functions_have_two_vectors_and_everything_else_one() -> None:
    assert widest("exp %x", 256) == 32
    assert widest("exp %x", 256, cpu="x86-64-v3") == 16
    assert widest("exp %x", 16) == 16, "there are no more elements"
    assert widest("tanh %x", 256, "f16") == 32
    assert widest("addf %x, %x", 256) == 16
    assert widest("pow %x, %x", 256) == 16
    assert widest("exp %x", 256, "f64") == 8
    assert widest("log %x", 256) == 16, "it waits for divisions"
    assert widest("log %x", 256, fast=True) == 32
    assert widest("exp %p", 256, before="%p = log %x : tile<256xf32>") == 32
    chain = "%p = sin %x : tile<256xf32>\n%q = log %p : tile<256xf32>\n"
    assert widest("exp %p", 256, before=chain.splitlines()[0]) == 32
    assert widest("exp %q", 256, before=chain) == 16, "of three functions some go side by side anyway"
    view = "partition_view<tile=(256), padding_value = zero, tensor_view<?xf32, strides=[1]>>"
    stored = f"store_view_tko weak %pNUMBER, %vb[%i] : tile<256xf32>, {view}, tile<i32> -> token"
    each = f"""%cNUMBER = constant <f32: NUMBER.5> : tile<256xf32>
        %mNUMBER = mulf %x, %cNUMBER : tile<256xf32>
        %pNUMBER = sin %mNUMBER : tile<256xf32>
        %sNUMBER = {stored}\n"""
    for count, lanes in ((3, 32), (8, 16)):
        many = "".join(each.replace("NUMBER", str(number)) for number in range(count))
        assert widest("exp %x", 256, before=many) == lanes


@settings(max_examples=20)
@given(
    operation=st.sampled_from(["exp", "exp2", "log", "sin", "tanh", "rsqrt"]),
    tile=st.sampled_from([1, 8, 16, 32, 64, 256]),
    count=st.integers(1, 700),
    element=st.sampled_from(["f32", "f16"]),
)
def test_tiles_and_edges_have_the_bits_of_the_interpreter(operation: str, tile: int, count: int, element: str) -> None:
    dtype = numpy.float32 if element == "f32" else numpy.float16
    a = numpy.random.default_rng(count).standard_normal(count).astype(dtype)
    module = tileir.parse(program(f"{operation} %x", tile, element))
    results = []
    for backend in ("cpu", "interpreter"):
        b = numpy.zeros_like(a)
        tileir.compile(module, backend=backend, exact=True).launch(-(-count // tile), (a, b, count))
        results.append(b)
    assert numpy.array_equal(results[0], results[1], equal_nan=True)


@pytest.mark.parametrize("tile", [1, 16, 64, 256])
def test_one_element_that_needs_care_among_others(tile: int) -> None:
    """A vector goes the short way or the other as a whole: wherever the one is, no result depends on it."""
    careful = [-numpy.inf, -149.5, -126.25, -125.00001, 125.5, 128.0, numpy.inf, numpy.nan]
    source = numpy.linspace(-20, 3, 1024, dtype=numpy.float32)
    source[numpy.arange(len(careful)) * 101] = careful
    results = []
    for backend in ("cpu", "interpreter"):
        kernel = tileir.compile(tileir.parse(program("exp2 %x", tile)), backend=backend)
        result = numpy.zeros_like(source)
        kernel.launch(source.size // tile, (source, result, source.size))
        results.append(result)
    assert results[0].tobytes() == results[1].tobytes()
    assert numpy.isnan(results[0][7 * 101]) and results[0][0] == 0 and results[0][5 * 101] == numpy.inf

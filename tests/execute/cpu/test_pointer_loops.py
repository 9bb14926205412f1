"""Chains of products whose tiles are loaded through pointers: the bits are those of the interpreter's exact mode, and
mistakes are found where it finds them, whatever the program's numbers make of its addresses."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execute.cpu.pointer_products import Tile, program

import tileir

pytest.importorskip("llvmlite", reason="the CPU backend needs llvmlite")

from tileir.execute.cpu.codegen import affine_tiles
from tileir.execute.cpu.ir.statements import Matmul, statements
from tileir.execute.cpu.kernel import CpuKernel, Options
from tileir.execute.cpu.matmul import k_loop

DTYPES = {"f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "f32": numpy.float32, "f64": numpy.float64}
Extents = tuple[int, int, int]


def k_loops(text: str) -> list[Matmul]:
    entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
    program = CpuKernel(entry, {}).lower(Options(False, False, False)).program
    return [each for each in statements(program.body) if isinstance(each, Matmul) and each.loop is not None]


def matrices(extents: Extents, wider: int = 0, element: str = "f32", memory: str = "") -> list[numpy.ndarray]:
    m, n, k = extents
    random = numpy.random.default_rng(extents)
    shapes = ((m, k), (k, n), (m, n))
    dtypes = [DTYPES[each] for each in (memory or element, memory or element, element)]
    return [
        random.standard_normal((rows, columns + wider)).astype(dtype)
        for (rows, columns), dtype in zip(shapes, dtypes, strict=True)
    ]


def outcome(
    text: str, backend: str, tile: Tile, extents: Extents, arrays: list[numpy.ndarray], pitches: list[int]
) -> str:
    """Launch; the error, if there is one."""
    grid = (-(-extents[0] // tile[0]), -(-extents[1] // tile[1]))
    kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
    try:
        kernel.launch(grid, (*arrays, *extents, *pitches))
    except tileir.ExecutionError as error:
        return str(error).split(" at address")[0]
    return ""


def agrees(text: str, tile: Tile, extents: Extents, wider: int = 0, element: str = "f32", memory: str = "") -> None:
    a, b, c = matrices(extents, wider, element, memory)
    results = []
    for backend in ("cpu", "interpreter"):
        d = c.copy()
        arrays = [a, b, d]
        assert not outcome(text, backend, tile, extents, arrays, [each.shape[1] for each in arrays])
        results.append(d)
    assert results[0].tobytes() == results[1].tobytes()


WAYS = [
    pytest.param(masks, carried, counts, id=f"{masks or 'whole'}-{'carried' if carried else 'computed'}-{counts}")
    for masks, carried, counts in product(("", "mnk", "k"), (False, True), ("tiles", "elements"))
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("masks", "carried", "counts"), WAYS)
def test_every_way_to_write_it_has_the_bits_of_the_interpreter(masks: str, carried: bool, counts: str) -> None:
    tile = (16, 32, 8)
    text = program(tile, masks=masks, carried=carried, counts=counts)
    assert k_loops(text)
    ragged = [(0, 0, 4), (3, 0, 0), (0, 5, 0), (7, 9, 3)] if masks else []
    for wider, more in enumerate([(0, 0, 0), *ragged]):
        m, n, k = (2 * size + rest * (name in masks) for size, rest, name in zip(tile, more, "mnk", strict=True))
        agrees(text, tile, (m, n, k), wider)


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize(("m", "n"), [(32, 64), (29, 64), (32, 61), (5, 7)])
def test_rows_and_columns_that_begin_again(m: int, n: int, carried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tile blocks whose rows and columns the remainders leave alone are k-loops; in others the loop runs."""
    tile = (16, 32, 8)
    text = program(tile, masks="k", carried=carried, wraps=True, adds=False)
    assert k_loops(text)
    for k in (8, 19):
        padded = -(-m // 16) * 16, -(-n // 32) * 32, k
        results = []
        for backend in ("cpu", "interpreter"):
            a, b, _ = matrices((m, n, k))
            c = numpy.zeros(padded[:2], numpy.float32)
            assert not outcome(text, backend, tile, (m, n, k), [a, b, c], [k, n, padded[1]])
            results.append(c)
        assert results[0].tobytes() == results[1].tobytes()
    monkeypatch.setenv("TILEIR_CACHE", "0")
    monkeypatch.setattr(k_loop, "emit_loop", lambda *_: None)
    c = numpy.zeros(padded[:2], numpy.float32)
    assert not outcome(text, "cpu", tile, (m, n, k), [a, b, c], [k, n, padded[1]])
    whole = m // 16 * 16, n // 32 * 32
    assert c[: whole[0], : whole[1]].tobytes() == results[0][: whole[0], : whole[1]].tobytes()
    assert not c[whole[0] :].any() and not c[:, whole[1] :].any()


def test_masks_may_compare_unsigned_numbers() -> None:
    """A negative limit is a large number then, and leaves nothing out: that is for the loop as it is."""
    tile = (16, 32, 8)
    text = program(tile, masks="mn", adds=False).replace(", signed", ", unsigned")
    assert k_loops(text)
    agrees(text, tile, (25, 50, 16), 1)
    a, b, c = matrices((16, 32, 16))
    results = [c.copy() for _ in range(2)]
    for backend, d in zip(("cpu", "interpreter"), results, strict=True):
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        kernel.launch(1, (a, b, d, -1, -1, 16, 16, 32, 32))
    assert results[0].tobytes() == results[1].tobytes() != c.tobytes()


CONVERSIONS = [("f16", "f16"), ("bf16", "bf16"), ("f32", "tf32"), ("f16", "f32"), ("f32", "f16"), ("f32", "bf16")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("masks", ["", "k", "mnk"])
@pytest.mark.parametrize(("memory", "factors"), CONVERSIONS)
def test_operands_that_are_converted(memory: str, factors: str, masks: str, carried: bool) -> None:
    tile = (16, 32, 8)
    text = program(tile, masks=masks, carried=carried, memory=memory, factors=factors)
    assert k_loops(text)
    for rest in (0, 3):
        m, n, k = (3 * size + rest * (name in masks) for size, name in zip(tile, "mnk", strict=True))
        agrees(text, tile, (m, n, k), rest, memory=memory)


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("masks", ["", "k", "mnk"])
def test_the_loop_is_not_needed(masks: str, carried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the loop behind it the k-loop still does everything: so it is what runs."""
    monkeypatch.setenv("TILEIR_CACHE", "0")
    monkeypatch.setattr(k_loop, "emit_loop", lambda *_: None)
    tile = (16, 32, 8)
    text = program(tile, masks=masks, carried=carried)
    m, n, k = (2 * size + 3 * (name in masks) for size, name in zip(tile, "mnk", strict=True))
    agrees(text, tile, (m, n, k))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(
    "tile", [(32, 32, 32), (8, 64, 4), (4, 16, 2), (64, 16, 16), (1, 128, 8), (128, 1, 8)], ids=str
)
def test_tiles_of_every_kind(tile: Tile, element: str) -> None:
    text = program(tile, element, "mnk", adds=False)
    assert k_loops(text) or 1 in tile
    m, n, k = tile
    for extents in [tile, (2 * m, n, 5 * k), (m + 1, 2 * n, 3 * k + 1), (2 * m, n + 3, 2 * k - 1), (1, 1, 1)]:
        agrees(text, tile, extents, element=element)


def test_more_terms_than_are_taken_at_once() -> None:
    tile = (16, 16, 8)
    for masks, extents in (("", (16, 16, 4096)), ("mnk", (19, 17, 2053)), ("k", (16, 32, 2049))):
        agrees(program(tile, masks=masks), tile, extents)


def test_no_turn_at_all_leaves_the_sum_as_it_is() -> None:
    tile = (16, 32, 8)
    for masks, adds in product(("", "mnk"), (False, True)):
        text = program(tile, masks=masks, adds=adds)
        a, b, c = matrices((16, 32, 8))
        found = c.copy()
        assert not outcome(text, "cpu", tile, (16, 32, 0), [a, b, found], [8, 32, 32])
        assert (found == (c if adds else 0)).all()


@pytest.mark.parametrize("padding", ["1.0", "-0.0"])
def test_other_padding_than_zero_is_no_chain(padding: str) -> None:
    tile = (16, 32, 8)
    text = program(tile, masks="mnk", padding=padding)
    assert not k_loops(text)
    agrees(text, tile, (19, 35, 11))


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("short", range(3))
def test_what_lies_outside_is_found_where_the_program_reads_it(short: int, carried: bool) -> None:
    """One of the arrays ends a row too soon."""
    tile, extents = (16, 32, 8), (32, 64, 24)
    for masks in ("", "mnk"):
        text = program(tile, masks=masks, carried=carried)
        assert k_loops(text)
        said = []
        for backend in ("cpu", "interpreter"):
            arrays = matrices(extents)
            pitches = [each.shape[1] for each in arrays]
            arrays[short] = arrays[short][:-1].copy()
            said.append(outcome(text, backend, tile, extents, arrays, pitches))
        assert said[0] and said[0] == said[1]


def test_masks_keep_reads_inside() -> None:
    """The last elements are the last ones of their memory: what masks leave out lies in no array."""
    tile = (16, 32, 8)
    text = program(tile, masks="mnk")
    for extents in [(1, 1, 1), (17, 33, 9), (31, 63, 23), (2, 65, 4)]:
        agrees(text, tile, extents)


def test_masks_that_end_at_different_places() -> None:
    """A is masked to the extent of k and B is not: zeros are multiplied with what is there."""
    tile = (16, 32, 8)
    text = program(tile, masks="k")
    lines = text.split("\n")
    loads = [number for number, line in enumerate(lines) if "load_ptr_tko" in line and "tile<8x32xptr" in line]
    number = loads[-1]
    name, pointers = lines[number].split(",")[0], lines[number].split("weak ")[1].split(",")[0]
    lines[number] = f"{name}, {name}.t = load_ptr_tko weak {pointers} : tile<8x32xptr<f32>> -> tile<8x32xf32>, token"
    text = "\n".join(lines)
    assert k_loops(text)
    for k in (9, 12, 20):
        a, b, c = matrices((16, 32, k))
        b = numpy.concatenate([b, numpy.full((8, 32), numpy.inf, numpy.float32)])
        results = []
        for backend in ("cpu", "interpreter"):
            d = c.copy()
            assert not outcome(text, backend, tile, (16, 32, k), [a, b, d], [k, 32, 32])
            results.append(d)
        assert numpy.isnan(results[1]).all()
        assert numpy.isnan(results[0]).all()


@settings(max_examples=20, deadline=None)
@given(
    masks=st.sampled_from(["", "k", "mn", "mnk"]),
    carried=st.booleans(),
    extents=st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(1, 50)),
    pitches=st.tuples(*[st.sampled_from(["rows", "wide", "none", "back", "wraps"])] * 2),
)
def test_all_pitches_give_what_the_interpreter_does(
    masks: str, carried: bool, extents: Extents, pitches: tuple[str, str]
) -> None:
    """Rows side by side, apart, all the same, backwards, and so far apart that products of 32 bits wrap."""
    tile = (16, 32, 8)
    m, n, k = (
        extent if name in masks else -(-extent // size) * size
        for extent, name, size in zip(extents, "mnk", tile, strict=True)
    )
    text = program(tile, masks=masks, carried=carried)
    a, b, c = matrices((m, n, k), 2)
    far = [
        {"rows": width, "wide": width + 2, "none": 0, "back": -1, "wraps": (1 << 31) + width}[pitch]
        for pitch, width in zip(pitches, (k, n), strict=True)
    ]
    far = [number - (1 << 32) if number >= 1 << 31 else number for number in far]
    results, said = [], []
    for backend in ("cpu", "interpreter"):
        d = c.copy()
        said.append(outcome(text, backend, tile, (m, n, k), [a, b, d], [*far, c.shape[1]]))
        results.append(d.tobytes())
    # Where both operands are outside, either may be found first.
    assert bool(said[0]) == bool(said[1])
    if not said[0]:
        assert results[0] == results[1]


def test_columns_that_are_apart() -> None:
    """The columns of B are as far apart as a scalar says: with one it is a chain, else not."""
    tile = (16, 32, 8)
    text = program(tile, before="%apart = addi %z, %two : tile<i32>", columns="%apart").replace(
        "%apart = addi", "%two = constant <i32: 2> : tile<i32>\n%apart = addi"
    )
    assert k_loops(text)
    a, b, c = matrices((32, 32, 24))
    wide = numpy.zeros((24, 64), numpy.float32)
    wide[:, ::2] = b
    results = []
    for backend in ("cpu", "interpreter"):
        d = c.copy()
        assert not outcome(text, backend, tile, (32, 32, 24), [a, wide, d], [24, 64, 32])
        results.append(d)
    assert results[0].tobytes() == results[1].tobytes()


def test_arrays_that_share_memory() -> None:
    """C lies behind A in the same array, or is B itself, which the tile blocks then change for each other."""
    tile = (16, 32, 8)
    text = program(tile)
    a, b, _ = matrices((16, 32, 8))
    results = []
    for backend in ("cpu", "interpreter"):
        memory = numpy.concatenate([a.reshape(-1), b.reshape(-1), numpy.ones(16 * 32, numpy.float32)])
        left, right = memory[: a.size], memory[a.size : a.size + b.size]
        assert not outcome(text, backend, tile, (16, 32, 8), [left, right, memory[a.size + b.size :]], [8, 32, 32])
        # C over A and B.
        assert not outcome(text, backend, tile, (16, 32, 8), [left, right, memory], [8, 32, 32])
        results.append(memory.tobytes())
    assert results[0] == results[1]


def test_a_store_that_leaves_its_array_is_seen_by_the_next_product() -> None:
    """The rows of C go backwards, out of C and into B, which lies before it: what was packed of B is packed again."""
    tile = (16, 32, 8)
    text = program(tile)
    assert k_loops(text)
    a, _, _ = matrices((32, 32, 8))
    results = []
    for backend in ("cpu", "interpreter"):
        memory = numpy.random.default_rng(0).standard_normal(2048).astype(numpy.float32)
        before = memory.copy()
        kernel = tileir.compile(tileir.parse(text), backend=backend, exact=True)
        threads = 1 if backend == "cpu" else None
        kernel.launch((2, 1), (a, memory[:1024], memory[1024:], 32, 32, 8, 8, 128, -32), threads=threads)
        results.append(memory)
        assert (memory[640:672] != before[640:672]).any()
    assert results[0].tobytes() == results[1].tobytes()


def test_pointers_that_are_used_behind_the_loop() -> None:
    tile = (16, 32, 8)
    text = program(tile, carried=True).replace(
        "%stored =",
        "%tail, %tail.t = load_ptr_tko weak %qa : tile<16x8xptr<f32>> -> tile<16x8xf32>, token\n"
        "%seen = offset %qa, %none : tile<16x8xptr<f32>>, tile<16x8xi32> -> tile<16x8xptr<f32>>\n"
        "%wrote = store_ptr_tko weak %seen, %half : tile<16x8xptr<f32>>, tile<16x8xf32> -> token\n"
        "%stored =",
    )
    text = text.replace(
        "%zero = constant",
        "%none = constant <i32: 0> : tile<16x8xi32>\n%half = constant <f32: 0.5> : tile<16x8xf32>\n%zero = constant",
    )
    results = []
    for backend in ("cpu", "interpreter"):
        a, b, c = matrices((16, 32, 24), 8)
        assert not outcome(text, backend, tile, (16, 32, 24), [a, b, c], [32, 40, 40])
        results.append(a.tobytes() + c.tobytes())
    assert results[0] == results[1]


def test_a_result_that_is_stored_through_a_view() -> None:
    """The chain writes it there itself, and the nest does so where the loop runs."""
    tile = (16, 32, 8)
    view = "partition_view<tile=(16x32), tensor_view<?x?xf32, strides=[?,1]>>"
    for masks in ("", "mnk"):
        text = program(tile, masks=masks, adds=False)
        start = text.index("%stored = ")
        text = f"""{text[:start]}%t = make_tensor_view %c, shape = [%m, %n], strides = [%pitch.c, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
          %view = make_partition_view %t : {view}
          %stored = store_view_tko weak %sum, %view[%x, %y] : tile<16x32xf32>, {view}, tile<i32> -> token
          return }} }}"""
        entry = next(operation for operation in tileir.parse(text).walk() if operation.name == "cuda_tile.entry")
        assert CpuKernel(entry, {}).lower(Options()).program.store_targets
        agrees(text, tile, (32, 64, 24))
        _, b, c = matrices((32, 64, 24))
        both = numpy.concatenate([b.reshape(-1)[:384], b.reshape(-1)])
        results = []
        for backend in ("cpu", "interpreter"):
            d = c.copy()
            # The second half of A lies in the array of B.
            assert not outcome(text, backend, tile, (32, 64, 24), [both[:384], both[384:], d], [24, 64, 64])
            results.append(d.tobytes())
        assert results[0] == results[1]


def test_numbers_that_turn_negative_are_not_counted_up() -> None:
    """The second half of as many numbers as eight bits have is negative where it is extended with its sign."""
    tile, extents = (4, 16, 256), (4, 16, 512)
    head, body = program(tile).split("for %i", 1)
    line = next(line for line in body.split("\n") if line.endswith("= iota : tile<256xi32>"))
    name = line.split(" =")[0]
    counted = f"%bytes = iota : tile<256xi8>\n{name} = exti %bytes signed : tile<256xi8> -> tile<256xi32>"
    text = f"{head}for %i{body.replace(line, counted)}"
    said = [
        outcome(text, backend, tile, extents, matrices(extents), [512, 16, 16]) for backend in ("cpu", "interpreter")
    ]
    # Both operands are outside: either may be found first.
    assert said[0] and said[1]


def test_a_number_that_is_doubled_again_and_again_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tile = (16, 32, 8)
    text = program(tile)
    line = next(line for line in text.split("\n") if line.endswith("= muli %i, %size.k : tile<i32>"))
    name = line.split(" =")[0]
    doubled = "\n".join(f"%d{n + 1} = addi %d{n}, %d{n} : tile<i32>" for n in range(14))
    far = "%far = muli %i, %size.k : tile<i32>\n%d0 = subi %i, %i : tile<i32>"
    text = text.replace(line, f"{far}\n{doubled}\n{name} = addi %far, %d14 : tile<i32>")
    reads: list[object] = []
    read = affine_tiles.AffineReader._read_scalar

    def counted(reader: affine_tiles.AffineReader, value: tileir.Value, depth: int) -> affine_tiles.Affine | None:
        reads.append(value)
        return read(reader, value, depth)

    monkeypatch.setattr(affine_tiles.AffineReader, "_read_scalar", counted)
    assert k_loops(text)
    assert len(reads) < 300
    agrees(text, tile, (32, 64, 24))


def test_what_fails_behind_the_loop_fails_behind_it() -> None:
    """A window that is not there, between the loop and the store: the loop's own mistake comes first."""
    tile = (16, 32, 8)
    view = "partition_view<tile=(16x32), tensor_view<?x?xf32, strides=[?,1]>>"
    other = "partition_view<tile=(32), tensor_view<?xf32, strides=[1]>>"
    text = program(tile, adds=False).replace("%m: tile<i32>", "%d: tile<ptr<f32>>, %m: tile<i32>", 1)
    start = text.index("%stored = ")
    text = f"""{text[:start]}%numbers = iota : tile<512xi32>
      %part = extract %numbers[%m] : tile<512xi32> -> tile<32xi32>
      %t = make_tensor_view %c, shape = [%m, %n], strides = [%pitch.c, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
      %view = make_partition_view %t : {view}
      %stored = store_view_tko weak %sum, %view[%x, %y] : tile<16x32xf32>, {view}, tile<i32> -> token
      %floats = itof %part signed : tile<32xi32> -> tile<32xf32>
      %t2 = make_tensor_view %d, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
      %other = make_partition_view %t2 : {other}
      %stored.2 = store_view_tko weak %floats, %other[%x] : tile<32xf32>, {other}, tile<i32> -> token
      return }} }}"""
    for short in (0, 1):
        said, results = [], []
        for backend in ("cpu", "interpreter"):
            a, b, c = matrices((16, 32, 24))
            left = a.reshape(-1)[: a.size - short].copy()
            said.append(outcome(text, backend, tile, (16, 32, 24), [left, b, c, b[0].copy()], [24, 32, 32]))
            results.append(c.tobytes())
        assert said[0] == said[1] and ("extract" in said[0]) == (not short)
        assert results[0] == results[1]

"""Stores that pass the caches by, and prefetching: which there are, and that no result changes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from tests.execute.cpu.both_engines import both_engines
from tests.execute.cpu.native import cpu_kernel

import tileir
from tileir.execute.cpu.codegen import nontemporal, statements
from tileir.execute.cpu.ir.memory_hints import STREAMED_BYTES
from tileir.execute.cpu.kernel import CpuKernel
from tileir.execute.cpu.runtime import target
from tileir.execute.cpu.runtime.launch_record import CACHED
from tileir.execute.cpu.runtime.target import host

MACHINES = ["x86-64", "x86-64-v3", "x86-64-v4"]
STREAM = "!nontemporal"
RUNNABLE = [name for name in MACHINES if host(name).runnable]

on_x86 = pytest.mark.skipif(not host("native").is_x86, reason="stores stream on x86 only")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


@pytest.fixture
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little a launch writes."""
    monkeypatch.setattr(nontemporal, "STREAMED_BYTES", 1)
    monkeypatch.setattr(target, "cached_bytes", lambda threads: 0)


@pytest.fixture
def _only_streams(_always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles that do not stream are not stored at all, unless they are over an edge."""
    emit_both = nontemporal.emit_row_parts

    def emit_one(emission: Any, sink: Any, lanes: int, emit: Any) -> None:
        emit_both(emission, sink, lanes, lambda stretch: emit(stretch) if stretch is not None else None)

    monkeypatch.setattr(statements.nontemporal, "emit_row_parts", emit_one)


def doubled(
    tile: str = "2048",
    strides: str = "1",
    element: str = "f32",
    body: str = "",
    target: str = "q",
    index: str = "%x",
    shape: str = "%n",
) -> str:
    """A kernel that stores twice the tile it loads; `%n` is the length, `%r` the row stride."""
    add = "addi" if element.startswith("i") else "addf"
    known = [["?" if part.startswith("%") else part for part in parts.split(", ")] for parts in (shape, strides)]
    tensor = f"tensor_view<{'x'.join(known[0])}x{element}, strides=[{','.join(known[1])}]>"
    view = f"partition_view<tile=({tile}), {tensor}>"
    part = f"tile<{tile}x{element}>"
    views = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [{shape}], strides = [{strides}] : tile<i32> -> {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {view}\n"
        for x in "pq"
    )
    pointers = ", ".join([f"%{x}: tile<ptr<{element}>>" for x in "pq"])
    return f"""cuda_tile.module @m {{ entry @k({pointers}, %n: tile<i32>, %r: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      {views}
      %a, %ka = load_view_tko weak %vp[{index}] : {view}, tile<i32> -> {part}, token
      %b = {add} %a, %a : {part}
      {body.replace("VIEW", view).replace("PART", part)}
      %s = store_view_tko weak %b, %v{target}[{index}] : {part}, {view}, tile<i32> -> token
      return }} }}"""


ROWS = {"tile": "4x2048", "shape": "%n, 2048", "strides": "%r, 1", "index": "%x, %zero"}
SHORT_ROWS = {"tile": "16x64", "shape": "%n, 64", "strides": "%r, 1", "index": "%x, %zero"}
COLUMNS = {"tile": "64x64", "shape": "64, %n", "strides": "1, %r", "index": "%zero, %x"}


def native(text: str, machine: str = "x86-64-v3") -> CpuKernel:
    return cpu_kernel(tileir.compile(tileir.parse(text), backend="cpu", cpu=machine))


def shifted(count: int, dtype: str, offset: int) -> tuple[Any, Any]:
    """Memory of zeros, and an array in it that begins so many bytes after a multiple of 64, with room on both sides."""
    size = numpy.dtype(dtype).itemsize
    memory = numpy.zeros(count * size + 320, numpy.uint8)
    start = -memory.ctypes.data % 64 + 64 + offset
    return memory, memory[start : start + count * size].view(dtype)


def filled(array: Any) -> Any:
    array[...] = numpy.random.default_rng(3).integers(-50, 50, array.shape)
    return array


# --- which stores stream ---


@pytest.mark.parametrize("machine", MACHINES)
def test_a_large_store_streams_and_is_waited_for(machine: str) -> None:
    text = native(doubled(), machine).dump("asm").partition("\nworker:")[2]
    assert "movntps" in text
    # Ways out may share a return.
    assert text.count("sfence") >= text.count("ret") > 0


def test_what_is_read_for_a_store_that_streams_is_fetched_along_long_rows() -> None:
    assert "prefetcht0" in native(doubled()).dump("asm")
    assert "prefetcht0" in native(doubled(**ROWS)).dump("asm")
    assert "prefetch" not in native(doubled(**SHORT_ROWS)).dump("asm")
    assert "prefetch" not in native(doubled(target="p")).dump("asm")


def test_every_way_out_of_the_worker_waits() -> None:
    loop = """%end = constant <i32: 5> : tile<i32>
      for %i in (%zero to %end, step %r) : tile<i32> { continue }"""
    worker = native(doubled(body=loop)).dump("llvm").partition("define i64 @worker")[2]
    lines = worker.partition("\n}")[0].splitlines()
    returns = [number for number, line in enumerate(lines) if line.startswith("  ret ")]
    assert len(returns) > 1
    assert all("@llvm.x86.sse.sfence" in lines[number - 1] for number in returns)


def test_a_launch_has_to_write_much() -> None:
    text = native(doubled()).dump("llvm")
    worker = text.partition("define i64 @worker")[2]
    (line,) = [line for line in worker.splitlines() if "icmp uge i64" in line]
    assert line.endswith(f", {STREAMED_BYTES // (2048 * 4)}")


def test_a_launch_has_to_move_more_than_the_caches_hold() -> None:
    lines = native(doubled()).dump("llvm").partition("define i64 @worker")[2].splitlines()
    (line,) = [line for line in lines if line.endswith(f"%record{CACHED}")]
    name, _, comparison = line.partition(" = ")
    assert comparison.startswith("icmp ugt i64 ")
    moved = comparison.removeprefix("icmp ugt i64 ").partition(",")[0]
    # A tile is read and one is written.
    (product,) = [line for line in lines if line.startswith(f"  {moved} = ")]
    assert product.startswith(f"  {moved} = mul i64 ")
    assert product.endswith(f", {2 * 2048 * 4}")
    assert any(name.strip() in line for line in lines if " = and i1 " in line)


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("cached", [0, 1 << 60])
def test_what_the_caches_hold_does_not_change_results(cached: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "cached_bytes", lambda threads: cached)
    source, result = filled(numpy.empty(100_000, "f4")), numpy.zeros(100_000, "f4")
    kernel = tileir.compile(tileir.parse(doubled()), backend="cpu")
    for _ in range(3):
        kernel.launch(-(-100_000 // 2048), (source, result, 100_000, 1), threads=2)
        numpy.testing.assert_array_equal(result, source + source)
        result[:] = 0


ATOMIC = """%one = constant <i32: 1> : tile<i32>
  %where = ptr_to_ptr %q : tile<ptr<f32>> -> tile<ptr<i32>>
  %old, %k = atomic_rmw_tko relaxed device %where, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""
READ_AGAIN = """%again, %kb = load_view_tko weak %vq[%x] : VIEW, tile<i32> -> PART, token
  %c = addf %b, %again : PART
  %s0 = store_view_tko weak %c, %vq[%x] : PART, VIEW, tile<i32> -> token"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(doubled(target="p"), id="in place"),
        pytest.param(doubled(body=READ_AGAIN), id="read by the same kernel"),
        pytest.param(doubled(body=ATOMIC), id="atomics"),
        pytest.param(doubled(tile="128"), id="small tiles"),
        pytest.param(doubled(**{**SHORT_ROWS, "tile": "64x16"}), id="very short rows"),
        pytest.param(doubled(strides="2"), id="elements with gaps"),
        pytest.param(doubled(strides="%r"), id="elements with gaps perhaps"),
        pytest.param(doubled(**COLUMNS), id="columns"),
        pytest.param(doubled(element="i8"), id="vectors of 8 bytes"),
    ],
)
def test_other_stores_do_not(text: str) -> None:
    found = native(text).dump("llvm")
    assert STREAM not in found
    assert "sfence" not in found


def test_stores_in_loops_and_branches_do_not() -> None:
    for head in ("for %i in (%zero to %n, step %r) : tile<i32> {", "if %go {"):
        body = f"""%go = cmpi equal %n, %r, signed : tile<i32> -> tile<i1>
          {head}
            %s0 = store_view_tko weak %b, %vq[%x] : PART, VIEW, tile<i32> -> token
            {"continue" if "for" in head else "yield"} }}"""
        text = doubled(body=body)
        inner = text[: text.rindex("%s = store_view_tko")] + "return } }"
        assert STREAM in native(text).dump("llvm")
        assert STREAM not in native(inner).dump("llvm")


def test_versions_that_assume_nothing_or_look_for_mistakes_do_not() -> None:
    kernel = native(doubled())
    assert STREAM not in kernel.dump("llvm", overlapping=True)
    assert STREAM not in kernel.dump("llvm", sanitize=True)


def test_other_architectures_do_not() -> None:
    text = native(doubled(), "neoverse-v1").dump("llvm")
    assert STREAM not in text
    assert "sfence" not in text


def test_only_some_nests_of_a_kernel_stream() -> None:
    view = "partition_view<tile=(2048), tensor_view<?xf32, strides=[1]>>"
    stores = "".join(
        f"%i{n} = constant <i32: {n}> : tile<i32>\n"
        f"%s{n} = store_view_tko weak %b, %vq[%i{n}] : tile<2048xf32>, {view}, tile<i32> -> token\n"
        for n in range(20)
    )
    assert native(doubled(body=stores)).dump("llvm").count(STREAM) == 4


# --- results ---


@on_x86
@pytest.mark.usefixtures("_only_streams")
@pytest.mark.parametrize(
    ("machine", "element", "dtype"),
    [
        *[(machine, *kind) for machine in RUNNABLE for kind in (("f32", "f4"), ("f64", "f8"), ("i32", "i4"))],
        # Elements of two bytes are taken in vectors of half the size.
        *[(machine, "f16", "f2") for machine in RUNNABLE if machine != "x86-64"],
    ],
)
def test_rows_stream_wherever_they_begin(machine: str, element: str, dtype: str) -> None:
    kernel = tileir.compile(tileir.parse(doubled(element=element)), backend="cpu", cpu=machine)
    for offset in {0, numpy.dtype(dtype).itemsize, 16, 24, 40, 56}:
        count = 3 * 2048 + 5
        source = filled(shifted(count, dtype, 0)[1])
        memory, result = shifted(count, dtype, offset)
        kernel.launch(4, (source, result, count, 1), threads=2)
        numpy.testing.assert_array_equal(result, source + source)
        result[...] = 0
        assert not memory.any()


@on_x86
@pytest.mark.usefixtures("_only_streams")
@pytest.mark.parametrize(("stride", "streams"), [(2048, True), (2064, True), (2052, False)])
def test_rows_stream_if_they_begin_alike(stride: int, streams: bool) -> None:
    kernel = tileir.compile(tileir.parse(doubled(**ROWS)), backend="cpu", cpu=RUNNABLE[-1])
    source = filled(shifted(8 * stride, "f4", 0)[1])
    memory, result = shifted(8 * stride, "f4", 20)
    kernel.launch(2, (source, result, 8, stride))
    wanted = numpy.zeros((8, stride), "f4")
    if streams:
        wanted[:, :2048] = 2 * source.reshape(8, stride)[:, :2048]
    numpy.testing.assert_array_equal(result.reshape(8, stride), wanted)
    result[...] = 0
    assert not memory.any()


@on_x86
@pytest.mark.usefixtures("_only_streams")
@pytest.mark.parametrize("offset", [0, 16, 32])
def test_short_rows_stream_as_whole_cache_lines(offset: int) -> None:
    kernel = tileir.compile(tileir.parse(doubled(**SHORT_ROWS)), backend="cpu", cpu=RUNNABLE[-1])
    source = filled(shifted(32 * 64, "f4", 0)[1])
    result = shifted(32 * 64, "f4", offset)[1]
    kernel.launch(2, (source, result, 32, 64))
    numpy.testing.assert_array_equal(result, 2 * source if offset == 0 else 0 * source)


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("machine", RUNNABLE)
@pytest.mark.parametrize("stride", [0, 16, 1024, 2048, 2049, 4096])
@pytest.mark.parametrize("offset", [0, 20])
def test_rows_in_any_place_agree_with_the_interpreter(
    machine: str, stride: int, offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one row covers a part of another: the last one counts."""
    monkeypatch.setenv("TILEIR_CPU", machine)
    source = filled(shifted(12 * 4096, "f4", 4)[1])
    result = shifted(12 * 4096, "f4", offset)[1]
    # Rows of the source lie elsewhere, so that those of the result differ where they meet.
    text = doubled(**ROWS).replace("strides = [%r, 1]", "strides = [%n, 1]", 1)
    with both_engines() as compared:
        kernel = tileir.compile(tileir.parse(text), backend="interpreter")
        kernel.launch(3, (source, result, 10, stride))
    assert compared.launches == 1


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("distance", [0, 1, 100, 4096])
def test_arguments_that_share_memory_agree_with_the_interpreter(distance: int) -> None:
    memory = filled(numpy.zeros(5 * 2048, "f4"))
    with both_engines() as compared:
        kernel = tileir.compile(tileir.parse(doubled()), backend="interpreter")
        kernel.launch(1, (memory[:2048], memory[distance : distance + 2048], 2048, 1))
        kernel.launch(4, (memory[:8192], memory[:8192], 8192, 1))
    assert compared.launches == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_launch_that_writes_much_is_right(threads: int) -> None:
    count = STREAMED_BYTES // 4 + 1000
    source, result = filled(numpy.empty(count, "f4")), numpy.zeros(count, "f4")
    tileir.compile(tileir.parse(doubled()), backend="cpu").launch(
        -(-count // 2048), (source, result, count, 1), threads=threads
    )
    numpy.testing.assert_array_equal(result, source + source)


# --- prefetching ---


def twice(index: str = "%x, %zero", before: str = "", reads: str = "a", tile: str = "1x1024") -> str:
    """Rows divided by their sums: read once for the sum and once more."""
    tensor = "tensor_view<?x?xf32, strides=[?,1]>"
    view = f"partition_view<tile=({tile}), {tensor}>"
    part = f"tile<{tile}xf32>"
    rows = tile.split("x")[0]
    load = f"load_view_tko weak %vp[{index}] : {view}, tile<i32> -> {part}, token"
    return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %tp = make_tensor_view %p, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {tensor}
      %tq = make_tensor_view %q, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {tensor}
      %vp = make_partition_view %tp : {view}
      %vq = make_partition_view %tq : {view}
      {before}
      %a, %ka = {load}
      %c, %kc = {load}
      %sum = reduce %a dim=1 identities=[0.0 : f32] : {part} -> tile<{rows}xf32>
        (%left: tile<f32>, %right: tile<f32>) {{
          %both = addf %left, %right : tile<f32>
          yield %both : tile<f32>
        }}
      %column = reshape %sum : tile<{rows}xf32> -> tile<{rows}x1xf32>
      %wide = broadcast %column : tile<{rows}x1xf32> -> {part}
      %r = divf {f"%{reads}, %wide" if reads else "%wide, %wide"} : {part}
      %s = store_view_tko weak %r, %vq[{index}] : {part}, {view}, tile<i32> -> token
      return }} }}"""


def fetching(text: str) -> list[str]:
    return [line for line in native(text).dump("loops").splitlines() if "prefetching" in line]


@pytest.mark.parametrize("reads", ["a", "c"])
def test_the_second_read_of_a_tile_fetches_ahead(reads: str) -> None:
    (line,) = fetching(twice(reads=reads))
    assert line.startswith("nest 1x1024")
    assert "prefetch" in native(twice(reads=reads)).dump("asm")


def test_a_tile_that_is_read_once_is_not_fetched() -> None:
    assert not fetching(twice(reads=""))
    assert not fetching(doubled())


@pytest.mark.parametrize(("turned", "streams"), [(False, True), (True, False)])
def test_tiles_that_are_turned_do_not_stream(turned: bool, streams: bool) -> None:
    view = "partition_view<tile=(64x64), tensor_view<?x?xf32, strides=[?,1]>>"
    part = "tile<64x64xf32>"
    text = f"""
    cuda_tile.module @m {{ entry @kernel(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %tp = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
      %tq = make_tensor_view %q, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
      %vp = make_partition_view %tp : {view}
      %vq = make_partition_view %tq : {view}
      %a, %t = load_view_tko weak %vp[%x, %y] : {view}, tile<i32> -> {part}, token
      %b = permute %a [1, 0] : {part} -> {part}
      %s = store_view_tko weak {"%b" if turned else "%a"}, %vq[%y, %x] : {part}, {view}, tile<i32> -> token
      return }} }}"""
    assert ("non-temporal" in native(text).dump("loops")) == streams


def looped(index: str, before: str = "", step: str = "%one", start: str = "%zero") -> str:
    """The sum of tiles that a loop goes through."""
    view = "partition_view<tile=(16x16), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>"
    return f"""
    cuda_tile.module @m {{ entry @kernel(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %none = constant <f32: 0.0> : tile<16x16xf32>
      %tp = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
      %tq = make_tensor_view %q, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
      %vp = make_partition_view %tp : {view}
      %vq = make_partition_view %tq : {view}
      %turns = divi %n, %two signed : tile<i32>
      %sum, %last = for %k in ({start} to %turns, step {step}) : tile<i32> iter_values(%acc = %none, %c = %zero)
          -> (tile<16x16xf32>, tile<i32>) {{
        {before}
        %t, %o = load_view_tko weak %vp[{index}] : {view}, tile<i32> -> tile<16x16xf32>, token
        %both = addf %acc, %t : tile<16x16xf32>
        %d = addi %c, %k : tile<i32>
        continue %both, %d : tile<16x16xf32>, tile<i32>
      }}
      %s = store_view_tko weak %sum, %vq[%x, %y] : tile<16x16xf32>, {view}, tile<i32> -> token
      return }} }}"""


@pytest.mark.parametrize(
    ("index", "options", "fetched"),
    [
        ("%k, %x", {}, True),
        ("%x, %k", {"start": "%x", "step": "%two"}, True),
        ("%i, %x", {"before": "%i = addi %k, %x : tile<i32>"}, True),
        ("%i, %k", {"before": "%i = muli %two, %k : tile<i32>"}, True),
        ("%x, %y", {}, False),
        ("%c, %x", {}, False),
        ("%k, %c", {}, False),
        ("%i, %x", {"before": "%i = muli %k, %k : tile<i32>"}, False),
        ("%k, %x", {"step": "%n"}, False),
    ],
)
def test_a_tile_in_a_loop_is_fetched_a_turn_before(index: str, options: dict[str, str], fetched: bool) -> None:
    text = looped(index, **options)
    assert bool(fetching(text)) == fetched
    assert ("prefetch" in native(text).dump("asm")) == fetched
    given = numpy.random.default_rng(0).standard_normal((40, 40)).astype("f4")
    results = []
    for backend in ("cpu", "interpreter"):
        out = numpy.zeros((40, 40), "f4")
        tileir.compile(tileir.parse(text), backend=backend).launch((3, 3), (given, out, 40))
        results.append(out.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("step", ["%n", "%c"])
def test_pointers_in_a_loop_are_fetched_a_turn_before(step: str) -> None:
    """Where every turn adds the same to them."""
    text = f"""
    cuda_tile.module @m {{ entry @kernel(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %turns = constant <i32: 4> : tile<i32>
      %none = constant <f32: 0.0> : tile<32xf32>
      %lanes = iota : tile<32xi32>
      %base = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
      %all = broadcast %base : tile<1xptr<f32>> -> tile<32xptr<f32>>
      %first = offset %all, %lanes : tile<32xptr<f32>>, tile<32xi32> -> tile<32xptr<f32>>
      %goal = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
      %goals = broadcast %goal : tile<1xptr<f32>> -> tile<32xptr<f32>>
      %last = offset %goals, %lanes : tile<32xptr<f32>>, tile<32xi32> -> tile<32xptr<f32>>
      %sum, %end, %d = for %k in (%zero to %turns, step %one) : tile<i32>
          iter_values(%acc = %none, %at = %first, %c = %zero) -> (tile<32xf32>, tile<32xptr<f32>>, tile<i32>) {{
        %t, %o = load_ptr_tko weak %at : tile<32xptr<f32>> -> tile<32xf32>, token
        %both = addf %acc, %t : tile<32xf32>
        %far = reshape {step} : tile<i32> -> tile<1xi32>
        %wide = broadcast %far : tile<1xi32> -> tile<32xi32>
        %next = offset %at, %wide : tile<32xptr<f32>>, tile<32xi32> -> tile<32xptr<f32>>
        %more = addi %c, %k : tile<i32>
        continue %both, %next, %more : tile<32xf32>, tile<32xptr<f32>>, tile<i32>
      }}
      %s = store_ptr_tko weak %last, %sum : tile<32xptr<f32>>, tile<32xf32> -> token
      return }} }}"""
    assert ("prefetch" in native(text).dump("asm")) == (step == "%n")
    given = numpy.arange(400, dtype="f4")
    results = []
    for backend in ("cpu", "interpreter"):
        out = numpy.zeros(32, "f4")
        tileir.compile(tileir.parse(text), backend=backend).launch(1, (given, out, 100))
        results.append(out.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("index", "before", "fetched"),
    [
        ("%i, %zero", "%i = addi %x, %two : tile<i32>", True),
        ("%i, %zero", "%i = muli %x, %two : tile<i32>", True),
        ("%i, %zero", "%i = assume bounded<0, ?>, %x : tile<i32>", True),
        ("%zero, %x", "", True),
        ("%y, %zero", "", False),
        ("%i, %zero", "%i = muli %x, %x : tile<i32>", False),
        ("%i, %zero", "%i = remi %x, %two signed : tile<i32>", False),
        ("%two, %zero", "", False),
    ],
)
def test_the_next_tile_has_to_be_a_fixed_distance_away(index: str, before: str, fetched: bool) -> None:
    assert len(fetching(twice(index, before))) == fetched


def test_large_tiles_are_not_fetched() -> None:
    assert fetching(twice(tile="64x1024"))
    assert not fetching(twice(tile="128x1024"))


def test_the_distance_is_that_to_the_next_tile_block() -> None:
    lines = native(twice("%i, %zero", "%i = muli %x, %two : tile<i32>")).dump("llvm").splitlines()
    chosen = next(line for line in lines if "select i1" in line and line.endswith(", i64 0"))
    steps = {line.split(" = ")[0].strip(): line.split(" = ")[1] for line in lines if " = " in line}
    distance = chosen.split("i64 ")[1].rstrip(", ")
    assert steps[distance].endswith(", 4")
    assert steps[steps[distance].split()[2].rstrip(",")].startswith("mul i64 2, ")


@pytest.mark.parametrize("machine", RUNNABLE)
@pytest.mark.parametrize(("grid", "columns"), [((5,), 1024), ((5,), 1000), ((1, 5), 1024)])
def test_fetching_ahead_changes_no_result(
    machine: str, grid: tuple[int, ...], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEIR_CPU", machine)
    source = filled(numpy.zeros((5, columns), "f4")) + 60
    with both_engines() as compared:
        kernel = tileir.compile(tileir.parse(twice()), backend="interpreter")
        kernel.launch(grid, (source, numpy.zeros_like(source), 5, columns))
    assert compared.launches == 1

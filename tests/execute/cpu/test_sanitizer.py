"""The sanitizer on the CPU backend: what it finds, it tells as the interpreter does; the process survives."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.cpu.stress import stress_program
from tests.execute.cpu.test_agreement import stress_arguments
from tests.execute.sanitizer_pairs import COVERAGE_KINDS, PAIRS, Pair
from tests.execute.step_limit import Enough, StepLimit
from tests.execute.test_random_programs import OPERATIONS, arguments_for
from tests.generators.programs import random_module
from tests.sampling import one_in

import tileir
from tileir.execute.arguments.argument_text import argument
from tileir.execute.cpu.runtime.target import host
from tileir.execute.launching.entries import entries_of
from tileir.execute.observing.observer import Observers

EXAMPLES = Path(__file__).parents[3] / "examples"
COMPILED = [pair for pair in PAIRS if pair.kind not in ("race", "unordered", *COVERAGE_KINDS)]
"""What nothing orders is the interpreter's to find."""


def texts(report: tileir.sanitizer.SanitizerReport) -> list[str]:
    """The findings that both engines make, without addresses and what is near them, which differ from run to run."""
    return [
        re.sub(r": it is .*|(?<=0x)[0-9a-f]+|\d+ bytes (before|past)|, in argument .* at \[.*", "", finding.render())
        for finding in report.findings
        if finding.kind not in ("race", "unordered")
    ]


def launch(text: str, grid: Any, values: list[Any], backend: str, **options: Any) -> tileir.sanitizer.SanitizerReport:
    """The report of a launch; `empty` names what does not count as written."""
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=options.pop("empty", ()))
    kernel = tileir.compile(tileir.parse(text, "k.mlir"), backend=backend, cpu=options.pop("cpu", None))
    kernel.launch(grid, values, observer=sanitizer, **options)
    return sanitizer.report


def both(text: str, grid: Any, specifications: str, **options: Any) -> tileir.sanitizer.SanitizerReport:
    """The report of the CPU backend, which is the interpreter's."""
    found = []
    arrays = []
    for backend in ("interpreter", "cpu"):
        words = specifications.split()
        values = [argument(word, None) for word in words]
        empty = [value for value, word in zip(values, words, strict=True) if word.startswith("empty:")]
        more = options if backend == "cpu" else {}
        found.append(launch(text, grid, values, backend, empty=empty, **more))
        arrays.append(values)
    assert texts(found[1]) == texts(found[0])
    assert found[1].grid == found[0].grid
    for one, other in zip(*arrays, strict=True):
        assert numpy.array_equal(one, other)
    return found[1]


def kernel_text(body: str, parameters: str = "%p: tile<ptr<i32>>") -> str:
    return f"cuda_tile.module @m {{\n  entry @k({parameters}) {{\n{body}\n  return\n  }}\n}}\n"


# --- the interpreter's table ---


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pair", one_in(2, COMPILED, [f"{pair.kind}: {pair.name}" for pair in COMPILED]))
def test_mistake_is_told_as_the_interpreter_does_and_its_near_twin_is_clean(pair: Pair) -> None:
    for chosen in (pair.wrong, pair.right):
        reports = []
        for backend in ("interpreter", "cpu"):
            words = pair.argument_texts(chosen)
            values = [argument(word, None) for word in words]
            empty = [value for value, word in zip(values, words, strict=True) if word.startswith("empty:")]
            reports.append(launch(pair.program(chosen), pair.grid, values, backend, empty=empty))
        assert texts(reports[1]) == texts(reports[0])
        assert bool(reports[1]) == (chosen == pair.wrong)
        for one, other in zip(reports[0].findings, reports[1].findings, strict=True):
            assert (one.kind, one.block, one.element, one.count) == (
                other.kind,
                other.block,
                other.element,
                other.count,
            )
            assert one.operation.name == other.operation.name


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64"])
def test_mistakes_are_found_by_code_for_lesser_machines(cpu: str) -> None:
    if not host().is_x86:
        pytest.skip("these are names of x86 processors")
    names = ("past the end", "a tensor view", "gather", "muli no_wrap", "divi signed i32", "assume_cond", "an alloca")
    chosen = [pair for pair in COMPILED if any(name in pair.name for name in names)]
    assert len(chosen) > 12
    for pair in chosen:
        words = pair.argument_texts(pair.wrong)
        values = [argument(word, None) for word in words]
        empty = [value for value, word in zip(values, words, strict=True) if word.startswith("empty:")]
        report = launch(pair.program(pair.wrong), pair.grid, values, "cpu", empty=empty, cpu=cpu)
        assert set(report.kinds) == {pair.kind}, pair.name


def test_sanitized_code_for_aarch64_assembles() -> None:
    for name in ("vector_add", "softmax", "histogram"):
        kernel = tileir.compile(tileir.load(EXAMPLES / f"{name}.mlir"), backend="cpu", cpu="neoverse-n1")
        assert "worker" in kernel.dump("asm", sanitize=True)


# --- what would end the process ---

POINTERS = """  %l = iota : tile<16xi64>
  %n = constant <i64: HERE> : tile<16xi64>
  %o = addi %l, %n : tile<16xi64>
  %d = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b = broadcast %d : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %q = offset %b, %o : tile<16xptr<i32>>, tile<16xi64> -> tile<16xptr<i32>>
"""
ACCESSES = {
    "load": "  %v, %t = load_ptr_tko weak %q : tile<16xptr<i32>> -> tile<16xi32>, token",
    "store": "  %t = store_ptr_tko weak %q, %c : tile<16xptr<i32>>, tile<16xi32> -> token",
    "ordered load": "  %v, %t = load_ptr_tko acquire device %q : tile<16xptr<i32>> -> tile<16xi32>, token",
    "ordered store": "  %t = store_ptr_tko release device %q, %c : tile<16xptr<i32>>, tile<16xi32> -> token",
    "atomic_rmw": "  %v, %t = atomic_rmw_tko relaxed device %q, add, %c : tile<16xptr<i32>>, tile<16xi32> -> tile<16xi32>, token",
    "atomic_cas": "  %v, %t = atomic_cas_tko relaxed device %q, %c, %c : tile<16xptr<i32>>, tile<16xi32> -> tile<16xi32>, token",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", list(ACCESSES))
@pytest.mark.parametrize("offset", [1 << 40, -(1 << 40), 1 << 60, -1, 1])
def test_wild_offsets_are_reported(name: str, offset: int) -> None:
    body = "  %c = constant <i32: 7> : tile<16xi32>\n" + POINTERS.replace("HERE", str(offset)) + ACCESSES[name]
    # What is stored is seen, what is loaded goes to the end of the array.
    if "%v" in ACCESSES[name]:
        body += """
  %m = constant <i32: 16> : tile<i32>
  %z = offset %p, %m : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %e = reshape %z : tile<ptr<i32>> -> tile<1xptr<i32>>
  %f = broadcast %e : tile<1xptr<i32>> -> tile<16xptr<i32>>
  %g = iota : tile<16xi32>
  %h = offset %f, %g : tile<16xptr<i32>>, tile<16xi32> -> tile<16xptr<i32>>
  %u = store_ptr_tko weak %h, %v token=%t : tile<16xptr<i32>>, tile<16xi32> -> token"""
        report = both(kernel_text(body), 2, "iota:i32:32", threads=1)
        expected = ["out-of-bounds"] if abs(offset) > 1 or offset < 0 else []
    else:
        report = both(kernel_text(body), 2, "iota:i32:16", threads=1)
        expected = ["out-of-bounds"]
    assert report.kinds == expected


def test_an_address_that_wraps_around_below_zero_is_before_the_array() -> None:
    # Some systems place arrays so low that this takes no more than a large offset.
    body = "  %c = constant <i32: 7> : tile<16xi32>\n" + POINTERS.replace("HERE", str(-(1 << 60))) + ACCESSES["load"]
    [finding] = both(kernel_text(body), 1, "iota:i32:32").findings
    assert f"{(1 << 62)} bytes before argument 0" in finding.render()


def test_null_and_random_addresses_are_reported() -> None:
    body = """  %a = constant <i64: [0, 8, 4096, 1152921504606846976]> : tile<4xi64>
  %q = int_to_ptr %a : tile<4xi64> -> tile<4xptr<i32>>
  %v, %t = load_ptr_tko weak %q : tile<4xptr<i32>> -> tile<4xi32>, token
  %s = store_ptr_tko weak %q, %v : tile<4xptr<i32>>, tile<4xi32> -> token"""
    report = both(kernel_text(body), 3, "zeros:i32:8")
    assert report.kinds == ["out-of-bounds", "out-of-bounds"]
    assert [finding.count for finding in report.findings] == [3, 3]


def test_bare_addresses_reach_what_memory_names_and_nothing_else() -> None:
    body = """  %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %p, %v token=%t : tile<ptr<i32>>, tile<i32> -> token"""
    array = numpy.zeros(4, numpy.int32)
    for memory, kinds in (([array], []), ([], ["out-of-bounds", "out-of-bounds"])):
        address = array.ctypes.data
        reports = [launch(kernel_text(body), 1, [address], name, memory=memory) for name in ("interpreter", "cpu")]
        assert texts(reports[0]) == texts(reports[1])
        assert reports[1].kinds == kinds


def test_masked_elements_may_point_anywhere() -> None:
    body = """  %a = constant <i64: [0, 8, 4096, 1152921504606846976]> : tile<4xi64>
  %q = int_to_ptr %a : tile<4xi64> -> tile<4xptr<i32>>
  %m = constant <i1: false> : tile<4xi1>
  %w = constant <i32: 5> : tile<4xi32>
  %v, %t = load_ptr_tko weak %q, %m, %w : tile<4xptr<i32>>, tile<4xi1>, tile<4xi32> -> tile<4xi32>, token
  %s = store_ptr_tko weak %q, %v, %m : tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> token"""
    assert not both(kernel_text(body), 3, "zeros:i32:8")


VIEW = "partition_view<tile=(4x8), padding_value = zero, tensor_view<?x?xf32, strides=[?,1]>>"
VIEWS = f"""  %x, %y, %z = get_tile_block_id : tile<i32>
  %s = make_tensor_view %p, shape = [%m, %n], strides = [%n, 1] : tile<i64> -> tensor_view<?x?xf32, strides=[?,1]>
  %w = make_partition_view %s : {VIEW}
  %v, %t = load_view_tko weak %w[%x, %y] : {VIEW}, tile<i32> -> tile<4x8xf32>, token
  %r = addf %v, %v : tile<4x8xf32>
  %u = store_view_tko weak %r, %w[%x, %y] token=%t : tile<4x8xf32>, {VIEW}, tile<i32> -> token"""
PARAMETERS = "%p: tile<ptr<f32>>, %m: tile<i64>, %n: tile<i64>"


@pytest.mark.parametrize("extents", [(9, 11), (16, 16), (1 << 40, 11), (9, 1 << 40), (1 << 50, 1 << 50)])
def test_tensors_larger_than_their_array_are_reported(extents: tuple[int, int]) -> None:
    report = both(kernel_text(VIEWS, PARAMETERS), (3, 2), f"iota:f32:99 {extents[0]} {extents[1]}", threads=1)
    assert report.kinds == ([] if extents == (9, 11) else ["out-of-bounds", "out-of-bounds"])


def test_huge_indices_of_views_are_reported() -> None:
    body = VIEWS.replace("[%x, %y]", "[%i, %j]").replace("tile<i32> ->", "tile<i64> ->")
    body = "  %i = constant <i64: 4611686018427387904> : tile<i64>\n  %j = constant <i64: -1> : tile<i64>\n" + body
    report = both(kernel_text(body, PARAMETERS), 1, "zeros:f32:99 9 11")
    assert report.kinds == ["index-space", "index-space"]


def test_gathers_and_scatters_outside_of_memory_are_reported() -> None:
    view = "gather_scatter_view<tile=(4x8), tensor_view<?x8xf32, strides=[8,1]>, sparse_dim=0>"
    body = f"""  %s = make_tensor_view %p, shape = [%m, 8], strides = [8, 1] : tile<i64> -> tensor_view<?x8xf32, strides=[8,1]>
  %w = make_gather_scatter_view %s : {view}
  %i = constant <i32: [1, 90, 0, 70000]> : tile<4xi32>
  %j = constant <i32: 0> : tile<i32>
  %v, %t = load_view_tko weak %w[%i, %j] : {view}, tile<4xi32>, tile<i32> -> tile<4x8xf32>, token
  %r = addf %v, %v : tile<4x8xf32>
  %u = store_view_tko weak %r, %w[%i, %j] token=%t : tile<4x8xf32>, {view}, tile<4xi32>, tile<i32> -> token"""
    report = both(kernel_text(body, "%p: tile<ptr<f32>>, %m: tile<i64>"), 1, "iota:f32:64 100000")
    assert [(finding.kind, finding.element) for finding in report.findings] == [("out-of-bounds", (1, 0))] * 2


# --- what was written ---


def test_stores_through_pointers_views_and_atomics_count_as_written() -> None:
    body = VIEWS.replace(
        "  %v, %t = load_view_tko",
        "  %o = constant <f32: 1.0> : tile<4x8xf32>\n"
        f"  %k = store_view_tko weak %o, %w[%x, %y] : tile<4x8xf32>, {VIEW}, tile<i32> -> token\n"
        "  %v, %t = load_view_tko",
    )
    body = body.replace("[%x, %y] : partition", "[%x, %y] token=%k : partition", 1)
    assert not both(kernel_text(body, PARAMETERS), (3, 2), "empty:f32:99 9 11", threads=1)
    assert both(kernel_text(VIEWS, PARAMETERS), (3, 2), "empty:f32:99 9 11", threads=1).kinds == ["uninitialized"]


def test_what_alloca_reserves_is_unwritten_in_every_tile_block_and_turn() -> None:
    body = """  %zero = constant <i32: 0> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  for %k in (%zero to %two, step %one) : tile<i32> {
    %a = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
    %u = store_ptr_tko weak %a, %k token=%t : tile<ptr<i32>>, tile<i32> -> token
    %w, %s = load_ptr_tko weak %a token=%u : tile<ptr<i32>> -> tile<i32>, token
    continue
  }"""
    report = both(kernel_text(body), 3, "zeros:i32:8")
    assert [(finding.kind, finding.count) for finding in report.findings] == [("uninitialized", 6)]


def test_pointer_to_memory_given_back_is_outside() -> None:
    body = """  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %l = for %k in (%zero to %one, step %one) : tile<i32> iter_values(%c = %p) -> (tile<ptr<i32>>) {
    %a = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
    continue %a : tile<ptr<i32>>
  }
  %u = store_ptr_tko weak %l, %zero : tile<ptr<i32>>, tile<i32> -> token"""
    assert both(kernel_text(body), 1, "zeros:i32:8").kinds == ["out-of-bounds"]


# --- pointers from anywhere, named memory ---


def test_tables_of_addresses_reach_what_memory_names() -> None:
    body = """  %v, %t = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
  %q = int_to_ptr %v : tile<i64> -> tile<ptr<f32>>
  %f, %s = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
  %u = store_ptr_tko weak %o, %f : tile<ptr<f32>>, tile<f32> -> token"""
    text = kernel_text(body, "%p: tile<ptr<i64>>, %o: tile<ptr<f32>>")
    hidden = numpy.array([2.5, 3.5], numpy.float32)
    table = numpy.array([hidden.ctypes.data], numpy.int64)
    for memory, kinds, value in (([hidden], [], 2.5), ([], ["out-of-bounds"], 0.0)):
        out = numpy.zeros(1, numpy.float32)
        report = launch(text, 1, [table, out], "cpu", memory=memory)
        assert report.kinds == kinds
        assert out[0] == value


# --- promises ---


def test_groups_of_none_are_elements_alone() -> None:
    body = """  %c = constant <i32: [4, 6, 8, 8]> : tile<4xi32>
  %a = assume div_by<4, every 0 along 0>, %c : tile<4xi32>"""
    assert [finding.element for finding in both(kernel_text(body), 1, "zeros:i32:1").findings] == [(1,)]


@pytest.mark.parametrize("shape", ["64x2x32", "1x128"])
def test_promises_about_large_tiles_are_looked_at_in_vectors(shape: str) -> None:
    body = f"""  %c = constant <i32: 12> : tile<{shape}xi32>
  %a = assume div_by<HERE>, %c : tile<{shape}xi32>
  %b = assume bounded<0, HERE>, %a : tile<{shape}xi32>
  %d = muli %b, %b overflow<no_wrap> : tile<{shape}xi32>"""
    assert not both(kernel_text(body.replace("<HERE>", "<4>").replace("HERE", "12")), 1, "zeros:i32:1")
    report = both(kernel_text(body.replace("<HERE>", "<8>").replace("HERE", "11")), 1, "zeros:i32:1")
    assert report.kinds == ["assume", "assume"]


# --- reports ---


def test_sanitize_raises_the_report_after_the_launch() -> None:
    body = """  %x, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token"""
    kernel = tileir.compile(tileir.parse(kernel_text(body), "k.mlir"), backend="cpu")
    array = numpy.full(6, -1, numpy.int32)
    with pytest.raises(tileir.SanitizerError) as caught:
        kernel.launch(9, (array,), sanitize=True)
    (finding,) = caught.value.report.findings
    assert (finding.kind, finding.block, finding.count) == ("out-of-bounds", (6, 0, 0), 3)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]
    kernel.launch(6, (array,), sanitize=True)


def test_failed_tile_blocks_end_and_the_others_go_on() -> None:
    body = """  %x, %y, %z = get_tile_block_id : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %ok = cmpi not_equal %x, %three, signed : tile<i32> -> tile<i1>
  assert %ok, "three is a crowd" : tile<i1>
  %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token"""
    report = both(kernel_text(body), 6, "zeros:i32:6", threads=1)
    assert [(finding.kind, finding.block) for finding in report.findings] == [("assert", (3, 0, 0))]


def test_report_is_the_same_on_any_number_of_threads() -> None:
    body = """  %x, %y, %z = get_tile_block_id : tile<i32>
  %n = constant <i32: 500> : tile<i32>
  %ok = cmpi less_than %x, %n, signed : tile<i32> -> tile<i1>
  assume_cond %ok : tile<i1>
  %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %u = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token"""
    found = [texts(launch(kernel_text(body), 4096, [numpy.zeros(3000, "i4")], "cpu", threads=n)) for n in (1, 2, 4)]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 2 and "tile block (500, 0, 0)" in found[0][0] and "seen 3596 times" in found[0][0]


def test_numbers_in_the_body_of_a_reduction_are_looked_at() -> None:
    body = """  %l = iota : tile<64xi32>
  %r = reduce %l dim=0 identities=[0 : i32] : tile<64xi32> -> tile<i32> (%a: tile<i32>, %b: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %d = divi %a, %zero signed : tile<i32>
    yield %d : tile<i32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<i32>>, tile<i32> -> token"""
    reports = [launch(kernel_text(body), 1, [numpy.zeros(8, "i4")], backend) for backend in ("interpreter", "cpu")]
    assert [set(report.kinds) for report in reports] == [{"division-by-zero"}] * 2


def test_prints_and_findings_go_together() -> None:
    body = """  %x, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %t = print_tko "block %d;", %x : tile<i32> -> token
  %u = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token"""
    lines: list[str] = []
    report = launch(kernel_text(body), 3, [numpy.zeros(2, "i4")], "cpu", output=lines.append)
    assert "".join(lines) == "block 0;block 1;block 2;"
    assert report.kinds == ["out-of-bounds"]


def test_other_observers_are_the_interpreters() -> None:
    kernel = tileir.compile(tileir.parse(kernel_text("")), backend="cpu")
    with pytest.raises(tileir.LaunchError, match="observers and schedules are the interpreter's"):
        kernel.launch(1, (numpy.zeros(1, "i4"),), observer=tileir.sanitizer.NumberWatch())


# --- programs without mistakes ---


@pytest.mark.parametrize("seed", [3, pytest.param(range(40), marks=pytest.mark.long)])
def test_random_programs_compute_the_same_with_the_sanitizer(seed: int | range) -> None:
    for number in seed if isinstance(seed, range) else [seed]:
        module = tileir.parse(stress_program(number), "k.mlir")
        results = []
        for backend in ("interpreter", "cpu"):
            values = stress_arguments(number, "apart")
            sanitizer = tileir.sanitizer.Sanitizer()
            kernel = tileir.compile(module, backend=backend, exact=True)
            # Tile blocks of these programs meet in memory: in the order of the interpreter they do the same.
            kernel.launch((2, 2), values, observer=sanitizer, threads=1)
            results.append((values, texts(sanitizer.report)))
        assert results[0][1] == results[1][1], number
        for one, other in zip(results[0][0], results[1][0], strict=True):
            # Which NaN a NaN is, is left open.
            assert numpy.array_equal(one, other, equal_nan=numpy.asarray(one).dtype.kind == "f"), number


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 200), marks=pytest.mark.long)])
def test_what_is_unwritten_is_what_it_was(seeds: range) -> None:
    told = 0
    for seed in seeds:
        values, coverage = stress_arguments(seed, "apart"), tileir.sanitizer.Coverage()
        before = [numpy.asarray(value).tobytes() for value in values]
        kernel = tileir.compile(tileir.parse(stress_program(seed)), backend="interpreter")
        kernel.launch((2, 2), values, observer=coverage)
        for found in coverage.arrays:
            number = int(found.name.split()[1])
            size = numpy.asarray(values[number]).dtype.itemsize
            now, then = (
                numpy.frombuffer(content, f"V{size}").reshape(found.shape)
                for content in (numpy.asarray(values[number]).tobytes(), before[number])
            )
            assert (now == then)[found.unwritten].all(), (seed, found.name)
            assert (now != then).sum() <= found.written
            told += found.written
    assert told


# --- programs that do anything ---


def _random_reports(seed: int) -> int:
    """Compare the reports of a random program, which goes anywhere in memory; gives how many findings there were."""
    module = random_module(Random(seed), size=25, operations=OPERATIONS, discardable=False, locations=False)
    module = tileir.parse(str(module), "k.mlir")
    found = 0
    for name, entry in entries_of(module).items():
        values, again = arguments_for(entry), arguments_for(entry)
        if values is None or again is None:
            continue
        expected, sanitizer = tileir.sanitizer.Sanitizer(), tileir.sanitizer.Sanitizer()
        try:
            kernel = tileir.compile(module, entry=name, exact=True)
            kernel.launch((2, 2), values, observer=Observers([expected, StepLimit(1500)]), output=len)
        except (Enough, tileir.TileIRError):
            continue
        compiled = tileir.compile(module, entry=name, backend="cpu", exact=True)
        compiled.launch((2, 2), again, observer=sanitizer, output=len, threads=1)
        assert texts(sanitizer.report) == texts(expected.report), (seed, name)
        found += len(sanitizer.report)
    return found


def test_programs_that_go_anywhere_are_reported_alike() -> None:
    assert sum([_random_reports(seed) for seed in range(16)]) > 10


@pytest.mark.long
@pytest.mark.parametrize("start", range(100, 400, 50))
def test_many_programs_that_go_anywhere_are_reported_alike(start: int) -> None:
    assert sum([_random_reports(seed) for seed in range(start, start + 50)]) > 50


RACY = Path(__file__).parents[3] / "examples" / "racy.mlir"


@pytest.mark.parametrize(
    ("backend", "sanitize", "finds"),
    [
        ("cpu", True, ["out-of-bounds"]),
        ("auto", True, ["out-of-bounds", "race"]),
        ("auto", "all", ["out-of-bounds", "race"]),
        ("interpreter", True, ["out-of-bounds", "race"]),
    ],
)
def test_the_engine_that_sanitizes_is_the_one_of_the_documentation(
    backend: str, sanitize: Any, finds: list[str]
) -> None:
    """Compiled code finds no races, so it is used by who names it."""
    kernel = tileir.compile(RACY, backend=backend)
    with pytest.raises(tileir.SanitizerError) as caught:
        kernel.launch(4, (numpy.ones(500, numpy.int32), numpy.zeros(1, numpy.int32), 512), sanitize=sanitize)
    assert sorted({finding.kind for finding in caught.value.report.findings} & {"out-of-bounds", "race"}) == finds


def test_compiled_code_does_not_look_for_all() -> None:
    kernel = tileir.compile(RACY, backend="cpu")
    with pytest.raises(tileir.LaunchError, match="sanitize='all' is the interpreter's"):
        kernel.launch(4, (numpy.ones(512, numpy.int32), numpy.zeros(1, numpy.int32), 512), sanitize="all")

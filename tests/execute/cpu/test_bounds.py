"""Native code stays inside the memory of its launch: an access outside is the error the interpreter raises, and nothing
beside the arrays changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.cpu.kernels import Array, whole_kernel
from tests.execute.cpu.memory_forms import (
    FORMS,
    GLOBALS,
    HEAD,
    PART,
    POINTERS,
    TAIL,
    TENSOR,
    VIEWS,
    indexed,
    pointers,
    view,
)
from tests.execute.cpu.test_kernels_agree import Memories, dtypes_of
from tests.sampling import one_in

import tileir
from tileir.execute.launching.kernel import Kernel
from tileir.ir.registry import REGISTRY
from tileir.passes.pipeline import run_passes

PATTERN = 0xA5
GUARD = 4096


class Arrays:
    """Arrays inside larger memory, which nobody may change."""

    def __init__(self, *counts: int) -> None:
        self._raw = [numpy.full(4 * count + 2 * GUARD, PATTERN, numpy.uint8) for count in counts]
        self._counts = counts

    def fresh(self) -> list[Any]:
        """The arrays, numbered from 0 on each."""
        found = []
        for raw, count in zip(self._raw, self._counts, strict=True):
            array = raw[GUARD : GUARD + 4 * count].view(numpy.int32)
            array[:] = numpy.arange(count)
            found.append(array)
        return found

    def check(self) -> None:
        for raw, count in zip(self._raw, self._counts, strict=True):
            assert (raw[:GUARD] == PATTERN).all() and (raw[GUARD + 4 * count :] == PATTERN).all()


def outcome(kernel: Kernel, arrays: Arrays, grid: Any, *scalars: Any, **options: Any) -> tuple[str, list[list[int]]]:
    """The error of a launch, or nothing; and what is in the arrays if there is none."""
    given = arrays.fresh()
    try:
        kernel.launch(grid, (*given, *scalars), **options)
    except tileir.ExecutionError as error:
        arrays.check()
        return str(error), []
    arrays.check()
    return "", [array.tolist() for array in given]


@cache
def kernels(text: str) -> tuple[Kernel, Kernel]:
    module = tileir.parse(text)
    return tileir.compile(module, backend="interpreter"), tileir.compile(module, backend="cpu")


def both(text: str, arrays: Arrays, grid: Any, *scalars: Any) -> str:
    """What both engines say of a launch, checked or not where it is right."""
    interpreted, native = kernels(text)
    wanted = outcome(interpreted, arrays, grid, *scalars)
    assert outcome(native, arrays, grid, *scalars, threads=1) == wanted
    if not wanted[0]:
        assert outcome(native, arrays, grid, *scalars, unchecked=True) == wanted
    else:
        assert outcome(native, arrays, grid, *scalars, threads=2)[0]
    return wanted[0]


# --- every way to memory ---


def test_there_is_a_form_for_every_operation_on_memory() -> None:
    declared = {each.mnemonic for each in REGISTRY.declarations() if each.reads is not None or each.writes is not None}
    # The interpreter runs those of several devices.
    several = {name for name in declared if name.startswith("multimem_")}
    assert {name.split(": ")[1] for name in FORMS} == declared - several


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FORMS)
def test_an_access_outside_is_the_interpreters_error(name: str) -> None:
    text = HEAD + FORMS[name] + TAIL
    # All inside; the last element is not; nothing of the last tile block is; nothing at all.
    assert both(text, Arrays(32, 32), 4, 32) == ""
    assert "which is in no array of the launch" in both(text, Arrays(31 if "scalar" not in name else 24, 32), 4, 32)
    assert "in tile block (3, 0, 0)" in both(text, Arrays(24, 32), 4, 32)
    assert both(text, Arrays(0, 32), 4, 32)


@pytest.mark.parametrize("name", [name for name in FORMS if "view" in name or "masked" in name])
def test_what_is_masked_or_outside_its_tensor_is_not_touched(name: str) -> None:
    text = HEAD + FORMS[name] + TAIL
    if "load" not in name:
        assert both(text, Arrays(29, 32), 4, 29) == ""
    assert both(text, Arrays(29, 32), 4, 30)
    # A view larger than its array is no mistake as long as nobody looks there.
    assert both(text, Arrays(16, 32), 2, 16 if "masked" in name else 4000) == ""


def test_the_array_where_it_ends_may_be_another() -> None:
    """Two arrays side by side: what leaves the first lies in the second, which is as good."""
    for name in FORMS:
        results = []
        for number, kernel in enumerate(kernels(HEAD + FORMS[name] + TAIL)):
            whole = numpy.arange(64, dtype=numpy.int32)
            options: dict[str, Any] = {"threads": 2} if number else {}
            other = numpy.arange(32, dtype=numpy.int32)
            kernel.launch(4, (whole[:20], other, 32), memory=(whole[20:],), **options)
            results.append((whole.tolist(), other.tolist()))
        assert results[0] == results[1], name


# --- kinds of memory ---


def test_memory_that_alloca_reserves() -> None:
    body = f"""%room = alloca num_elem = 8, alignment = 16 : tile<ptr<i32>>
    {pointers("pr", "%room")}
    %k = store_ptr_tko weak %pr, %i : {POINTERS}, {PART} -> token
    {pointers("pa", "%a", "%lane")}
    %k1 = store_ptr_tko weak %pa, %i : {POINTERS}, {PART} -> token"""
    module = tileir.parse(HEAD + body + TAIL)
    wanted, found = (
        outcome(tileir.compile(module, backend=backend), Arrays(8, 8), 2, 8)[0] for backend in ("interpreter", "cpu")
    )
    assert "what 'alloca' reserved in tile block (1, 0, 0)" in wanted
    assert [line for line in found.splitlines() if "0x" not in line] == [
        line for line in wanted.splitlines() if "0x" not in line
    ]
    assert "what 'alloca' reserved in tile block (1, 0, 0)" in found and "(element [0] of the tile)" in found


def test_memory_that_a_loop_gave_back() -> None:
    body = """%first.room = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
    %two = constant <i32: 2> : tile<i32>
    %p = for %t in (%zero to %two, step %one) : tile<i32> iter_values(%q = %first.room) -> (tile<ptr<i32>>) {
      %k = store_ptr_tko weak %q, %t : tile<ptr<i32>>, tile<i32> -> token
      %room = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
      continue %room : tile<ptr<i32>>
    }"""
    module = tileir.parse(HEAD + body + TAIL)
    for backend in ("interpreter", "cpu"):
        found = outcome(tileir.compile(module, backend=backend), Arrays(8, 8), 1, 8)[0]
        assert "store_ptr_tko" in found and "which is in no array of the launch" in found, backend


@pytest.mark.parametrize("name", ["table", "fixed"])
@pytest.mark.parametrize("through", ["pointers", "view"])
def test_globals_have_ends_and_constants_are_not_written(name: str, through: str) -> None:
    made = f"%g = get_global @{name} : tile<ptr<i32>>\n"
    if through == "pointers":
        load = f"{pointers('pg', '%g')}%r, %k = load_ptr_tko weak %pg : {POINTERS} -> {PART}, token\n"
        store = f"{pointers('pg', '%g')}%k = store_ptr_tko weak %pg, %i : {POINTERS}, {PART} -> token"
    else:
        place, types = indexed("v", "partition")
        load = f"{view('v', '%g', 'partition')}%r, %k = load_view_tko weak {place} : {types} -> {PART}, token\n"
        store = f"{view('v', '%g', 'partition')}%k = store_view_tko weak %i, {place} : {PART}, {types} -> token"
    load += pointers("pa", "%a") + f"%s = store_ptr_tko weak %pa, %r : {POINTERS}, {PART} -> token"
    for body, blocks, wanted in (
        (load, 1, ""),
        (load, 2, "in no array"),
        (store, 2, "in no array"),
        (store, 1, ""),
    ):
        if name == "fixed" and body is store:
            wanted = "writes to read-only memory: global @fixed"
        texts = []
        for backend in ("interpreter", "cpu"):
            kernel = tileir.compile(
                tileir.parse(HEAD.replace("@m {", "@m {" + GLOBALS) + made + body + TAIL), backend=backend
            )
            # On one thread, so that the first tile block that fails is the one that is reported.
            options = {"threads": 1} if backend == "cpu" else {}
            texts.append(outcome(kernel, Arrays(16, 16), blocks, 16, **options)[0])
            assert wanted in texts[-1] if wanted else not texts[-1]
        # The globals of the two are in different places.
        assert [text.split("0x")[0] for text in texts] == [texts[0].split("0x")[0]] * 2


def test_read_only_arrays_are_not_written_by_a_pointer_from_another() -> None:
    body = pointers("pa", "%a") + f"%k = store_ptr_tko weak %pa, %i : {POINTERS}, {PART} -> token\n"
    body += pointers("pb", "%b") + f"%r, %kb = load_ptr_tko weak %pb : {POINTERS} -> {PART}, token\n"
    body += f'print_tko "%i", %r : {PART} -> token'
    whole = numpy.arange(64, dtype=numpy.int32)
    rest = whole[16:].view()
    rest.flags.writeable = False
    module = tileir.parse(HEAD + body + TAIL)
    texts = []
    for backend in ("interpreter", "cpu"):
        with pytest.raises(tileir.ExecutionError) as caught:
            tileir.compile(module, backend=backend).launch(3, (whole[:16], rest, 16), output=lambda text: None)
        texts.append(str(caught.value))
    assert "writes to read-only memory: argument 1" in texts[0]
    assert texts[0] == texts[1]
    assert whole[16:].tolist() == list(range(16, 64))


def test_numbers_that_wrap_are_looked_at() -> None:
    """An index that wraps around in 32 bits, and an address that wraps around in 64."""
    for factor, fails in ((1 << 28, False), (1 << 27, True)):
        body = f"""%big = constant <i32: {factor}> : {PART}
        %far = muli %lane, %big : {PART}
        %far2 = muli %far, %sixteen : {PART}
        %near = addi %far2, %lane : {PART}
        {pointers("pa", "%a", "%near")}%k = store_ptr_tko weak %pa, %i : {POINTERS}, {PART} -> token"""
        text = HEAD + f"%sixteen = constant <i32: 16> : {PART}\n" + body + TAIL
        assert bool(both(text, Arrays(8, 8), 1, 8)) == fails
    body = f"""%huge = constant <i64: 4611686018427387904> : tile<8xi64>
    %wide = exti %lane signed : {PART} -> tile<8xi64>
    %around = muli %wide, %huge : tile<8xi64>
    %index = addi %around, %wide : tile<8xi64>
    %a1 = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
    %a8 = broadcast %a1 : tile<1xptr<i32>> -> {POINTERS}
    %pa = offset %a8, %index : {POINTERS}, tile<8xi64> -> {POINTERS}
    %k = store_ptr_tko weak %pa, %i : {POINTERS}, {PART} -> token"""
    assert both(HEAD + body + TAIL, Arrays(8, 8), 1, 8) == ""


@pytest.mark.parametrize("extent", [1 << 40, (1 << 62) - 1, (1 << 63) + 5, (1 << 64) - 1])
def test_extents_and_strides_beyond_all_memory(extent: int) -> None:
    tensor = "tensor_view<?x?xi32, strides=[?,?]>"
    kind = f"partition_view<tile=(2x4), {tensor}>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, %n: tile<i64>, %s: tile<i64>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %c = constant <i32: 5> : tile<2x4xi32>
      %one = constant <i64: 1> : tile<i64>
      %t = make_tensor_view %a, shape = [%n, %n], strides = [%s, %one] : tile<i64> -> {tensor}
      %v = make_partition_view %t : {kind}
      %k = store_view_tko weak %c, %v[%x, %zero] : tile<2x4xi32>, {kind}, tile<i32> -> token
      return }} }}"""
    signed = extent - (1 << 64) if extent >= 1 << 63 else extent
    assert both(text, Arrays(16, 16), 2, signed, 4) == ""
    assert both(text, Arrays(15, 16), 2, signed, 4)
    # Rows may be so far apart that their addresses wrap around.
    both(text, Arrays(16, 16), 1, signed, signed)


# --- products ---


@pytest.mark.parametrize("short", [0, 1, 2])
@pytest.mark.parametrize("cut", [1, 64, 1000])
def test_operands_of_products(short: int, cut: int) -> None:
    """Read where they lie, packed, remembered: each is looked at."""
    tensor = "tensor_view<?x?xf32, strides=[?,1]>"
    kind = f"partition_view<tile=(16x16), padding_value = zero, {tensor}>"
    views = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> {tensor}\n"
        f"%v{x} = make_partition_view %t{x} : {kind}\n"
        for x in "abc"
    )
    part = "tile<16x16xf32>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {{
      %i, %j, %z = get_tile_block_id : tile<i32>
      {views}
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %rows, %count = get_index_space_shape %va : {kind} -> tile<i32>
      %empty = constant <f32: 0.0> : {part}
      %sum = for %k in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %empty) -> ({part}) {{
        %x, %tx = load_view_tko weak %va[%i, %k] : {kind}, tile<i32> -> {part}, token
        %y, %ty = load_view_tko weak %vb[%k, %j] : {kind}, tile<i32> -> {part}, token
        %r = mmaf %x, %y, %acc : {part}, {part}, {part}
        continue %r : {part}
      }}
      %s = store_view_tko weak %sum, %vc[%i, %j] : {part}, {kind}, tile<i32> -> token
      return }} }}"""
    n = 40
    arrays = [numpy.ones(n * n - (cut if number == short else 0), numpy.float32) for number in range(3)]
    module = tileir.parse(text)
    for backend in ("interpreter", "cpu"):
        with pytest.raises(tileir.ExecutionError, match=f"past the end of argument {short}"):
            tileir.compile(module, backend=backend).launch((3, 3), (*arrays, n))
    whole = [numpy.ones(n * n, numpy.float32) for _ in range(3)]
    tileir.compile(module, backend="cpu").launch((3, 3), (*whole, n))
    assert (whole[2] == n).all()


# --- random kernels with arrays that are too small ---


def check_shrunk(seed: int) -> bool:
    """Whether a random kernel with one array cut short fails on both engines; that it fails on neither or both."""
    rng = Random(seed)
    written = whole_kernel(seed)
    module = tileir.parse(written.text)
    run_passes(module, ["dce"])
    reference = tileir.compile(module, backend="interpreter", exact=True)
    native = tileir.compile(module, backend="cpu", exact=True)
    dtypes = dtypes_of(reference)
    number = rng.choice([place for place, array in enumerate(written.arguments) if isinstance(array, Array)])
    array = written.arguments[number]
    assert isinstance(array, Array)
    fewer = min(rng.choice([0, 1, 1, 7, 100, array.count // 2]), array.count - 1)
    arguments = [*written.arguments]
    arguments[number] = replace(array, count=array.count - fewer)
    small = replace(written, arguments=arguments)
    failures: list[str] = []
    memories = []
    ways: list[tuple[tileir.Kernel, dict[str, Any]]] = [
        (reference, {}),
        *((native, {"threads": n}) for n in (1, 2)),
    ]
    for kernel, options in ways:
        memory = Memories(small, dtypes, seed)
        memories.append(memory)
        try:
            kernel.launch(written.grid, memory.arguments, **options)
            failures.append("")
        except tileir.ExecutionError as error:
            failures.append(str(error))
            assert "which is in no array of the launch" in str(error)
            if (
                kernel is reference
                and not error.operation.results[0].has_uses
                and error.operation.declaration.writes is None
            ):
                # What nobody uses is not loaded in native code.
                return False
        memory.check_guards()
    assert [bool(failure) for failure in failures] == [bool(failures[0])] * 3, (seed, failures)
    if not failures[0] and not written.is_racy:
        assert not memories[0].differences(memories[1]), seed
    return bool(failures[0])


@pytest.mark.parametrize("start", one_in(2, range(0, 24, 12)))
def test_random_kernels_with_arrays_too_small(start: int) -> None:
    failures = [check_shrunk(seed) for seed in range(start, start + 12)]
    assert any(failures)


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1500, 50))
def test_many_random_kernels_with_arrays_too_small(start: int) -> None:
    failures = [check_shrunk(seed) for seed in range(start, start + 50)]
    assert any(failures)


# --- launches ---

ADD = "examples/vector_add.mlir"


def test_checks_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + FORMS["weak: store_ptr_tko"] + TAIL
    module = tileir.parse(text)

    def spoils(kernel: Kernel, **options: Any) -> bool:
        whole = numpy.zeros(64, numpy.int32)
        try:
            kernel.launch(4, (whole[:16], numpy.zeros(32, numpy.int32), 32), **options)
        except tileir.ExecutionError:
            return False
        return bool(whole[16:].any())

    assert not spoils(tileir.compile(module, backend="cpu"))
    assert spoils(tileir.compile(module, backend="cpu"), unchecked=True)
    assert spoils(tileir.compile(module, backend="cpu", unchecked=True))
    assert not spoils(tileir.compile(module, backend="cpu", unchecked=True), unchecked=False)
    monkeypatch.setenv("TILEIR_UNCHECKED", "1")
    assert spoils(tileir.compile(module, backend="cpu"))


def test_launches_that_overlap_raise_when_the_context_is_left() -> None:
    kernel = tileir.compile(tileir.parse(HEAD + FORMS["partition: store_view_tko"] + TAIL), backend="cpu")
    small, large, other = (numpy.zeros(count, numpy.int32) for count in (8, 32, 32))
    with pytest.raises(tileir.ExecutionError, match="past the end of argument 0"), tileir.kernels.overlap():
        kernel.launch(4, (large, other, 32))
        kernel.launch(4, (small, other, 32))
    assert large.tolist() == list(range(32))


def test_a_kernel_runs_again_after_a_failure() -> None:
    kernel = tileir.compile(tileir.parse(HEAD + FORMS["weak: store_ptr_tko"] + TAIL), backend="cpu")
    for _ in range(3):
        assert outcome(kernel, Arrays(8, 32), 4, 32)[0]
        assert not outcome(kernel, Arrays(32, 32), 4, 32)[0]


EXTENTS = {
    "reshaped": "%e1 = reshape %n : tile<i32> -> tile<1xi32>\n%extent = reshape %e1 : tile<1xi32> -> tile<i32>",
    "spread": """%e1 = reshape %n : tile<i32> -> tile<1xi32>
      %e2 = broadcast %e1 : tile<1xi32> -> tile<1xi32>
      %extent = reshape %e2 : tile<1xi32> -> tile<i32>""",
    "extracted": f"""%e1 = extract %limit[%zero] : {PART} -> tile<1xi32>
      %extent = reshape %e1 : tile<1xi32> -> tile<i32>""",
    "reduced": f"""%extent = reduce %limit dim=0 identities=[0 : i32] : {PART} -> tile<i32> (%l: tile<i32>, %m: tile<i32>) {{
        %o = maxi %l, %m signed : tile<i32>
        yield %o : tile<i32>
      }}""",
    "of the grid": "%gx, %gy, %gz = get_num_tile_blocks : tile<i32>\n%extent = muli %gx, %eight : tile<i32>",
}


@pytest.mark.parametrize("name", EXTENTS)
def test_extents_may_come_from_anywhere(name: str) -> None:
    body = f"""{EXTENTS[name]}
    %t = make_tensor_view %a, shape = [%extent], strides = [1] : tile<i32> -> {TENSOR}
    %v = make_partition_view %t : {VIEWS["partition"]}
    %k = store_view_tko weak %i, %v[%x] : {PART}, {VIEWS["partition"]}, tile<i32> -> token"""
    text = HEAD + body + TAIL
    assert both(text, Arrays(32, 8), 4, 32) == ""
    assert "(element [7] of the tile)" in both(text, Arrays(31, 8), 4, 32)

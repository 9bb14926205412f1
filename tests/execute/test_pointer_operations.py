"""Memory through tiles of pointers: loads, stores, tables of addresses, atomics, globals, alloca."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest

import tileir


def kernel(parameters: str, body: str, module: str = "") -> tileir.Kernel:
    return tileir.compile(
        tileir.parse(f"cuda_tile.module @m {{ {module}\nentry @k({parameters}) {{\n{body}\nreturn }} }}")
    )


def tile_pointers(name: str, count: int, element: str, index: str = "%lane") -> str:
    """`%name_tile`: pointers to `%name[index]`."""
    return f"""%{name}_1 = reshape %{name} : tile<ptr<{element}>> -> tile<1xptr<{element}>>
    %{name}_n = broadcast %{name}_1 : tile<1xptr<{element}>> -> tile<{count}xptr<{element}>>
    %{name}_tile = offset %{name}_n, {index} : tile<{count}xptr<{element}>>, tile<{count}xi32> -> tile<{count}xptr<{element}>>
    """


def copy_kernel(element: str, masked: bool = False) -> tileir.Kernel:
    mask = ", %mask" if masked else ""
    mask_type = ", tile<8xi1>" if masked else ""
    padding = ", %pad" if masked else ""
    padding_type = f", tile<8x{element}>" if masked else ""
    parameters = f"%a: tile<ptr<{element}>>, %b: tile<ptr<{element}>>, %i: tile<ptr<i32>>"
    zero = "false" if element == "i1" else "0x0" if not element.startswith("i") else "0"
    body = "%lane = iota : tile<8xi32>\n" + tile_pointers("i", 8, "i32")
    body += "%index, %t0 = load_ptr_tko weak %i_tile : tile<8xptr<i32>> -> tile<8xi32>, token\n"
    body += tile_pointers("a", 8, element, "%index") + tile_pointers("b", 8, element)
    if masked:
        body += f"""%low = constant <i32: 0> : tile<8xi32>
        %pad = constant <{element}: {zero}> : tile<8x{element}>
        %mask = cmpi greater_than_or_equal %index, %low, signed : tile<8xi32> -> tile<8xi1>
        """
    body += f"""%v, %t1 = load_ptr_tko weak %a_tile{mask}{padding} : tile<8xptr<{element}>>{mask_type}{padding_type} -> tile<8x{element}>, token
    %t2 = store_ptr_tko weak %b_tile, %v{mask} : tile<8xptr<{element}>>, tile<8x{element}>{mask_type} -> token"""
    return kernel(parameters, body)


INDEX = numpy.array([3, 1, 4, 1, 5, 9, 2, 6], "i4")
DTYPES = {
    "i1": numpy.bool_, "i8": numpy.int8, "i16": numpy.int16, "i32": numpy.int32, "i64": numpy.int64,
    "f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "f32": numpy.float32, "f64": numpy.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "tf32": numpy.float32,
}  # fmt: skip


@pytest.mark.parametrize("element", DTYPES)
def test_gather_and_scatter_every_element_type(element: str) -> None:
    a = (numpy.arange(10) % 7).astype(DTYPES[element])
    b = numpy.zeros(8, a.dtype)
    copy_kernel(element).launch(1, (a, b, INDEX))
    assert b.tobytes() == a[INDEX].tobytes()


def test_i1_in_memory_is_any_byte_that_is_not_zero() -> None:
    a = numpy.array([0, 1, 2, 255, 0, 7, 0, 0, 0, 0], numpy.uint8)
    b = numpy.zeros(8, numpy.uint8)
    copy_kernel("i1").launch(1, (a, b, INDEX))
    assert b.tolist() == [1, 1, 0, 1, 1, 0, 1, 0]


def test_masked_elements_are_neither_read_nor_written() -> None:
    a = numpy.arange(10, dtype="f4")
    index = numpy.array([3, -1, 4, -1000000, 5, 9, -7, 6], "i4")
    b = numpy.full(8, -1, "f4")
    copy_kernel("f32", True).launch(1, (a, b, index))
    assert b.tolist() == [3, -1, 4, -1, 5, 9, -1, 6]
    b[:] = -1
    copy_kernel("f32", True).launch(1, (a, b, numpy.full(8, -1, "i4")))
    assert b.tolist() == [-1] * 8


def test_access_outside_every_array_is_an_error_with_operation_place_and_element() -> None:
    with pytest.raises(tileir.ExecutionError) as caught:
        copy_kernel("f32").launch(1, (numpy.arange(9, dtype="f4"), numpy.zeros(8, "f4"), INDEX))
    text = str(caught.value)
    assert "'cuda_tile.load_ptr_tko' op accesses 4 bytes at address" in text
    assert "(element [5] of the tile)" in text
    assert "in tile block (0, 0, 0)" in text
    assert "argument 0 (array float32[9])" in text


def test_writing_to_a_read_only_array_is_refused_before_the_launch() -> None:
    b = numpy.zeros(8, "f4")
    b.flags.writeable = False
    with pytest.raises(tileir.LaunchError, match="argument 1 of @k is read-only"):
        copy_kernel("f32").launch(1, (numpy.arange(10, dtype="f4"), b, INDEX))
    a = numpy.arange(10, dtype="f4")
    a.flags.writeable = False
    out = numpy.zeros(8, "f4")
    copy_kernel("f32").launch(1, (a, out, INDEX))
    assert out.tolist() == INDEX.tolist()


def test_slices_of_one_array_share_their_memory() -> None:
    whole = numpy.arange(18, dtype="f4")
    copy_kernel("f32").launch(1, (whole[:10], whole[10:], INDEX))
    assert whole[10:].tolist() == INDEX.tolist()
    copy_kernel("f32").launch(1, (whole[:10], whole[:8], INDEX))
    assert whole[:8].tolist() == INDEX.tolist()


def test_a_later_element_stays_where_pointers_meet() -> None:
    text = "%lane = iota : tile<8xi32>\n%two = constant <i32: 2> : tile<8xi32>\n"
    text += "%half = divi %lane, %two signed : tile<8xi32>\n" + tile_pointers("p", 8, "i32", "%half")
    text += "%t = store_ptr_tko weak %p_tile, %lane : tile<8xptr<i32>>, tile<8xi32> -> token"
    out = numpy.zeros(4, "i4")
    kernel("%p: tile<ptr<i32>>", text).launch(1, (out,))
    assert out.tolist() == [1, 3, 5, 7]


TABLE = (
    "%lane = iota : tile<4xi32>\n"
    + tile_pointers("table", 4, "i64")
    + """%addresses, %t0 = load_ptr_tko weak %table_tile : tile<4xptr<i64>> -> tile<4xi64>, token
    %pointers = int_to_ptr %addresses : tile<4xi64> -> tile<4xptr<f32>>
    %v, %t1 = load_ptr_tko weak %pointers token=%t0 : tile<4xptr<f32>> -> tile<4xf32>, token
    %w = addf %v, %v : tile<4xf32>
    %t2 = store_ptr_tko weak %pointers, %w token=%t1 : tile<4xptr<f32>>, tile<4xf32> -> token"""
)


def test_a_table_of_addresses_reaches_arrays_named_in_memory() -> None:
    arrays = [numpy.array([value], "f4") for value in (1, 2, 3, 4)]
    table = numpy.array([array.ctypes.data for array in arrays], "i8")
    run = kernel("%table: tile<ptr<i64>>", TABLE)
    run.launch(1, (table,), memory=arrays)
    assert [array[0] for array in arrays] == [2, 4, 6, 8]
    with pytest.raises(tileir.ExecutionError, match="which is in no array of the launch"):
        run.launch(1, (table,))


def test_an_address_may_be_given_as_a_number() -> None:
    a = numpy.arange(10, dtype="f4")
    b = numpy.zeros(8, "f4")
    copy_kernel("f32").launch(1, (a.ctypes.data, b, INDEX), memory=[a])
    assert b.tolist() == INDEX.tolist()


def test_access_at_an_odd_address_reads_the_bytes_there() -> None:
    data = numpy.arange(64, dtype=numpy.uint8)
    a = data[1:41].view("f4")
    b = numpy.zeros(8, "f4")
    copy_kernel("f32").launch(1, (a, b, INDEX))
    assert b.tobytes() == a[INDEX].tobytes()
    text = """%one = constant <i32: 3> : tile<i32>
    %q = offset %p, %one : tile<ptr<i8>>, tile<i32> -> tile<ptr<i8>>
    %w = ptr_to_ptr %q : tile<ptr<i8>> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %w : tile<ptr<i32>> -> tile<i32>, token
    %u = store_ptr_tko weak %o, %v : tile<ptr<i32>>, tile<i32> -> token"""
    out = numpy.zeros(1, "i4")
    kernel("%p: tile<ptr<i8>>, %o: tile<ptr<i32>>", text).launch(1, (data, out))
    assert out.tobytes() == bytes([3, 4, 5, 6])


# --- atomics ---


def atomic_kernel(mode: str, element: str, order: str = "relaxed device") -> tileir.Kernel:
    parameters = f"%p: tile<ptr<{element}>>, %v: tile<ptr<{element}>>, %o: tile<ptr<{element}>>, %i: tile<ptr<i32>>"
    body = "%lane = iota : tile<8xi32>\n" + tile_pointers("i", 8, "i32")
    body += "%index, %t0 = load_ptr_tko weak %i_tile : tile<8xptr<i32>> -> tile<8xi32>, token\n"
    body += tile_pointers("v", 8, element) + tile_pointers("o", 8, element)
    body += f"%value, %t1 = load_ptr_tko weak %v_tile : tile<8xptr<{element}>> -> tile<8x{element}>, token\n"
    body += tile_pointers("p", 8, element, "%index")
    body += f"""%old, %t2 = atomic_rmw_tko {order} %p_tile, {mode}, %value : tile<8xptr<{element}>>, tile<8x{element}> -> tile<8x{element}>, token
    %t3 = store_ptr_tko weak %o_tile, %old : tile<8xptr<{element}>>, tile<8x{element}> -> token"""
    return kernel(parameters, body)


MODES: dict[str, Any] = {
    "add": lambda old, new: old + new, "and": lambda old, new: old & new, "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new, "max": max, "min": min, "xchg": lambda old, new: new,
    "umax": lambda old, new: max(old, new, key=lambda v: int(v) % 2**32),
    "umin": lambda old, new: min(old, new, key=lambda v: int(v) % 2**32),
}  # fmt: skip
MEETING = numpy.array([0, 1, 0, 2, 0, 1, 3, 3], "i4")


@pytest.mark.parametrize("mode", MODES)
def test_atomics_see_what_earlier_elements_did(mode: str) -> None:
    values = numpy.array([5, -3, 9, 1, -8, 7, 2, 2], "i4")
    memory = numpy.array([1, -1, 3, -5], "i4")
    expected, expected_old = memory.copy(), []
    for place, value in zip(MEETING, values, strict=True):
        expected_old.append(int(expected[place]))
        expected[place] = MODES[mode](expected[place], value)
    old = numpy.zeros(8, "i4")
    atomic_kernel(mode, "i32").launch(1, (memory, values, old, MEETING))
    assert memory.tolist() == expected.tolist()
    assert old.tolist() == expected_old


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_atomic_float_addition_adds_in_order(element: str) -> None:
    dtype = DTYPES[element]
    values = numpy.array([0.1, 0.2, 0.3, 1e3, 0.7, -0.4, 3, 4]).astype(dtype)
    memory = numpy.zeros(4, dtype)
    expected = memory.copy()
    for place, value in zip(MEETING, values, strict=True):
        expected[place] = expected[place] + value
    atomic_kernel("addf", element).launch(1, (memory, values, numpy.zeros(8, dtype), MEETING))
    assert memory.tobytes() == expected.tobytes()


def test_compare_and_swap_compares_bits() -> None:
    parameters = "%p: tile<ptr<f32>>, %o: tile<ptr<f32>>"
    body = "%lane = iota : tile<4xi32>\n" + tile_pointers("p", 4, "f32") + tile_pointers("o", 4, "f32")
    body += """%zero = constant <f32: 0.0> : tile<4xf32>
    %new = constant <f32: [1.0, 2.0, 3.0, 4.0]> : tile<4xf32>
    %mask = constant <i1: [true, true, true, false]> : tile<4xi1>
    %old, %t = atomic_cas_tko acq_rel device %p_tile, %zero, %new, %mask : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> tile<4xf32>, token
    %u = store_ptr_tko weak %o_tile, %old : tile<4xptr<f32>>, tile<4xf32> -> token"""
    memory = numpy.array([0.0, -0.0, 5.0, 0.0], "f4")
    old = numpy.full(4, 9, "f4")
    kernel(parameters, body).launch(1, (memory, old))
    assert memory.tobytes() == numpy.array([1.0, -0.0, 5.0, 0.0], "f4").tobytes()
    assert old.tobytes() == numpy.array([0.0, -0.0, 5.0, 0.0], "f4").tobytes()


def test_compare_and_swap_of_meeting_pointers_succeeds_once() -> None:
    parameters = "%p: tile<ptr<i32>>, %o: tile<ptr<i32>>"
    body = "%lane = iota : tile<4xi32>\n%none = constant <i32: 0> : tile<4xi32>\n"
    body += tile_pointers("p", 4, "i32", "%none") + tile_pointers("o", 4, "i32")
    body += """%one = constant <i32: 1> : tile<4xi32>
    %new = addi %lane, %one : tile<4xi32>
    %old, %t = atomic_cas_tko relaxed device %p_tile, %none, %new : tile<4xptr<i32>>, tile<4xi32> -> tile<4xi32>, token
    %u = store_ptr_tko weak %o_tile, %old : tile<4xptr<i32>>, tile<4xi32> -> token"""
    memory, old = numpy.zeros(1, "i4"), numpy.zeros(4, "i4")
    kernel(parameters, body).launch(1, (memory, old))
    assert memory.tolist() == [1]
    assert old.tolist() == [0, 1, 1, 1]


def test_atomic_load_and_store_and_scalar_atomics() -> None:
    body = """%v, %t = atomic_load_tko acquire device %p : tile<ptr<i32>> -> tile<i32>, token
    %w = addi %v, %v : tile<i32>
    %u = atomic_store_tko release device %p, %w : tile<ptr<i32>>, tile<i32> -> token
    %old, %x = atomic_rmw_tko relaxed device %p, add, %v : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    %no = constant <i1: false> : tile<i1>
    %same, %y = atomic_rmw_tko relaxed device %p, add, %v, %no : tile<ptr<i32>>, tile<i32>, tile<i1> -> tile<i32>, token"""
    memory = numpy.array([21], "i4")
    kernel("%p: tile<ptr<i32>>", body).launch(1, (memory,))
    assert memory.tolist() == [63]


def test_tile_blocks_count_with_an_atomic() -> None:
    body = """%one = constant <i32: 1> : tile<i32>
    %old, %x = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"""
    run = kernel("%p: tile<ptr<i32>>", body)
    for schedule in ("forward", "interleaved"):
        memory = numpy.zeros(1, "i4")
        run.launch((7, 3), (memory,), schedule=schedule)
        assert memory[0] == 21


# --- globals and alloca ---

GLOBAL = "global @g alignment = 64 <i32: [1, 2, 3, 4]> : tile<4xi32>"
ADVANCE = """%g = get_global @g : tile<ptr<i32>>
%v, %t = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token
%o = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token
%w = addi %v, %v : tile<i32>
%s = store_ptr_tko weak %g, %w token=%t : tile<ptr<i32>>, tile<i32> -> token"""


def test_a_global_lives_as_long_as_its_kernel() -> None:
    run = kernel("%p: tile<ptr<i32>>", ADVANCE, GLOBAL)
    out = numpy.zeros(1, "i4")
    for expected in (1, 2, 4):
        run.launch(1, (out,))
        assert out[0] == expected
    assert run.globals.regions["g"].start % 64 == 0
    kernel("%p: tile<ptr<i32>>", ADVANCE, GLOBAL).launch(1, (out,))
    assert out[0] == 1


def test_a_constant_global_cannot_be_written() -> None:
    run = kernel("%p: tile<ptr<i32>>", ADVANCE, GLOBAL.replace("global", "global constant"))
    with pytest.raises(tileir.ExecutionError, match="writes to read-only memory: global @g"):
        run.launch(1, (numpy.zeros(1, "i4"),))


def test_alloca_is_aligned_and_given_back_after_each_iteration() -> None:
    body = """%zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %n = constant <i32: 100> : tile<i32>
    %last = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%sum = %zero) -> (tile<i32>) {
      %room = alloca num_elem = 4, alignment = 128 : tile<ptr<i32>>
      %t0 = store_ptr_tko weak %room, %i : tile<ptr<i32>>, tile<i32> -> token
      %v, %t1 = load_ptr_tko weak %room token=%t0 : tile<ptr<i32>> -> tile<i32>, token
      %address = ptr_to_int %room : tile<ptr<i32>> -> tile<i64>
      %low = trunci %address : tile<i64> -> tile<i32>
      %bits = constant <i32: 127> : tile<i32>
      %rest = andi %low, %bits : tile<i32>
      %next = addi %sum, %v : tile<i32>
      %checked = addi %next, %rest : tile<i32>
      continue %checked : tile<i32>
    }
    %t = store_ptr_tko weak %p, %last : tile<ptr<i32>>, tile<i32> -> token"""
    regions: list[int] = []

    class Count(tileir.observers.Observer):
        def block_finished(self, block: object) -> None:
            regions.append(len(block.memory.regions))

    out = numpy.zeros(1, "i4")
    kernel("%p: tile<ptr<i32>>", body).launch(3, (out,), observer=Count())
    assert out[0] == sum(range(100))
    assert regions == [1, 1, 1]

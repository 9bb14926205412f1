"""Kernels with hundreds of arrays or reservations, which are compiled in ways of their own."""

from __future__ import annotations

import numpy
import pytest
from tests.growth.actions import native_text
from tests.growth.live_programs import LIVE

import tileir

ARRAYS = 130


def many_arrays(condition):
    """Each tile block adds its number to a word of each array, in turns of a loop or under a condition."""
    parameters = ", ".join(f"%a{i}: tile<ptr<i32>>" for i in range(ARRAYS))
    lines = []
    for i in range(ARRAYS):
        lines.append(f"""
      %p{i} = offset %a{i}, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      {"if %c {" if condition else "for %i" + str(i) + " in (%zero to %two, step %one) : tile<i32> {"}
        %v{i}, %t{i} = load_ptr_tko weak %p{i} : tile<ptr<i32>> -> tile<i32>, token
        %s{i} = addi %v{i}, %x : tile<i32>
        %u{i} = store_ptr_tko weak %p{i}, %s{i} token=%t{i} : tile<ptr<i32>>, tile<i32> -> token
        {"yield" if condition else "continue"}
      }}""")
    return f"""cuda_tile.module @m {{
    entry @k({parameters}) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %c = cmpi not_equal %x, %two, signed : tile<i32> -> tile<i1>
      {"".join(lines)}
      return
    }}
  }}"""


@pytest.mark.parametrize("condition", [False, True])
def test_each_of_many_arrays_gets_what_is_stored_to_it(condition):
    kernel = tileir.compile(tileir.parse(many_arrays(condition)), backend="cpu")
    arrays = [numpy.full(5, i, "i4") for i in range(ARRAYS)]
    kernel.launch(5, arrays)
    added = numpy.array([0, 1, 0, 3, 4] if condition else [0, 2, 4, 6, 8])
    for i, array in enumerate(arrays):
        assert (array == i + added).all()


def test_an_access_outside_of_one_of_many_arrays_is_told():
    kernel = tileir.compile(tileir.parse(many_arrays(True)), backend="cpu")
    arrays = [numpy.zeros(4 if i == 77 else 5, "i4") for i in range(ARRAYS)]
    with pytest.raises(tileir.ExecutionError, match="argument 77"):
        kernel.launch(5, arrays, threads=1)


def test_what_many_arrays_bring_is_loaded_where_it_is_used():
    worker = native_text(False)(LIVE["arrays"](200)).partition("@worker")[2]
    first = worker.partition("\nloop")[0]
    slot = "= getelementptr i64, ptr %record"
    assert worker.count(slot) > 600 and first.count(slot) < 10


@pytest.mark.parametrize("sanitize", [False, True])
def test_what_many_allocas_reserve_is_new_in_each_tile_block(sanitize):
    lines = []
    for i in range(12):
        lines.append(f"%m{i} = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>")
        lines.append(f"%w{i} = store_ptr_tko weak %m{i}, %x : tile<ptr<i32>>, tile<i32> -> token")
        lines.append(f"%v{i}, %t{i} = load_ptr_tko weak %m{i} token=%w{i} : tile<ptr<i32>> -> tile<i32>, token")
    body = "\n      ".join(lines)
    text = f"""cuda_tile.module @m {{
    entry @k(%p: tile<ptr<i32>>) {{
      %x, %y, %z = get_tile_block_id : tile<i32>
      {body}
      %q = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %s = addi %v0, %v11 : tile<i32>
      %u = store_ptr_tko weak %q, %s : tile<ptr<i32>>, tile<i32> -> token
      return
    }}
  }}"""
    array = numpy.zeros(6, "i4")
    tileir.compile(tileir.parse(text), backend="cpu").launch(6, (array,), sanitize=sanitize)
    assert array.tolist() == [0, 2, 4, 6, 8, 10]

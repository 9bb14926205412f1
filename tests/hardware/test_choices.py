"""Results that differ from the interpreter's: whether they depend on what the dialect leaves open."""

from __future__ import annotations

import numpy
import pytest
from tests.hardware.agreement.choices import judged_again
from tests.hardware.agreement.comparing import NOT_RUN, SAME, compare, optimizers_mistake
from tests.hardware.agreement.interpreting import interpret
from tests.hardware.agreement.program import Argument, Pointer, Program
from tests.hardware.agreement.rules import ASSEMBLER, DIFFERENT, OPEN, UNSPECIFIED
from tests.hardware.agreement.running import Result

HEAD = """cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %lane = iota : tile<8xi32>
  %b1 = reshape %b : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b8 = broadcast %b1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %to = offset %b8, %lane : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %v = make_tensor_view %a, shape = [6], strides = [1] : tensor_view<6xi32, strides=[1]>
  %p = make_partition_view %v : partition_view<tile=(8), tensor_view<6xi32, strides=[1]>>
  %t, %k = load_view_tko weak %p[%zero] : partition_view<tile=(8), tensor_view<6xi32, strides=[1]>>, tile<i32> -> tile<8xi32>, token
"""
STORE = "%s = store_ptr_tko weak %to, {0} : tile<8xptr<i32>>, tile<8xi32> -> token\n return }} }}"

BODIES = {
    "outside of the tensor": STORE.format("%t"),
    "order of a reduction": """
  %c = constant <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>
  %r = reduce %c dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%u: tile<i32>, %w: tile<i32>) {
    %d = subi %w, %u : tile<i32>
    yield %d : tile<i32>
  }
  %r1 = reshape %r : tile<i32> -> tile<1xi32>
  %r8 = broadcast %r1 : tile<1xi32> -> tile<8xi32>
  """
    + STORE.format("%r8"),
    "order of tile blocks": """
  %b0 = reshape %b : tile<ptr<i32>> -> tile<1xptr<i32>>
  %one = reshape %x : tile<i32> -> tile<1xi32>
  %old, %tok = atomic_rmw_tko relaxed device %b0, xchg, %one : tile<1xptr<i32>>, tile<1xi32> -> tile<1xi32>, token
  return } }""",
    "one place": """
  %same = broadcast %b1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %s = store_ptr_tko weak %same, %lane : tile<8xptr<i32>>, tile<8xi32> -> token
  return } }""",
    "integers out of range": """
  %big = constant <f32: 1.0e20> : tile<8xf32>
  %i = ftoi %big signed : tile<8xf32> -> tile<8xi32>
  """
    + STORE.format("%i"),
    "last bits of a function": """
  %f = constant <f32: 0.7> : tile<8xf32>
  %e = exp %f : tile<8xf32>
  %i = bitcast %e : tile<8xf32> -> tile<8xi32>
  """
    + STORE.format("%i"),
    "which NaN": """
  %inf = constant <f32: 0x7F800000> : tile<8xf32>
  %n = subf %inf, %inf : tile<8xf32>
  %i = bitcast %n : tile<8xf32> -> tile<8xi32>
  """
    + STORE.format("%i"),
    "products that overflow": """
  %m = constant <i8: 127> : tile<16x16xi8>
  %acc = constant <i32: 2147483000> : tile<16x16xi32>
  %q = mmai %m, %m, %acc signed signed : tile<16x16xi8>, tile<16x16xi8>, tile<16x16xi32>
  %e = extract %q[%zero, %zero] : tile<16x16xi32> -> tile<1x8xi32>
  %i = reshape %e : tile<1x8xi32> -> tile<8xi32>
  """
    + STORE.format("%i"),
}


def program(body: str, grid: int = 2) -> Program:
    memories = [numpy.arange(1, 9, dtype=numpy.int32).tobytes(), numpy.zeros(16, numpy.int32).tobytes()]
    arguments: list[Argument] = [Pointer(0, 0, "i32", 8), Pointer(1, 0, "i32", 16)]
    return Program("family: name", HEAD + BODIES[body], (grid, 1, 1), memories, arguments, {"unwatched": True})


def altered(found: list[bytes], element: int) -> Result:
    """Results with one element of the second array changed."""
    array = numpy.frombuffer(found[1], numpy.int32).copy()
    array[element] ^= 0x1234
    return Result(0, [found[0], array.tobytes()], "")


WHERE = {"outside of the tensor": 7, "order of tile blocks": 0}


@pytest.mark.parametrize("body", BODIES)
def test_what_depends_on_a_choice_is_open_and_the_rest_is_not(body: str) -> None:
    given = program(body, grid=2 if body == "order of tile blocks" else 1)
    wanted = interpret(given, False)
    for element, kind in ((WHERE.get(body, 0), OPEN), (12, DIFFERENT)):
        found = altered(wanted.memories, element)
        verdict = compare(given, wanted, found)
        assert verdict.kind == DIFFERENT
        assert judged_again(verdict, found).kind == kind


def test_what_is_inside_of_the_tensor_stays_different() -> None:
    given = program("outside of the tensor", grid=1)
    wanted = interpret(given, False)
    found = altered(wanted.memories, 3)
    assert judged_again(compare(given, wanted, found), found).kind == DIFFERENT


def test_mistakes_that_the_sanitizer_finds_leave_results_unspecified() -> None:
    given = program("outside of the tensor", grid=2)
    wanted = interpret(given, False)
    found = altered(wanted.memories, 3)
    verdict = judged_again(compare(given, wanted, found), found)
    assert (verdict.kind, verdict.rules) == (UNSPECIFIED, ["race"])


def test_program_that_ends_without_the_optimizer_is_the_assemblers_mistake() -> None:
    given = program("outside of the tensor", grid=1)
    wanted = interpret(given, False)
    hangs = compare(given, wanted, Result(0, [], "does not end within 2 s"))
    right = compare(given, wanted, Result(0, wanted.memories, ""))
    assert (hangs.kind, right.kind) == (NOT_RUN, SAME)
    assert optimizers_mistake(hangs, right).kind == ASSEMBLER
    assert optimizers_mistake(hangs, hangs).kind == NOT_RUN

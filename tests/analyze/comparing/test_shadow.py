"""Shadows: the first run is left alone, f64 programs are their own shadows, and narrow ones are what f64 gives."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.test_random_programs import FAMILIES, OPERATIONS, arguments_for
from tests.generators.programs import random_module

import tileir
from tileir.analyze.comparing.shadow import Shadow, Shadowed
from tileir.analyze.comparing.widened import float_element, widened
from tileir.execute.launching.entries import entries_of
from tileir.execute.observing.observer import Observers, TileBlock
from tileir.ir.core import Operation
from tileir.ir.types import F32, F64, FloatType
from tileir.ir.values import Value

Told = list[tuple[Value, FloatType, Any, Shadowed]]


class Watched:
    """The values of a launch with their shadows, by the names of operations."""

    def __init__(self, wide: FloatType = F64) -> None:
        self.seen: list[tuple[str, Any, Any]] = []
        self.shadow = Shadow(wide, self._note)

    def _note(self, operation: Operation, told: Told) -> None:
        for _, _, content, shadowed in told:
            self.seen.append((operation.declaration.mnemonic, numpy.array(content), numpy.array(shadowed.numbers)))

    def of(self, mnemonic: str) -> list[tuple[Any, Any]]:
        return [(content, numbers) for name, content, numbers in self.seen if name == mnemonic]


def run(body: str, *arguments: Any, parameters: str, grid: int = 1, wide: FloatType = F64) -> Watched:
    watched = Watched(wide)
    module = tileir.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{ {body} return }} }}")
    tileir.compile(module, backend="interpreter").launch(grid, arguments, observer=watched.shadow)
    return watched


LOAD = """
    %places = iota : tile<64xi32>
    %a_1 = reshape %a : tile<ptr<f16>> -> tile<1xptr<f16>>
    %a_64 = broadcast %a_1 : tile<1xptr<f16>> -> tile<64xptr<f16>>
    %a_each = offset %a_64, %places : tile<64xptr<f16>>, tile<64xi32> -> tile<64xptr<f16>>
    %x, %t = load_ptr_tko weak %a_each : tile<64xptr<f16>> -> tile<64xf16>, token
"""


def test_values_of_a_loop_are_carried_with_all_digits() -> None:
    x = numpy.linspace(0.1, 3, 64).astype(numpy.float16)
    body = f"""
        {LOAD}
        %first = constant <i32: 0> : tile<i32>
        %count = constant <i32: 9> : tile<i32>
        %step = constant <i32: 1> : tile<i32>
        %last = for %i in (%first to %count, step %step) : tile<i32> iter_values(%y = %x) -> (tile<64xf16>) {{
          %root = sqrt %y : tile<64xf16>
          %next = mulf %root, %x : tile<64xf16>
          continue %next : tile<64xf16>
        }}
        %end = addf %last, %last : tile<64xf16>
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    exact = x.astype(numpy.float64)
    expected = exact
    for content, numbers in watched.of("mulf"):
        assert content.dtype == numpy.float16
        expected = numpy.sqrt(expected) * exact
        assert numpy.allclose(numbers, expected, rtol=1e-15, atol=0)
    assert len(watched.of("mulf")) == 9
    assert numpy.array_equal(watched.of("for")[0][1], watched.of("mulf")[-1][1])
    assert numpy.allclose(watched.of("addf")[0][1], 2 * expected, rtol=1e-15, atol=0)


def test_choices_follow_the_first_run() -> None:
    # In f16 both sums are 2048, so the first run takes the first branch; in f64 they differ.
    x = numpy.full(64, 2048, numpy.float16)
    body = f"""
        {LOAD}
        %one = constant <f16: 1.0> : tile<64xf16>
        %more = addf %x, %one : tile<64xf16>
        %equal = cmpf equal ordered %more, %x : tile<64xf16> -> tile<64xi1>
        %chosen = select %equal, %more, %one : tile<64xi1>, tile<64xf16>
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    assert watched.of("select")[0][0].tolist() == [2048.0] * 64
    assert watched.of("select")[0][1].tolist() == [2049.0] * 64


def test_branches_and_loops_that_are_left_early_hand_on_shadows() -> None:
    x = numpy.full(64, 2048, numpy.float16)
    body = f"""
        {LOAD}
        %one = constant <f16: 1.0> : tile<64xf16>
        %zero = constant <i32: 0> : tile<i32>
        %step = constant <i32: 1> : tile<i32>
        %limit = constant <i32: 3> : tile<i32>
        %sum, %n = loop iter_values(%s = %x, %i = %zero) : tile<64xf16>, tile<i32> -> tile<64xf16>, tile<i32> {{
          %done = cmpi greater_than_or_equal %i, %limit, signed : tile<i32> -> tile<i1>
          if %done {{
            break %s, %i : tile<64xf16>, tile<i32>
          }}
          %next = addf %s, %one : tile<64xf16>
          %j = addi %i, %step : tile<i32>
          continue %next, %j : tile<64xf16>, tile<i32>
        }}
        %again = cmpi equal %n, %limit, signed : tile<i32> -> tile<i1>
        %last = if %again -> (tile<64xf16>) {{
          %more = addf %sum, %one : tile<64xf16>
          yield %more : tile<64xf16>
        }} else {{
          yield %one : tile<64xf16>
        }}
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    assert watched.of("loop")[0][1].tolist() == [2051.0] * 64
    assert watched.of("if")[-1][0].tolist() == [2048.0] * 64
    assert watched.of("if")[-1][1].tolist() == [2052.0] * 64


def test_a_tile_block_reads_the_shadows_that_it_stored() -> None:
    x = numpy.full(64, 2048, numpy.float16)
    body = f"""
        {LOAD}
        %one = constant <f16: 1.0> : tile<64xf16>
        %more = addf %x, %one : tile<64xf16>
        %stored = store_ptr_tko weak %a_each, %more token = %t : tile<64xptr<f16>>, tile<64xf16> -> token
        %y, %t2 = load_ptr_tko weak %a_each token = %stored : tile<64xptr<f16>> -> tile<64xf16>, token
        %end = addf %y, %one : tile<64xf16>
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    assert [numbers[0] for _, numbers in watched.of("addf")] == [2049.0, 2050.0]
    # The next tile block reads what stands in memory.
    watched = run(body, x, parameters="%a: tile<ptr<f16>>", grid=2)
    assert [numbers[0] for _, numbers in watched.of("addf")] == [2049.0, 2050.0] * 2


def test_integers_written_over_floats_end_their_shadows() -> None:
    x = numpy.full(64, 2048, numpy.float16)
    body = f"""
        {LOAD}
        %one = constant <f16: 1.0> : tile<64xf16>
        %more = addf %x, %one : tile<64xf16>
        %stored = store_ptr_tko weak %a_each, %more token = %t : tile<64xptr<f16>>, tile<64xf16> -> token
        %as_bits = ptr_to_ptr %a_each : tile<64xptr<f16>> -> tile<64xptr<i16>>
        %bits = constant <i16: 15360> : tile<64xi16>
        %over = store_ptr_tko weak %as_bits, %bits token = %stored : tile<64xptr<i16>>, tile<64xi16> -> token
        %y, %t2 = load_ptr_tko weak %a_each token = %over : tile<64xptr<f16>> -> tile<64xf16>, token
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    assert watched.of("load_ptr_tko")[1][1].tolist() == [1.0] * 64


def test_sums_in_memory_have_shadows() -> None:
    x = numpy.full(64, 2048, numpy.float16)
    body = f"""
        {LOAD}
        %one = constant <f16: 1.0> : tile<64xf16>
        %old, %t1 = atomic_rmw_tko relaxed device %a_64, addf, %one token = %t : tile<64xptr<f16>>, tile<64xf16> -> tile<64xf16>, token
        %y, %t2 = load_ptr_tko weak %a_each token = %t1 : tile<64xptr<f16>> -> tile<64xf16>, token
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    content, numbers = watched.of("load_ptr_tko")[1]
    assert content.tolist() == [2048.0] * 64
    assert numbers.tolist() == [2048.0 + 64, *[2048.0] * 63]


def test_reductions_are_made_again_with_all_digits() -> None:
    x = (numpy.arange(64) / 7 + 100).astype(numpy.float16)
    body = f"""
        {LOAD}
        %sum = reduce %x dim=0 identities=[0.0 : f16] : tile<64xf16> -> tile<f16>
        (%p: tile<f16>, %q: tile<f16>) {{
          %scale = constant <f16: 0.5> : tile<f16>
          %r = fma %p, %scale, %q : tile<f16>
          yield %r : tile<f16>
        }}
        %sums = scan %x dim=0 reverse=false identities=[0.0 : f16] : tile<64xf16> -> tile<64xf16>
        (%p: tile<f16>, %q: tile<f16>) {{
          %r = addf %p, %q : tile<f16>
          yield %r : tile<f16>
        }}
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    values = x.astype(numpy.float64)
    while len(values) > 1:
        middle = len(values) // 2
        values = values[middle:] * 0.5 + values[:middle]
    assert watched.of("reduce")[0][1] == values[0]
    assert numpy.array_equal(watched.of("scan")[0][1], numpy.cumsum(x.astype(numpy.float64)))


def test_what_works_on_bits_is_taken_as_it_is() -> None:
    x = numpy.full(64, 2048, numpy.float16)
    body = f"""
        {LOAD}
        %one = constant <f16: 1.0> : tile<64xf16>
        %more = addf %x, %one : tile<64xf16>
        %bits = bitcast %more : tile<64xf16> -> tile<64xi16>
        %back = bitcast %bits : tile<64xi16> -> tile<64xf16>
    """
    watched = run(body, x, parameters="%a: tile<ptr<f16>>")
    assert watched.of("bitcast")[0][1].tolist() == [2048.0] * 64
    assert [operation.declaration.mnemonic for operation in watched.shadow.taken] == ["bitcast"]


def test_a_shadow_may_be_in_f32() -> None:
    x = numpy.linspace(0.1, 3, 64).astype(numpy.float16)
    watched = run(f"{LOAD} %root = sqrt %x : tile<64xf16>", x, parameters="%a: tile<ptr<f16>>", wide=F32)
    assert numpy.array_equal(watched.of("sqrt")[0][1], numpy.sqrt(x.astype(numpy.float32)))


class _Enough(Exception):
    """The program ran long enough: random loops need not end."""


class _Limit(tileir.observers.Observer):
    def __init__(self) -> None:
        self.steps = 0

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self.steps += 1
        if self.steps > 400:
            raise _Enough


def ends(module: Operation, name: str, seen: Any) -> tuple[str, bytes]:
    arguments = arguments_for(entries_of(module)[name])
    assert arguments is not None
    end = "fine"
    observers: list[tileir.observers.Observer] = [_Limit()]
    if seen is not None:
        observers.append(Shadow(F64, seen))
    try:
        kernel = tileir.compile(module, entry=name, backend="interpreter")
        kernel.launch((2, 2), arguments, observer=Observers(observers), output=lambda text: None)
    except _Enough:
        end = "enough"
    except tileir.TileIRError as error:
        end = type(error).__name__
    return end, b"".join([value.tobytes() for value in arguments if isinstance(value, numpy.ndarray)])


def check_random(family: str, seed: int) -> int:
    version, draft_forms, _ = FAMILIES[family]
    module = random_module(
        Random(seed), size=25, operations=OPERATIONS, version=version, draft_forms=draft_forms, discardable=False,
        locations=False,
    )  # fmt: skip
    seen = 0

    def note(operation: Operation, told: Told) -> None:
        nonlocal seen
        for value, element, content, shadowed in told:
            seen += 1
            assert float_element(value) is element
            assert numpy.shape(shadowed.numbers) == numpy.shape(content), operation.name
            if element is F64 and shadowed.bits == 53:
                # Nothing narrower went into it: there is nothing to gain.
                assert numpy.asarray(shadowed.numbers).tobytes() == numpy.asarray(content).tobytes(), operation.name

    for name in entries_of(module):
        if arguments_for(entries_of(module)[name]) is not None:
            assert ends(module, name, None) == ends(module, name, note)
    return seen


@pytest.mark.parametrize("family", ["seed forms", "13.4", "13.1"])
def test_random_programs_run_as_without_a_shadow(family: str) -> None:
    assert sum([check_random(family, seed) for seed in range(8)]) > 20


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_many_random_programs_run_as_without_a_shadow(family: str) -> None:
    assert sum([check_random(family, seed) for seed in range(100, 300)]) > 1000


def test_what_is_computed_again_is_a_copy() -> None:
    module = tileir.parse("""
entry @k(%a: tile<f32>) {
  %c = constant <f32: 2.0> : tile<f32>
  %s = addf %c, %a rounding<zero> flush_to_zero : tile<f32>
  return
}
""")
    before = str(module)
    assert sum(widened(operation, F64) is not None for operation in module.walk() if operation.results) == 2
    assert str(module) == before

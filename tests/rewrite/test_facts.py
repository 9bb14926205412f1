"""What is known about values is true: rule by rule, and on random programs that are run."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.rewrite.integer_programs import Evaluator, RandomProgram, Undefined, signed, width_of

import tileir
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.rewrite.facts import Facts


def kernel(body: str, arguments: str = "%a: tile<i32>, %b: tile<i32>, %p: tile<ptr<f32>>") -> Operation:
    text = f"cuda_tile.module @m {{\n entry @k({arguments}) {{\n{body}\n return\n }}\n}}"
    module = tileir.parse(text)
    tileir.verify(module)
    return module.regions[0].block.first


def last(body: str) -> Value:
    """The result of the last operation before the return."""
    return kernel(body).regions[0].block.last.previous.results[0]


def facts_hold(facts: Facts, value: Value, elements: list[int]) -> None:
    """Assert that what is known of a value is true of the elements it had."""
    fact = facts.fact(value)
    shape = value.type.shape
    where = f"{value.defining_operation} had {elements}"
    for bits in elements:
        assert fact.unsigned_low <= bits <= fact.unsigned_high, where
        assert fact.signed_low <= signed(fact.width, bits) <= fact.signed_high, where
        assert bits % (1 << fact.zeros) == 0, where
    assert len(fact.groups) == len(shape)
    if len(shape) == 1:
        for start in range(0, len(elements), fact.groups[0]):
            assert len(set(elements[start : start + fact.groups[0]])) == 1, where


def check_run(facts: Facts, kernel: Operation, arguments: list[list[int]]) -> int:
    """Run a kernel and check all that happened; facts rely on what was executed before, so a run may go wrong later."""
    evaluator = Evaluator()
    try:
        evaluator.run(kernel, arguments)
    except Undefined:
        pass
    for value, history in evaluator.seen.items():
        for elements in history:
            facts_hold(facts, value, elements)
    return sum([len(history) for history in evaluator.seen.values()])


@pytest.mark.parametrize("chunk", range(4))
def test_facts_hold_for_every_value_of_random_programs(chunk: int) -> None:
    checked = 0
    for seed in range(chunk * 20, chunk * 20 + 20):
        rng = Random(seed)
        program = RandomProgram(rng)
        facts = Facts()
        for _ in range(20):
            arguments = [[rng.choice((0, 1, 16, 64, 127, 128, 255, rng.randrange(256)))] for _ in range(3)]
            checked += check_run(facts, program.kernel, arguments)
    assert checked > 2000


@pytest.mark.parametrize("chunk", range(4))
def test_facts_hold_for_one_operation_on_promised_operands(chunk: int) -> None:
    for seed in range(chunk * 30, chunk * 30 + 30):
        rng = Random(seed)
        b = tileir.Builder("m")
        program = RandomProgram.__new__(RandomProgram)
        program.rng, program.width, program.builder = rng, 8, b
        with b.entry("k", "i8", "i8") as (x, y):
            program.binary(program.promise(x), program.promise(y))
        kernel = b.finish().regions[0].block.first
        facts = Facts()
        for _ in range(300):
            check_run(facts, kernel, [[rng.randrange(256)], [rng.randrange(256)]])


# --- what is found, not only what is true ---


@pytest.mark.parametrize(
    ("body", "bounds", "divisor"),
    [
        ("%r = constant <i32: 48> : tile<i32>", (48, 48), 16),
        ("%r = constant <i32: [4, -8, 12, 0]> : tile<4xi32>", (-8, 12), 4),
        ("%r = iota : tile<64xi32>", (0, 63), 1),
        ("%r = assume bounded<0, 100>, %a : tile<i32>", (0, 100), 1),
        ("%s = assume bounded<1, 100>, %a : tile<i32>\n%r = assume div_by<16>, %s : tile<i32>", (16, 96), 16),
        ("%x, %y, %r = get_tile_block_id : tile<i32>", (0, (1 << 31) - 2), 1),
        ("%x, %y, %r = get_num_tile_blocks : tile<i32>", (1, (1 << 31) - 1), 1),
        (
            "%s = assume bounded<0, 10>, %a : tile<i32>\n%c = constant <i32: 64> : tile<i32>\n"
            "%r = muli %s, %c : tile<i32>",
            (0, 640),
            64,
        ),
        (
            "%s = assume bounded<0, 10>, %a : tile<i32>\n%c = constant <i32: 3> : tile<i32>\n"
            "%r = shli %s, %c : tile<i32>",
            (0, 80),
            8,
        ),
        ("%c = constant <i32: 7> : tile<i32>\n%r = andi %a, %c : tile<i32>", (0, 7), 1),
        ("%c = constant <i32: 16> : tile<i32>\n%r = remi %a, %c unsigned : tile<i32>", (0, 15), 1),
        ("%c = constant <i32: 16> : tile<i32>\n%r = remi %a, %c signed : tile<i32>", (-15, 15), 1),
        ("%c = constant <i32: 100> : tile<i32>\n%r = mini %a, %c signed : tile<i32>", (-(1 << 31), 100), 1),
        (
            "%s = assume bounded<0, 10>, %a : tile<i32>\n%r = exti %s signed : tile<i32> -> tile<i64>",
            (0, 10),
            1,
        ),
        (
            "%s = assume bounded<-3, 10>, %a : tile<i32>\n%t = assume bounded<20, 30>, %b : tile<i32>\n"
            "%r = cmpi less_than %s, %t, signed : tile<i32> -> tile<i1>",
            (-1, -1),
            1,
        ),
    ],
)
def test_ranges_and_divisors_are_found(body: str, bounds: tuple[int, int], divisor: int) -> None:
    value = kernel(body).regions[0].block.last.previous.results[-1]
    facts = Facts()
    assert facts.range(value) == bounds
    assert facts.divisor(value) == divisor


def test_nothing_is_known_of_a_value_with_contradictory_assumptions() -> None:
    body = "%s = assume bounded<16, 64>, %a : tile<i32>\n%r = assume bounded<?, 3>, %s : tile<i32>"
    value = last(body)
    facts = Facts()
    assert facts.range(value) == (-(1 << 31), (1 << 31) - 1)
    assert facts.range(value, signed=False) == (0, (1 << 32) - 1)


def test_a_sum_that_may_wrap_has_no_range_unless_wrapping_is_excluded() -> None:
    assert Facts().range(last("%r = addi %a, %b : tile<i32>")) == (-(1 << 31), (1 << 31) - 1)
    body = "%s = assume bounded<5, ?>, %a : tile<i32>\n%t = assume bounded<5, ?>, %b : tile<i32>\n%r = addi %s, %t {} : tile<i32>"
    assert Facts().range(last(body.format(""))) == (-(1 << 31), (1 << 31) - 1)
    assert Facts().range(last(body.format("overflow<no_signed_wrap>"))) == (10, (1 << 31) - 1)


def test_a_divisor_passes_through_pointers_and_offsets() -> None:
    body = (
        "%q = assume div_by<16>, %p : tile<ptr<f32>>\n%c = constant <i32: 8> : tile<i32>\n"
        "%o = muli %a, %c : tile<i32>\n%r = offset %q, %o : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>"
    )
    assert Facts().divisor(last(body)) == 16
    assert Facts().divisor(last(body.replace("i32: 8>", "i32: 2>"))) == 8


def test_a_divisor_passes_through_conversions_of_pointers() -> None:
    body = (
        "%q = assume div_by<32>, %p : tile<ptr<f32>>\n%i = ptr_to_int %q : tile<ptr<f32>> -> tile<i64>\n"
        "%d = int_to_ptr %i : tile<i64> -> tile<ptr<f64>>\n%r = ptr_to_ptr %d : tile<ptr<f64>> -> tile<ptr<i8>>"
    )
    assert Facts().divisor(last(body)) == 32


def test_a_pointer_from_a_known_number_is_known() -> None:
    body = "%i = constant <i64: 4096> : tile<i64>\n%r = int_to_ptr %i : tile<i64> -> tile<ptr<f32>>"
    assert Facts().divisor(last(body)) == 4096
    body += "\n%z = constant <i32: 0> : tile<i32>\n%o = offset %r, %z : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>"
    assert Facts().divisor(last(body)) == 4096


def test_an_offset_counts_in_elements_of_what_is_pointed_to() -> None:
    text = (
        "%i = constant <i64: 4096> : tile<i64>\n%q = int_to_ptr %i : tile<i64> -> tile<ptr<{0}>>\n"
        "%r = offset %q, %a : tile<ptr<{0}>>, tile<i32> -> tile<ptr<{0}>>"
    )
    assert [Facts().divisor(last(text.format(element))) for element in ("i8", "f16", "f32", "f64")] == [1, 2, 4, 8]


def test_a_bitcast_of_a_float_says_nothing_about_the_integer() -> None:
    body = "%f = constant <f32: 0.0> : tile<f32>\n%r = bitcast %f : tile<f32> -> tile<i32>"
    assert Facts().range(last(body)) == (-(1 << 31), (1 << 31) - 1)


def _leading_zeros(bits: int) -> int:
    return 8 - bits.bit_length()


def _trailing_zeros(bits: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else 8


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("clz", _leading_zeros),
        ("ctz", _trailing_zeros),
        ("popcnt", lambda bits: bin(bits).count("1")),
        ("noti", lambda bits: bits ^ 0xFF),
        ("brev", lambda bits: int(f"{bits:08b}"[::-1], 2)),
    ],
)
def test_facts_hold_for_the_bit_operations_of_the_drafts(name: str, compute: Callable[[int], int]) -> None:
    rng = Random(name)
    for _ in range(40):
        low, high = sorted((rng.randrange(-128, 128), rng.randrange(-128, 128)))
        body = f"%s = assume bounded<{low}, {high}>, %a : tile<i8>\n%r = {name} %s : tile<i8>"
        value = kernel(body, "%a: tile<i8>").regions[0].block.last.previous.results[0]
        facts = Facts()
        for number in range(low, high + 1):
            facts_hold(facts, value, [compute(number & 0xFF)])
    if name in ("clz", "ctz", "popcnt"):
        assert facts.range(value) == (0, 8)


@pytest.mark.parametrize("inside", [(0, 4), (-8, 40)])
def test_an_insertion_may_be_either_tile(inside: tuple[int, int]) -> None:
    body = (
        f"%z = constant <i32: 0> : tile<i32>\n%s = constant <i32: [{inside[0]}, {inside[1]}]> : tile<2xi32>\n"
        "%d = constant <i32: [4, 8, 16, 4, 4, 12, 4, 4]> : tile<8xi32>\n"
        "%r = insert %s, %d[%z] : tile<2xi32>, tile<8xi32>"
    )
    facts = Facts()
    assert facts.range(last(body)) == (min(inside[0], 4), max(inside[1], 16))
    assert facts.divisor(last(body)) == 4


def test_an_extraction_is_part_of_its_source() -> None:
    body = (
        "%z = constant <i32: 0> : tile<i32>\n%d = constant <i32: [4, 8, 16, 4, 4, 12, 4, 4]> : tile<8xi32>\n"
        "%r = extract %d[%z] : tile<8xi32> -> tile<2xi32>"
    )
    assert Facts().range(last(body)) == (4, 16)
    assert Facts().divisor(last(body)) == 4


def test_the_number_of_tiles_of_a_static_view_is_a_constant() -> None:
    view = "partition_view<tile=(4x8), tensor_view<?x100xf32, strides=[100,1]>>"
    body = (
        "%v = make_tensor_view %p, shape = [%a, 100], strides = [100, 1] : tile<i32> -> "
        "tensor_view<?x100xf32, strides=[100,1]>\n"
        f"%w = make_partition_view %v : {view}\n%n, %m = get_index_space_shape %w : {view} -> tile<i32>"
    )
    shape = kernel(body).regions[0].block.last.previous
    facts = Facts()
    assert facts.constant(shape.results[0]) is None
    assert facts.constant(shape.results[1]) == 13


def test_a_promise_about_groups_is_no_promise_about_each_element() -> None:
    body = "%i = iota : tile<16xi32>\n%r = assume div_by<4, every 4 along 0>, %i : tile<16xi32>"
    assert Facts().divisor(last(body)) == 1


def test_uniformity_comes_from_broadcasts_splats_and_promises() -> None:
    facts = Facts()
    splat = last("%c = constant <i32: 3> : tile<8xi32>\n%r = addi %c, %c : tile<8xi32>")
    assert facts.is_uniform(splat)
    counting = last("%r = iota : tile<8xi32>")
    assert not facts.is_uniform(counting) and facts.groups(counting) == (1,)
    rows = last(
        "%i = iota : tile<8xi32>\n%c = reshape %i : tile<8xi32> -> tile<8x1xi32>\n"
        "%r = broadcast %c : tile<8x1xi32> -> tile<8x4xi32>"
    )
    assert facts.groups(rows) == (1, 4)
    promised = last(
        "%i = iota : tile<8xi32>\n%s = assume same_elements<[4]>, %i : tile<8xi32>\n"
        "%c = constant <i32: 3> : tile<8xi32>\n%r = muli %s, %c : tile<8xi32>"
    )
    assert facts.groups(promised) == (4,)
    assert facts.is_uniform(last("%r = addi %a, %b : tile<i32>"))


@pytest.mark.parametrize(
    ("body", "groups"),
    [
        ("%r = permute %g [1, 0] : tile<8x4xi32> -> tile<4x8xi32>", (4, 1)),
        ("%r = extract %g[%a, %b] : tile<8x4xi32> -> tile<4x2xi32>", (1, 2)),
        ("%r = cat %g, %g dim = 1 : tile<8x4xi32>, tile<8x4xi32> -> tile<8x8xi32>", (1, 4)),
        ("%r = cat %g, %g dim = 0 : tile<8x4xi32>, tile<8x4xi32> -> tile<16x4xi32>", (1, 4)),
        ("%r = reshape %g : tile<8x4xi32> -> tile<32xi32>", (1,)),
        ("%s = constant <i32: 5> : tile<8x4xi32>\n%r = reshape %s : tile<8x4xi32> -> tile<32xi32>", (32,)),
        ("%z = reshape %a : tile<i32> -> tile<1x1xi32>\n%r = broadcast %z : tile<1x1xi32> -> tile<8x4xi32>", (8, 4)),
        ("%f = itof %g signed : tile<8x4xi32> -> tile<8x4xf32>", (1, 4)),
    ],
)
def test_shapes_carry_what_is_alike(body: str, groups: tuple[int, ...]) -> None:
    rows = (
        "%i = iota : tile<8xi32>\n%c = reshape %i : tile<8xi32> -> tile<8x1xi32>\n"
        "%g = broadcast %c : tile<8x1xi32> -> tile<8x4xi32>\n"
    )
    value = last(rows + body)
    assert Facts().groups(value) == groups
    if value.type.element.text == "i32" and "%a" not in body and "%s" not in body:
        assert Facts().range(value) == (0, 7)


def test_the_induction_variable_stays_in_its_range_and_keeps_the_divisor() -> None:
    body = """
      %lb = constant <i32: 32> : tile<i32>
      %ub = constant <i32: 100> : tile<i32>
      %st = constant <i32: 16> : tile<i32>
      for %i in (%lb to %ub, step %st) : tile<i32> {
        %r = addi %i, %lb : tile<i32>
        continue
      }"""
    loop = kernel(body).regions[0].block.last.previous
    facts = Facts()
    index = loop.regions[0].block.arguments[0]
    assert facts.range(index) == (32, 96)
    assert facts.divisor(index) == 16
    assert facts.range(loop.regions[0].block.first.result) == (64, 128)


def test_a_carried_value_keeps_what_every_iteration_confirms() -> None:
    body = """
      %zero = constant <i32: 0> : tile<i32>
      %step = constant <i32: 64> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %r = for %i in (%zero to %a, step %one) : tile<i32> iter_values(%offset = %zero) -> (tile<i32>) {
        %next = addi %offset, %step : tile<i32>
        continue %next : tile<i32>
      }"""
    facts = Facts()
    value = last(body)
    assert facts.divisor(value) == 64
    # It grows, and may wrap.
    assert facts.range(value) == (-(1 << 31), (1 << 31) - 64)
    promised = last(body.replace("%step : tile", "%step overflow<no_signed_wrap> : tile"))
    assert Facts().range(promised) == (0, (1 << 31) - 64)


def test_a_loop_gives_what_its_breaks_give() -> None:
    body = """
      %zero = constant <i32: 0> : tile<i32>
      %four = constant <i32: 4> : tile<i32>
      %r = loop iter_values(%x = %zero) : tile<i32> -> tile<i32> {
        %c = cmpi equal %x, %a, signed : tile<i32> -> tile<i1>
        if %c {
          break %four : tile<i32>
        }
        %y = maxi %x, %four signed : tile<i32>
        continue %y : tile<i32>
      }"""
    loop = kernel(body).regions[0].block.last.previous
    facts = Facts()
    assert facts.constant(loop.result) == 4
    assert facts.range(loop.regions[0].block.arguments[0])[0] == 0
    assert facts.divisor(loop.regions[0].block.arguments[0]) == 4


def test_static_extents_of_views_are_constants() -> None:
    body = (
        "%v = make_tensor_view %p, shape = [100, %a], strides = [64, 1] : tile<i32> -> tensor_view<100x?xf32, strides=[64,1]>\n"
        "%n, %m = get_tensor_shape %v : tensor_view<100x?xf32, strides=[64,1]> -> tile<i32>"
    )
    shape = kernel(body).regions[0].block.last.previous
    facts = Facts()
    assert facts.constant(shape.results[0]) == 100
    assert facts.constant(shape.results[1]) is None


def test_a_fact_is_kept_until_it_is_forgotten() -> None:
    body = "%c = constant <i32: 4> : tile<i32>\n%s = addi %c, %c : tile<i32>\n%r = addi %s, %s : tile<i32>"
    block = kernel(body).regions[0].block
    constant, total, result = [block.operations[i].result for i in range(3)]
    facts = Facts()
    assert facts.constant(result) == 16
    total.defining_operation.set_operand(0, block.arguments[0])
    assert facts.constant(result) == 16
    facts.forget(total)
    assert facts.constant(result) is None and facts.constant(constant) == 4
    total.defining_operation.set_operand(0, constant)
    facts.invalidate()
    assert facts.constant(result) == 16


def test_forgetting_reaches_through_loops_and_branches() -> None:
    body = """
      %c = constant <i32: 4> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %x = addi %c, %c : tile<i32>
      %r = for %i in (%one to %c, step %one) : tile<i32> iter_values(%k = %x) -> (tile<i32>) {
        %t = cmpi equal %i, %a, signed : tile<i32> -> tile<i1>
        %z = if %t -> (tile<i32>) {
          yield %k : tile<i32>
        } else {
          yield %x : tile<i32>
        }
        continue %z : tile<i32>
      }"""
    block = kernel(body).regions[0].block
    total = block.operations[2]
    value = block.last.previous.result
    facts = Facts()
    assert facts.constant(value) == 8
    total.set_operand(0, block.arguments[0])
    facts.forget(total.result)
    assert facts.constant(value) is None


def test_long_chains_and_deep_nests_do_not_exhaust_the_stack() -> None:
    b = tileir.Builder("m")
    with b.entry("k", "i32") as (x,):
        value = x
        for _ in range(5_000):
            value = b.addi(value, x)
    assert Facts().range(value) == (-(1 << 31), (1 << 31) - 1)


def test_values_without_integers_have_no_range() -> None:
    value = last("%r = constant <f32: 1.0> : tile<4xf32>")
    with pytest.raises(ValueError, match="has no range"):
        Facts().range(value)
    assert Facts().is_uniform(value)
    assert Facts().integer(value) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("%r = constant <f32: 1.5> : tile<4xf32>", 1.5),
        ("%r = constant <bf16: -0.125> : tile<bf16>", -0.125),
        ("%r = constant <f64: [2.0, 2.0]> : tile<2xf64>", 2.0),
        ("%r = constant <f32: [1.0, 2.0]> : tile<2xf32>", None),
        ("%r = constant <i32: -7> : tile<4xi32>", -7),
        ("%c = constant <f32: 3.0> : tile<1xf32> %r = broadcast %c : tile<1xf32> -> tile<8xf32>", 3.0),
    ],
)
def test_the_constant_of_a_float_is_a_float(text: str, number: float | None) -> None:
    assert Facts().constant(last(text)) == number


def test_every_value_of_the_generated_kinds_is_reached() -> None:
    """The random programs hold every operation the evaluator knows, so that none goes untested."""
    from tests.rewrite.integer_programs import ELEMENTWISE

    found: set[str] = set()
    for seed in range(60):
        for operation in RandomProgram(Random(seed)).module.walk():
            found.add(operation.declaration.mnemonic)
    assert set(ELEMENTWISE) | {"for", "if", "select", "assume", "iota", "broadcast"} <= found
    assert width_of(last("%r = addi %a, %b : tile<i32>")) == 32

"""Loop splitting: each condition, positive and near miss, and that the two loops do what the one did."""

from __future__ import annotations

from random import Random

import pytest
from tests.passes.programs import function_of, module_of, names, numbers, stored
from tests.sampling import one_in

import tileir
from tileir.ir.core import Operation
from tileir.passes import loop_split

ARGUMENTS = "%lb: tile<i8>, %ub: tile<i8>, %st: tile<i8>, %n: tile<i8>, %p: tile<i64>"
CONSTANT_BOUNDS = {
    "%lb": "%lb = constant <i8: 0> : tile<i8>",
    "%ub": "%ub = constant <i8: 100> : tile<i8>",
    "%st": "%st = constant <i8: 1> : tile<i8>",
    "%n": "%n = constant <i8: 32> : tile<i8>",
}


def loop(
    condition: str = "less_than %i, %n",
    *,
    sign: str = "signed",
    unsigned: str = "",
    then: str = "%t = addi %s, %i : tile<i8>\nyield %t : tile<i8>",
    other: str = "%e = subi %s, %i : tile<i8>\nyield %e : tile<i8>",
    after: str = "",
    if_attributes: str = "",
    for_attributes: str = "",
) -> str:
    """A loop that stores the induction variable and what its `if` gives in each iteration."""
    return f"""
      %q = int_to_ptr %p : tile<i64> -> tile<ptr<i8>>
      %r = for {unsigned} %i in (%lb to %ub, step %st) : tile<i8> iter_values(%s = %lb) -> (tile<i8>) {{
        %u1 = store_ptr_tko weak %q, %i : tile<ptr<i8>>, tile<i8> -> token
        %c = cmpi {condition}, {sign} : tile<i8> -> tile<i1>
        %x = if %c -> (tile<i8>) {{
          {then}
        }} else {{
          {other}
        }} {if_attributes}
        {after}
        %u2 = store_ptr_tko weak %q, %x : tile<ptr<i8>>, tile<i8> -> token
        continue %x : tile<i8>
      }} {for_attributes}
      %u3 = store_ptr_tko weak %q, %r : tile<ptr<i8>>, tile<i8> -> token"""


def with_constants(body: str) -> str:
    """The loop with known bounds, so that nothing can wrap."""
    return "\n".join(CONSTANT_BOUNDS.values()) + body


def constant_module(body: str, attributes: str = "") -> Operation:
    return module_of(with_constants(body), "%p: tile<i64>", attributes)


def split(body: str, attributes: str = "", threshold: int = 1) -> tuple[int, Operation]:
    module = constant_module(body, attributes)
    before = str(module)
    count = loop_split.run(module, threshold)
    tileir.verify(module)
    assert (str(module) == before) == (count == 0)
    return count, module


def loops(module: Operation) -> list[Operation]:
    return [o for o in function_of(module).walk() if o.name == "cuda_tile.for"]


# --- the form ---


@pytest.mark.parametrize(
    ("condition", "adds_one", "first"),
    [
        ("less_than %i, %n", False, "addi"),
        ("less_than_or_equal %i, %n", True, "addi"),
        ("greater_than %i, %n", True, "subi"),
        ("greater_than_or_equal %i, %n", False, "subi"),
        ("less_than %n, %i", True, "subi"),
        ("less_than_or_equal %n, %i", False, "subi"),
        ("greater_than %n, %i", False, "addi"),
        ("greater_than_or_equal %n, %i", True, "addi"),
    ],
)
def test_every_order_on_either_side_splits(condition: str, adds_one: bool, first: str) -> None:
    count, module = split(loop(condition))
    assert count == 1
    one, two = loops(module)
    assert [o.declaration.mnemonic for o in one.regions[0].block] == [
        "store_ptr_tko",
        first,
        "store_ptr_tko",
        "continue",
    ]
    second = "subi" if first == "addi" else "addi"
    assert [o.declaration.mnemonic for o in two.regions[0].block] == [
        "store_ptr_tko",
        second,
        "store_ptr_tko",
        "continue",
    ]
    between = [o.declaration.mnemonic for o in function_of(module).regions[0].block]
    assert between[4:-4] == ["int_to_ptr", *(["constant", "addi"] if adds_one else []), "mini", "maxi"]
    assert two.operands[3] is one.results[0]


@pytest.mark.parametrize("condition", ["equal %i, %n", "not_equal %n, %i"])
def test_equality_does_not_split(condition: str) -> None:
    assert split(loop(condition))[0] == 0


def test_signedness_must_be_the_loops() -> None:
    assert split(loop(sign="unsigned"))[0] == 0
    assert split(loop(unsigned="unsigned", sign="signed"))[0] == 0
    count, module = split(loop(unsigned="unsigned", sign="unsigned"))
    assert count == 1
    orders = [o for o in function_of(module).walk() if o.declaration.mnemonic in ("mini", "maxi")]
    assert [o.attribute("signedness").keyword for o in orders] == ["unsigned", "unsigned"]
    assert all("unsignedCmp" in o.attributes for o in loops(module))


def test_the_other_side_must_come_from_outside_the_loop() -> None:
    inside = loop("less_than %i, %v").replace("%c = cmpi", "%v = addi %n, %n : tile<i8>\n%c = cmpi")
    assert split(inside)[0] == 0
    # Block arguments of the loop are inside too.
    assert split(loop("less_than %i, %s"))[0] == 0
    assert split(loop("less_than %i, %i"))[0] == 0


def test_the_condition_must_be_about_the_induction_variable() -> None:
    assert split(loop("less_than %ub, %n"))[0] == 0
    shifted = loop("less_than %v, %n").replace("%c = cmpi", "%v = addi %i, %i : tile<i8>\n%c = cmpi")
    assert split(shifted)[0] == 0


def test_a_step_other_than_one_aligns_the_split_point() -> None:
    body = with_constants(loop("greater_than %i, %n")).replace("%st = constant <i8: 1>", "%st = constant <i8: 3>")
    module = module_of(body, "%p: tile<i64>")
    assert loop_split.run(module) == 1
    tileir.verify(module)
    between = [o.declaration.mnemonic for o in function_of(module).regions[0].block]
    assert between[4:-4] == ["int_to_ptr", "constant", "addi", "subi", "divi", "muli", "addi", "mini", "maxi"]
    division = next(o for o in module.walk() if o.declaration.mnemonic == "divi")
    assert division.attribute("rounding").keyword == "positive_inf"
    assert division.attribute("signedness").keyword == "signed"


def test_other_uses_of_the_comparison_see_a_constant() -> None:
    count, module = split(loop(after="%z = select %c, %x, %n : tile<i1>, tile<i8>"))
    assert count == 1
    one, two = [half.regions[0].block.operations for half in loops(module)]
    assert [o.declaration.mnemonic for o in one][:2] == ["store_ptr_tko", "constant"]
    assert one[1].attributes["value"].literal == "true" and two[1].attributes["value"].literal == "false"


def test_a_branch_that_continues_ends_the_body() -> None:
    count, module = split(loop(then="%t = addi %s, %i : tile<i8>\ncontinue %t : tile<i8>"))
    assert count == 1
    one, two = [[o.declaration.mnemonic for o in half.regions[0].block] for half in loops(module)]
    assert one == ["store_ptr_tko", "addi", "continue"]
    assert two == ["store_ptr_tko", "subi", "store_ptr_tko", "continue"]


def test_an_if_without_else_leaves_nothing_behind() -> None:
    body = loop(after="if %c {\n%u4 = store_ptr_tko weak %q, %s : tile<ptr<i8>>, tile<i8> -> token\nyield\n}")
    count, module = split(body)
    assert count == 1
    one, two = [[o.declaration.mnemonic for o in half.regions[0].block] for half in loops(module)]
    assert one.count("store_ptr_tko") == 3 and two.count("store_ptr_tko") == 2


def test_a_nested_if_keeps_the_constant_as_its_condition() -> None:
    inner = "if %c {\n%u4 = store_ptr_tko weak %q, %s : tile<ptr<i8>>, tile<i8> -> token\nyield\n}"
    count, module = split(
        loop(after=f"%d = cmpi equal %s, %n, signed : tile<i8> -> tile<i1>\nif %d {{\n{inner}\nyield\n}}")
    )
    assert count == 1
    assert names(module).count("if") == 4


def test_a_comparison_inside_a_branch_becomes_constant_there() -> None:
    """Otherwise the same loops could be split again and again, without end."""
    inner = (
        "%c2 = cmpi greater_than %i, %n, signed : tile<i8> -> tile<i1>\n"
        "if %c2 {\n%u4 = store_ptr_tko weak %q, %s : tile<ptr<i8>>, tile<i8> -> token\nyield\n}"
    )
    after = f"%d = cmpi equal %s, %n, signed : tile<i8> -> tile<i1>\nif %d {{\n{inner}\nyield\n}}"
    count, module = split(loop("equal %i, %n", after=after))
    assert count == 1
    assert loop_split.run(module) == 0


SECOND_CONDITION = "%d = cmpi less_than %i, %ub, signed : tile<i8> -> tile<i1>\nif %d {\nyield\n}"


@pytest.mark.parametrize("hint_of_if", ["", "1"])
def test_a_loop_is_split_at_one_condition_and_its_halves_are_marked(hint_of_if: str) -> None:
    count, module = split(loop(after=f"{SECOND_CONDITION} {hint(hint_of_if)}"))
    assert count == 1 and len(loops(module)) == 2
    assert [str(half.attributes.get("cuda_tile.loop_split")) for half in loops(module)] == ["0 : i64", "0 : i64"]
    assert loop_split.run(module) == 0


def test_a_loop_with_one_condition_leaves_no_marks() -> None:
    _, module = split(loop())
    assert not any("cuda_tile.loop_split" in operation.attributes for operation in module.walk())


def test_inner_loops_are_split_before_the_ones_around_them() -> None:
    inner = "for %j in (%lb to %ub, step %st) : tile<i8> {\n%cj = cmpi less_than %j, %n, signed : tile<i8> -> tile<i1>\nif %cj {\nyield\n}\ncontinue\n}"
    count, module = split(loop(after=inner))
    assert count == 2 and len(loops(module)) == 6


def test_attributes_of_the_loop_are_kept() -> None:
    _, module = split(loop(for_attributes='{tileir.note = "x"}'))
    assert ["tileir.note" in half.attributes for half in loops(module)] == [True, True]


# --- when it pays ---


@pytest.mark.parametrize(
    ("on_if", "on_for", "on_entry", "option", "splits"),
    [
        ("", "", "", 1, True),
        ("", "", "", 0, False),
        ("", "", "0", 1, False),
        ("", "", "1", 0, True),
        ("", "0", "1", 1, False),
        ("", "1", "0", 0, True),
        ("0", "1", "1", 1, False),
        ("1", "0", "0", 0, True),
    ],
)
def test_the_closest_hint_decides(on_if: str, on_for: str, on_entry: str, option: int, splits: bool) -> None:
    body = loop(if_attributes=hint(on_if), for_attributes=hint(on_for))
    assert split(body, hint(on_entry), option)[0] == splits


def hint(value: str) -> str:
    return f"{{cuda_tile.loop_split = {value}}}" if value else ""


def test_a_threshold_asks_for_that_many_operations_in_a_branch() -> None:
    two = "%t0 = addi %s, %i : tile<i8>\n%t = addi %t0, %i : tile<i8>\nyield %t : tile<i8>"
    assert split(loop(then=two), threshold=2)[0] == 1
    assert split(loop(other=two.replace("%t", "%w")), threshold=2)[0] == 1
    assert split(loop(then=two), threshold=3)[0] == 0


@pytest.mark.parametrize(
    "expensive",
    [
        "%l, %lt = load_ptr_tko weak %q : tile<ptr<i8>> -> tile<i8>, token",
        "%lt = store_ptr_tko weak %q, %s : tile<ptr<i8>>, tile<i8> -> token",
        "if %c {\nyield\n}",
        "for %j in (%lb to %ub, step %st) : tile<i8> {\ncontinue\n}",
    ],
)
def test_an_expensive_operation_outweighs_the_threshold(expensive: str) -> None:
    assert split(loop(then=f"{expensive}\nyield %s : tile<i8>"), threshold=100)[0] == 1
    assert split(loop(then="%m = muli %s, %s : tile<i8>\nyield %m : tile<i8>"), threshold=100)[0] == 0


def test_another_if_on_the_same_condition_may_pay() -> None:
    heavy = "if %c {\n%u4 = store_ptr_tko weak %q, %s : tile<ptr<i8>>, tile<i8> -> token\nyield\n}"
    assert split(loop(after=heavy), threshold=100)[0] == 1


# --- what it computes ---


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("sign", "relation"),
    one_in(
        2,
        [
            *(
                ("signed", each)
                for each in ("less_than", "greater_than", "greater_than_or_equal", "less_than_or_equal")
            ),
            *(
                ("unsigned", each)
                for each in ("less_than_or_equal", "greater_than_or_equal", "greater_than", "less_than")
            ),
        ],
    ),
)
def test_the_two_loops_do_what_the_one_did(sign: str, relation: str) -> None:
    """With all values at the ends of the range, where NVIDIA's split point wraps."""
    unsigned = "unsigned" if sign == "unsigned" else ""
    rng = Random(f"{sign}{relation}")
    for order in ("%i, %n", "%n, %i"):
        original = module_of(loop(f"{relation} {order}", sign=sign, unsigned=unsigned), ARGUMENTS)
        changed = tileir.parse(str(original))
        assert loop_split.run(changed) == 1
        tileir.verify(changed)
        for _ in range(250):
            lower, upper, bound = numbers(rng, 8, 3)
            step = rng.choice((1, 1, 2, 3, 7, 40, 100, 127, *([200, 255] if unsigned else [])))
            arguments = [lower, upper, step, bound, 0]
            expected = stored(original, arguments)
            assert expected is not None
            assert stored(changed, arguments) == expected, arguments


@pytest.mark.parametrize("step", [1, 3, 64])
def test_the_short_form_is_right_where_it_is_used(step: int) -> None:
    rng = Random(step)
    for _ in range(60):
        low, high = sorted((rng.randrange(-128, 128), rng.randrange(-128, 128)))
        relation = rng.choice(("less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal"))
        body = (
            f"%st = constant <i8: {step}> : tile<i8>\n%n = assume bounded<{low}, {high}>, %n0 : tile<i8>\n"
            f"%lb = assume bounded<{rng.randrange(-128, 0)}, {rng.randrange(0, 128)}>, %lb0 : tile<i8>"
            + loop(f"{relation} %i, %n")
        )
        original = module_of(body, "%lb0: tile<i8>, %ub: tile<i8>, %n0: tile<i8>, %p: tile<i64>")
        changed = tileir.parse(str(original))
        assert loop_split.run(changed) == 1
        for _ in range(25):
            arguments = [*numbers(rng, 8, 3), 0]
            expected = stored(original, arguments)
            if expected is not None:
                assert stored(changed, arguments) == expected, (body, arguments)

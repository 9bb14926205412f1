"""Where rules that look into tokens, loops and facts have to speak, and where they must not."""

from __future__ import annotations

import pytest

import tileir
from tileir import smith

LOAD = "%x, %read = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token"
HEAD = "entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>, %a: tile<i32>) {"
GIVEN = (
    "%zero = constant <i32: 0> : tile<i32>",
    "%one = constant <i32: 1> : tile<i32>",
    "%c = cmpi less_than %n, %a, signed : tile<i32> -> tile<i1>",
    "%bx, %by, %bz = get_tile_block_id : tile<i32>",
)


def store(name: str, more: str = "", where: str = "%p", ordering: str = "weak") -> str:
    return f"%{name} = store_ptr_tko {ordering} {where}, %a{more} : tile<ptr<i32>>, tile<i32> -> token"


def loop(*body: str) -> list[str]:
    return ["for %i in (%zero to %n, step %one) : tile<i32> {", *body, "continue", "}"]


def found(rule: str, *body: str, top: str = "") -> int:
    """How many findings of a rule a kernel has."""
    text = (
        "\n".join([top, HEAD, *GIVEN, *body, "return", "}"]) if top else "\n".join([HEAD, *GIVEN, *body, "return", "}"])
    )
    return len(tileir.lint(tileir.parse(text, verify=True), select=[rule]))


# --- tokens ---


def test_accesses_of_one_place_need_a_token() -> None:
    assert found("missing-token", store("s"), store("t")) == 1
    assert found("missing-token", store("s"), store("t", " token=%s")) == 0
    assert found("missing-token", store("s"), "%j = make_token : token", store("t", " token=%j")) == 1
    joined = ["%m = make_token : token", store("s"), "%j = join_tokens %m, %s : token", store("t", " token=%j")]
    assert found("missing-token", *joined) == 0
    assert found("missing-token", LOAD, LOAD.replace("%x, %read", "%y, %again")) == 0
    assert found("missing-token", store("s"), store("t", where="%q")) == 0


def test_places_are_the_same_if_they_are_computed_alike() -> None:
    def offset(name: str, index: str) -> str:
        return f"%{name} = offset %p, {index} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"

    sum = "%{} = addi %n, %one : tile<i32>"
    both = [sum.format("i"), sum.format("j"), offset("f", "%i"), offset("g", "%j")]
    assert found("missing-token", *both, store("s", where="%f"), store("t", where="%g")) == 1
    other = [sum.format("i"), sum.format("j").replace("%one", "%zero"), offset("f", "%i"), offset("g", "%j")]
    assert found("missing-token", *other, store("s", where="%f"), store("t", where="%g")) == 0


def test_branches_exclude_each_other() -> None:
    assert found("missing-token", "if %c {", store("s"), "} else {", store("t"), "}") == 0
    assert found("missing-token", "if %c {", store("s"), "return", "} else {", "}", store("t")) == 0
    assert found("missing-token", "if %c {", store("s"), "}", store("t")) == 1


def test_strong_accesses_of_one_place_need_no_token() -> None:
    first, second = store("s", ordering="relaxed device"), store("t", ordering="relaxed device")
    assert found("missing-token", first, second) == 0
    assert found("missing-token", first, store("t")) == 1


def test_rounds_of_a_loop_are_ordered_by_what_it_carries() -> None:
    assert found("missing-token", *loop(store("s"))) == 1
    moving = "%r = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"
    assert found("missing-token", *loop(moving, store("s", where="%r"))) == 0
    carried = [
        "%m = make_token : token",
        "%last = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%t = %m) -> (token) {",
        store("s", " token=%t"),
        "continue %s : token",
        "}",
    ]
    assert found("missing-token", *carried) == 0
    assert found("missing-token", *carried, store("u", " token=%last")) == 0
    assert found("missing-token", *carried, store("u")) == 1


def test_a_break_leaves_what_is_behind_it_in_its_loop() -> None:
    body = ["loop {", "if %c {", store("s"), "break", "}", store("t"), "break", "}"]
    assert found("missing-token", *body) == 0


def test_a_dead_store_has_its_successor_and_nobody_else_behind_it() -> None:
    assert found("dead-store", store("s"), store("t", " token=%s")) == 1
    read = LOAD.replace("%p :", "%q token=%s :")
    assert found("dead-store", store("s"), read, store("t", " token=%s")) == 0
    assert found("dead-store", store("s", ordering="release device"), store("t", " token=%s")) == 0
    assert found("dead-store", store("s"), "if %c {", store("t", " token=%s"), "}") == 0
    assert found("dead-store", store("s"), store("t", " token=%s", where="%q")) == 0


def test_a_masked_store_does_not_overwrite_a_whole_one() -> None:
    def masked(name: str, mask: str, token: str) -> str:
        types = "tile<ptr<i32>>, tile<i32>, tile<i1>" if mask else "tile<ptr<i32>>, tile<i32>"
        return f"%{name} = store_ptr_tko weak %p, %a{mask}{token} : {types} -> token"

    assert found("dead-store", masked("s", "", ""), masked("t", ", %c", " token=%s")) == 0
    assert found("dead-store", masked("s", ", %c", ""), masked("t", ", %c", " token=%s")) == 1
    assert found("dead-store", masked("s", ", %c", ""), masked("t", "", " token=%s")) == 1


# --- tile blocks ---


def test_stores_of_all_blocks() -> None:
    rule = "same-store-in-every-block"
    assert found(rule, store("s")) == 1
    assert found(rule, store("s"), top="// tileir: --grid 1,1 --arg zeros:i32:1") == 0
    assert found(rule, store("s"), top="// tileir: --grid 1,16 --arg zeros:i32:1") == 1
    first = "%first = cmpi equal %bx, %zero, signed : tile<i32> -> tile<i1>"
    assert found(rule, first, "if %first {", store("s"), "}") == 0
    assert found(rule, first, "if %first {", "} else {", "return", "}", store("s")) == 0
    assert found(rule, *loop(store("s"))) == 1
    assert found(rule, *[line.replace("%n,", "%bx,") for line in loop(store("s"))]) == 0
    turn = "%o, %w = atomic_rmw_tko acq_rel device %q, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    assert found(rule, turn, store("s", " token=%w")) == 0
    ticket = turn.replace("acq_rel", "relaxed")
    mine = "%r = offset %p, %o : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"
    assert found(rule, ticket, mine, store("s", where="%r")) == 0


# --- arithmetic ---


def test_remainders_that_round_down_are_no_constant_comparisons() -> None:
    body = [
        "%two = constant <i32: 2> : tile<i32>",
        "%r = remi %bx, %two signed : tile<i32>",
        "%negative = cmpi less_than %r, %zero, signed : tile<i32> -> tile<i1>",
        "%other = cmpi less_than %two, %zero, signed : tile<i32> -> tile<i1>",
        "%unlike = xori %negative, %other : tile<i1>",
        "%more = addi %r, %two : tile<i32>",
        "%floor = select %unlike, %more, %r : tile<i1>, tile<i32>",
        store("s").replace("%a", "%floor"),
    ]
    assert found("constant-comparison", *body) == 0
    assert found("constant-condition", *body) == 0


def test_products_overflow_only_as_addresses_and_beyond_what_is_known() -> None:
    address = "%r = offset %p, %m : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>"
    product = "%m = muli %bx, %n : tile<i32>"
    assert found("index-overflow", product, address, store("s", where="%r")) == 1
    assert found("index-overflow", product, store("s").replace("%a", "%m")) == 0
    assert found("index-overflow", product.replace(" :", " overflow<no_signed_wrap> :"), address) == 0
    bounded = ["%b = assume bounded<0, 1000>, %n : tile<i32>", "%e = assume bounded<0, 1000>, %bx : tile<i32>"]
    assert found("index-overflow", *bounded, "%m = muli %e, %b : tile<i32>", address) == 0
    counted = ["%gx, %gy, %gz = get_num_tile_blocks : tile<i32>", "%m = muli %by, %gx : tile<i32>"]
    assert found("index-overflow", *counted, address) == 0


@pytest.mark.parametrize(("divisor", "findings"), [(8, 1), (6, 0), (1, 1)])
def test_divisions_by_constants(divisor: int, findings: int) -> None:
    body = [f"%d = constant <i32: {divisor}> : tile<i32>", "%m = divi %bx, %d signed : tile<i32>"]
    assert found("cheap-division", *body) == findings
    assert found("cheap-division", body[0], "%m = divi %n, %d signed : tile<i32>") == 0


# --- loads ---


def test_loads_of_a_loop_that_writes_are_not_invariant() -> None:
    assert found("invariant-load", *loop(LOAD)) == 1
    assert found("invariant-load", *loop(LOAD, store("s", where="%q"))) == 0
    assert found("invariant-load", *loop("if %c {", LOAD, "}")) == 0


# --- programs that are known to be right ---


def undefined(seeds: range) -> list[tuple[int, str]]:
    rules = ["missing-token", "undefined-arithmetic", "false-assumption", "index-outside-view"]
    return [(seed, f.rule) for seed in seeds for f in tileir.lint(smith(seed).module, select=rules)]


def test_random_programs_without_undefined_behavior_are_not_said_to_have_some() -> None:
    assert undefined(range(60)) == []


@pytest.mark.long
def test_many_random_programs_are_not_said_to_be_undefined() -> None:
    assert undefined(range(60, 3000)) == []


# --- padding ---


def products(rows: int, depth: int) -> int:
    """How many loads lack padding in a product of matrices of 8 by 8 tiles."""
    left = f"partition_view<tile=(8x8), tensor_view<{rows}x{depth}xf32, strides=[{depth},1]>>"
    right = f"partition_view<tile=(8x8), tensor_view<{depth}x64xf32, strides=[64,1]>>"
    text = f"""entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %i: tile<i32>) {{
  %a = make_tensor_view %p, shape = [{rows}, {depth}], strides = [{depth}, 1] : tensor_view<{rows}x{depth}xf32, strides=[{depth},1]>
  %b = make_tensor_view %q, shape = [{depth}, 64], strides = [64, 1] : tensor_view<{depth}x64xf32, strides=[64,1]>
  %as = make_partition_view %a : {left}
  %bs = make_partition_view %b : {right}
  %x, %t = load_view_tko weak %as[%i, %i] : {left}, tile<i32> -> tile<8x8xf32>, token
  %y, %u = load_view_tko weak %bs[%i, %i] : {right}, tile<i32> -> tile<8x8xf32>, token
  %zero = constant <f32: 0.0> : tile<8x8xf32>
  %z = mmaf %x, %y, %zero : tile<8x8xf32>, tile<8x8xf32>, tile<8x8xf32>
  print_tko "%f\\n", %z : tile<8x8xf32> -> token
  return
}}"""
    return len(tileir.lint(tileir.parse(text, verify=True), select=["missing-padding"]))


def test_padding_is_missing_only_where_elements_are_added_up() -> None:
    assert products(64, 64) == 0
    # Rows beyond the array are rows of the result beyond its array.
    assert products(60, 64) == 0
    assert products(64, 60) == 2


def test_what_only_an_unused_value_needs_goes_with_it() -> None:
    rows = "\n".join([f"%v{i + 1} = addi %v{i}, %c : tile<i32>" for i in range(300)])
    text = f"entry @k(%c: tile<i32>) {{\n%v0 = addi %c, %c : tile<i32>\n{rows}\nreturn\n}}"
    (finding,) = tileir.lint(tileir.parse(text, verify=True), select=["unused-value"])
    assert finding.fix is not None and len(finding.fix.deletions) == 301

"""Passes that keep the locations of everything that an operation stands for."""

from __future__ import annotations

import tileir
from tileir.ir.core import Operation
from tileir.ir.location import FileLocation, FusedLocation, Location, UnknownLocation


def lines_of(location: Location) -> set[int]:
    if isinstance(location, FusedLocation):
        return set().union(*[lines_of(part) for part in location.locations])
    return {location.line} if isinstance(location, FileLocation) else set()


def kernel(body: str, parameters: str = "%n: tile<i32>, %c: tile<i1>, %p: tile<ptr<i32>>") -> Operation:
    """A kernel whose operations are located at their number, counted from 1."""
    module = tileir.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\nreturn }} }}", verify=True)
    entry = module.regions[0].blocks[0].first
    assert entry is not None
    for number, operation in enumerate(list(entry.walk())):
        operation.location = tileir.attributes.file_location("numbers", number, 1)
    return module


def lines_by_name(module: Operation) -> dict[str, list[set[int]]]:
    found: dict[str, list[set[int]]] = {}
    for operation in module.walk():
        found.setdefault(operation.declaration.mnemonic, []).append(lines_of(operation.location))
    return found


def after(module: Operation, *passes: str, rules: str = "parity") -> dict[str, list[set[int]]]:
    report = tileir.passes.PassReport(keep_locations=True)
    return lines_by_name(tileir.run_passes(module, list(passes), rules=rules, report=report))


STORE = "%t = store_ptr_tko weak %p, {} : tile<ptr<i32>>, tile<i32> -> token"


def test_moved_and_merged_constants_have_all_locations() -> None:
    body = f"""%a = addi %n, %n : tile<i32>
    %x = constant <i32: 7> : tile<i32>
    %y = constant <i32: 7> : tile<i32>
    %s = muli %x, %y : tile<i32>
    {STORE.format("%s")}"""
    assert after(kernel(body), "canonicalize")["constant"] == [{2, 3}]


def test_without_being_asked_constants_have_none_as_in_mlir() -> None:
    body = f"""{STORE.format("%n").replace("%t", "%t0")}
    %x = constant <i32: 7> : tile<i32>
    {STORE.format("%x")}"""
    module = tileir.run_passes(kernel(body), ["canonicalize"])
    constant = next(each for each in module.walk() if each.declaration.mnemonic == "constant")
    assert isinstance(constant.location, UnknownLocation)


def test_a_common_subexpression_has_the_locations_of_all() -> None:
    body = f"""%a = addi %n, %n : tile<i32>
    %b = addi %n, %n : tile<i32>
    %s = muli %a, %b : tile<i32>
    {STORE.format("%s")}"""
    found = after(kernel(body), "cse")
    assert found["addi"] == [{1, 2}]
    assert found["muli"] == [{3}]


def test_equal_regions_are_merged_with_what_is_in_them() -> None:
    part = """reduce %x dim=0 identities=[0 : i32] : tile<4xi32> -> tile<i32>
    (%l: tile<i32>, %r: tile<i32>) {
      %s = addi %l, %r : tile<i32>
      yield %s : tile<i32>
    }"""
    body = f"""%x = iota : tile<4xi32>
    %a = {part}
    %b = {part}
    %s = muli %a, %b : tile<i32>
    {STORE.format("%s")}"""
    found = after(kernel(body), "cse")
    assert found["reduce"] == [{2, 5}]
    assert found["addi"] == [{3, 6}]


def test_what_a_pattern_makes_has_the_location_of_what_it_replaces() -> None:
    body = f"""%one = constant <i32: 1> : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %s = select %c, %one, %zero : tile<i1>, tile<i32>
    {STORE.format("%s")}"""
    assert after(kernel(body), "canonicalize")["exti"] == [{3}]


def test_what_takes_the_place_of_a_choice_has_its_location() -> None:
    body = f"""%a = addi %n, %n : tile<i32>
    %s = select %c, %a, %a : tile<i1>, tile<i32>
    {STORE.format("%s")}"""
    assert after(kernel(body), "canonicalize")["addi"] == [{1, 2}]


def test_combined_ifs_have_the_locations_of_both() -> None:
    body = f"""if %c {{ {STORE.format("%n").replace("%t", "%t0")} }}
    if %c {{ {STORE.format("%n").replace("%t", "%t1")} }}"""
    found = after(kernel(body), "canonicalize")
    assert found["if"] == [{1, 4}]
    assert found["yield"] == [{3, 6}]


def test_nested_ifs_that_become_one_have_the_locations_of_both() -> None:
    body = f"""%d = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
    if %c {{ if %d {{ {STORE.format("%n")} }} }}"""
    assert after(kernel(body), "canonicalize")["if"] == [{2, 3}]


def test_a_fused_product_has_the_locations_of_product_and_sum() -> None:
    body = """%product = mulf %a, %b : tile<f32>
    %sum = addf %product, %b : tile<f32>
    %t = store_ptr_tko weak %p, %sum : tile<ptr<f32>>, tile<f32> -> token"""
    module = kernel(body, "%a: tile<f32>, %b: tile<f32>, %p: tile<ptr<f32>>")
    assert after(module, "fuse-fma")["fma"] == [{1, 2}]


def test_halves_of_a_loop_have_the_locations_of_its_condition() -> None:
    body = f"""%zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    for %i in (%zero to %n, step %one) : tile<i32> {{
      %first = cmpi less_than %i, %one, signed : tile<i32> -> tile<i1>
      if %first {{ {STORE.format("%i")} }}
    }}"""
    found = after(kernel(body), "loop-split")
    assert found["for"] == [{3, 4, 5}, {3, 4, 5}]
    assert found["mini"] == [{3, 4, 5}]


def test_the_simplifier_hands_locations_on() -> None:
    body = f"""%zero = constant <i32: 0> : tile<i32>
    %a = muli %n, %n : tile<i32>
    %s = addi %a, %zero : tile<i32>
    {STORE.format("%s")}"""
    assert after(kernel(body), "canonicalize", rules="full")["muli"] == [{2, 3}]

"""Inlining a body at a place."""

from __future__ import annotations

import pytest

import tileir
import tileir.dialect.ops.testing  # (functions with results)
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError
from tileir.ir.location import call_site_location, file_location
from tileir.passes import debug_scopes
from tileir.passes.inline import inline_region
from tileir.text.reading import read_text

CALLER = """
  entry @caller(%p: tile<ptr<i32>>, %x: tile<i32>, %y: tile<i32>) {
    %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token
    return
  }
"""


def program(callee: str) -> tuple[Operation, Operation, Operation]:
    """The module, the function to inline, and the kernel to inline it into."""
    found = read_text(f"cuda_tile.module @m {{\n{callee}\n{CALLER}\n}}", "-", testing=True)
    assert not found.diagnostics
    module = next(o for o in found.module.walk() if o.name == "cuda_tile.module")
    tileir.verify(module)
    function, caller = module.regions[0].block
    return module, function, caller


def inlined(callee: str) -> tuple[Operation, Operation]:
    """Call the function in front of the store and store its first result; the module and the caller."""
    module, function, caller = program(callee)
    before = str(function)
    block = caller.regions[0].block
    store = block.first
    results = inline_region(function.regions[0], list(block.arguments[1:]), block, store)
    if results:
        store.set_operand(1, results[0])
    assert str(function) == before
    tileir.verify(module)
    return module, caller


def names(operation: Operation) -> list[str]:
    return [o.declaration.mnemonic for o in operation.regions[0].block]


def test_a_straight_body_is_copied() -> None:
    _, caller = inlined(
        "testing$func @f(%a: tile<i32>, %b: tile<i32>) -> tile<i32> {\n"
        "%s = subi %a, %b : tile<i32>\n%r = muli %s, %s : tile<i32>\nreturn %r : tile<i32>\n}"
    )
    assert names(caller) == ["subi", "muli", "store_ptr_tko", "return"]
    block = caller.regions[0].block
    assert block.first.operands == block.arguments[1:]
    assert block.last.previous.operands[1] is block.first.next.result


def test_a_body_may_return_its_arguments() -> None:
    _, caller = inlined(
        "testing$func @f(%a: tile<i32>, %b: tile<i32>) -> (tile<i32>, tile<i32>) {\n"
        "return %b, %a : tile<i32>, tile<i32>\n}"
    )
    block = caller.regions[0].block
    assert names(caller) == ["store_ptr_tko", "return"]
    assert block.first.operands[1] is block.arguments[2]


EARLY = """
  testing$func @f(%a: tile<i32>, %b: tile<i32>) -> tile<i32> {
    %c = cmpi less_than %a, %b, signed : tile<i32> -> tile<i1>
    if %c {
      %d = cmpi equal %a, %b, signed : tile<i32> -> tile<i1>
      if %d {
        return %b : tile<i32>
      }
      return %a : tile<i32>
    }
    %r = subi %a, %b : tile<i32>
    return %r : tile<i32>
  }"""


def test_early_returns_break_out_of_a_loop_around_the_body() -> None:
    _, caller = inlined(EARLY)
    assert names(caller) == ["loop", "store_ptr_tko", "return"]
    loop = caller.regions[0].block.first
    assert names(loop) == ["cmpi", "if", "subi", "break"]
    outer = loop.regions[0].block.first.next
    assert names(outer) == ["cmpi", "if", "break"]
    assert names(outer.regions[0].block.first.next) == ["break"]
    assert loop.next.operands[1] is loop.results[0]


def test_a_body_without_results_may_leave_early_too() -> None:
    _, caller = inlined(
        "testing$func @f(%a: tile<i32>, %b: tile<i32>) {\n"
        "%c = cmpi less_than %a, %b, signed : tile<i32> -> tile<i1>\nif %c {\nreturn\n}\nreturn\n}"
    )
    assert names(caller) == ["loop", "store_ptr_tko", "return"]
    assert caller.regions[0].block.first.results == ()


def test_calls_can_be_inlined_at_the_end_of_a_block_and_many_times() -> None:
    module, function, caller = program(EARLY)
    block = caller.regions[0].block
    for _ in range(3):
        inline_region(function.regions[0], list(block.arguments[1:]), block, block.last)
    tileir.verify(module)
    assert names(caller) == ["store_ptr_tko", "loop", "loop", "loop", "return"]
    ending = block.last
    ending.detach()
    inline_region(function.regions[0], list(block.arguments[1:]), block)
    block.append(ending)
    tileir.verify(module)


def test_a_return_inside_a_loop_is_refused() -> None:
    module, function, caller = program(
        "testing$func @f(%a: tile<i32>, %b: tile<i32>) -> tile<i32> {\n"
        "loop {\n%c = cmpi less_than %a, %b, signed : tile<i32> -> tile<i1>\nif %c {\nreturn %b : tile<i32>\n}\nbreak\n}\n"
        "return %a : tile<i32>\n}"
    )
    before = str(module)
    block = caller.regions[0].block
    with pytest.raises(PassError, match=r"cannot inline a 'return' inside 'cuda_tile\.loop'"):
        inline_region(function.regions[0], list(block.arguments[1:]), block, block.first)
    assert str(module) == before


def test_early_returns_of_views_are_refused() -> None:
    view = "tensor_view<4xi32, strides=[1]>"
    module, function, caller = program(
        f"testing$func @f(%a: tile<i32>, %b: tile<i32>, %v: {view}) -> {view} {{\n"
        f"%c = cmpi less_than %a, %b, signed : tile<i32> -> tile<i1>\nif %c {{\nreturn %v : {view}\n}}\nreturn %v : {view}\n}}"
    )
    block = caller.regions[0].block
    b = tileir.Builder(block=block, before=block.first)
    made = b.make_tensor_view(block.arguments[0], [4], [1])
    before = str(module)
    with pytest.raises(PassError, match="cannot inline early returns of"):
        inline_region(function.regions[0], [*block.arguments[1:], made], block, block.last.previous)
    assert str(module) == before


def test_arguments_must_fit() -> None:
    module, function, caller = program(EARLY)
    block = caller.regions[0].block
    before = str(module)
    with pytest.raises(PassError, match=r"takes \(tile<i32>, tile<i32>\) and was given \(tile<i32>\)"):
        inline_region(function.regions[0], [block.arguments[1]], block, block.first)
    assert str(module) == before


def test_a_body_that_does_not_return_is_refused() -> None:
    _, function, caller = program(EARLY)
    branch = function.regions[0].block.first.next
    inner = branch.regions[0].block.first.next.regions[0]
    inner.block.last.erase()
    with pytest.raises(PassError, match="only a body that ends in 'return'"):
        inline_region(inner, [], caller.regions[0].block)


def test_scopes_stay_sound_with_a_call_location() -> None:
    module, function, caller = program(EARLY)
    debug_scopes.run(module)
    block = caller.regions[0].block
    call = block.first.location
    origin = function.regions[0].block.first.location
    inline_region(function.regions[0], list(block.arguments[1:]), block, block.first, call)
    tileir.verify(module)
    loop = block.first
    assert loop.location is call
    assert loop.regions[0].block.first.location is call_site_location(origin, call)
    breaks = [o for o in loop.walk() if o.name == "cuda_tile.break"]
    assert len(breaks) == 3 and all(o.location.caller is call for o in breaks)


def test_positions_of_the_text_are_resolved_in_call_sites() -> None:
    _, function, caller = program(EARLY)
    block = caller.regions[0].block
    place = file_location("call.py", 7, 1)
    inline_region(function.regions[0], list(block.arguments[1:]), block, block.first, place)
    assert block.first.regions[0].block.first.location.inner == 'callsite("-":4:10 at "call.py":7:1)'

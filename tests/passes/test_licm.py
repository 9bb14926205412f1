"""Loop-invariant code motion: each condition, and what must stay."""

from __future__ import annotations

import pytest
from tests.passes.programs import function_of, module_of, names

import tileir
from tileir.passes import licm

BOUNDS = "%lb = constant <i32: 0> : tile<i32>\n%st = constant <i32: 1> : tile<i32>\n"


def hoisted(body: str, loop: str = "for %i in (%lb to %n, step %st) : tile<i32>") -> tuple[int, list[str], list[str]]:
    """The number of operations moved, the names in front of the loop (without the bounds), the names inside."""
    module = module_of(f"{BOUNDS}{loop} {{\n{body}\n}}", "%n: tile<i32>, %p: tile<ptr<i32>>")
    count = licm.run(module)
    tileir.verify(module)
    block = function_of(module).regions[0].block
    outside = [o.declaration.mnemonic for o in block if not o.declaration.is_terminator and not o.regions]
    inner = next(o for o in block if o.regions).regions[0].block
    return count, outside[2:], [o.declaration.mnemonic for o in inner if not o.declaration.is_terminator]


def test_an_invariant_operation_moves_and_takes_its_users_along() -> None:
    body = "%x = muli %n, %n : tile<i32>\n%y = addi %x, %n : tile<i32>"
    assert hoisted(body) == (2, ["muli", "addi"], [])


def test_constants_move() -> None:
    assert hoisted("%c = constant <i32: 7> : tile<i32>\n%y = addi %c, %i : tile<i32>") == (1, ["constant"], ["addi"])


def test_what_uses_the_induction_variable_stays() -> None:
    assert hoisted("%y = addi %i, %n : tile<i32>\n%z = addi %y, %n : tile<i32>") == (0, [], ["addi", "addi"])


def test_what_uses_a_carried_value_stays() -> None:
    loop = "%r = for %i in (%lb to %n, step %st) : tile<i32> iter_values(%a = %n) -> (tile<i32>)"
    body = "%y = addi %a, %n : tile<i32>\n%z = addi %n, %n : tile<i32>\ncontinue %y : tile<i32>"
    assert hoisted(body, loop) == (1, ["addi"], ["addi"])


def test_a_division_stays_because_the_loop_may_not_run() -> None:
    assert hoisted("%y = divi %n, %n signed : tile<i32>") == (0, [], ["divi"])


def test_a_remainder_moves_only_with_a_divisor_that_is_not_zero() -> None:
    assert hoisted("%y = remi %n, %n signed : tile<i32>") == (0, [], ["remi"])
    assert hoisted("%y = remi %n, %st signed : tile<i32>") == (1, ["remi"], [])
    assert hoisted("%y = remi %n, %lb signed : tile<i32>") == (0, [], ["remi"])


def test_memory_operations_and_promises_stay() -> None:
    body = (
        "%y, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token\n"
        "%z = assume bounded<0, ?>, %n : tile<i32>\n"
        "%u = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token"
    )
    assert hoisted(body) == (0, [], ["load_ptr_tko", "assume", "store_ptr_tko"])


def test_code_does_not_move_out_of_a_branch() -> None:
    body = "%c = cmpi equal %i, %n, signed : tile<i32> -> tile<i1>\nif %c {\n%x = muli %n, %n : tile<i32>\nyield\n}"
    count, outside, inside = hoisted(body)
    assert (count, outside, inside) == (0, [], ["cmpi", "if"])


def test_an_endless_loop_is_a_loop_too() -> None:
    assert hoisted("%x = muli %n, %n : tile<i32>\nbreak", "loop") == (1, ["muli"], [])


def test_code_moves_out_of_all_the_loops_it_does_not_depend_on() -> None:
    body = """
      for %j in (%lb to %n, step %st) : tile<i32> {
        %a = muli %n, %n : tile<i32>
        %b = muli %i, %n : tile<i32>
        %c = muli %j, %n : tile<i32>
        %d = addi %a, %b : tile<i32>
        continue
      }"""
    module = module_of(
        f"{BOUNDS}for %i in (%lb to %n, step %st) : tile<i32> {{ {body} \n continue\n}}", "%n: tile<i32>"
    )
    assert licm.run(module) == 3
    tileir.verify(module)
    outer = function_of(module).regions[0].block
    loop = outer.last.previous
    inner = loop.regions[0].block
    nested = inner.last.previous.regions[0].block
    assert [o.declaration.mnemonic for o in outer] == ["constant", "constant", "muli", "for", "return"]
    assert [o.declaration.mnemonic for o in inner] == ["muli", "addi", "for", "continue"]
    assert [o.declaration.mnemonic for o in nested] == ["muli", "continue"]


def test_a_branch_between_loops_ends_the_way() -> None:
    body = """
      %c = cmpi equal %i, %n, signed : tile<i32> -> tile<i1>
      if %c {
        for %j in (%lb to %n, step %st) : tile<i32> {
          %a = muli %n, %n : tile<i32>
          continue
        }
        yield
      }"""
    module = module_of(
        f"{BOUNDS}for %i in (%lb to %n, step %st) : tile<i32> {{ {body} \n continue\n}}", "%n: tile<i32>"
    )
    assert licm.run(module) == 1
    branch = next(o for o in module.walk() if o.declaration.mnemonic == "if")
    assert [o.declaration.mnemonic for o in branch.regions[0].block] == ["muli", "for", "yield"]


def test_the_order_of_what_moves_is_kept() -> None:
    body = "".join([f"%x{k} = constant <i32: {k}> : tile<i32>\n" for k in range(5)])
    module = module_of(f"{BOUNDS}for %i in (%lb to %n, step %st) : tile<i32> {{\n{body}continue\n}}", "%n: tile<i32>")
    licm.run(module)
    values = [
        o.attributes["value"].literal for o in function_of(module).regions[0].block if o.name.endswith("constant")
    ]
    assert values == ["0", "1", "0", "1", "2", "3", "4"]


def test_running_twice_moves_nothing_more() -> None:
    module = module_of(
        f"{BOUNDS}for %i in (%lb to %n, step %st) : tile<i32> {{\n%x = muli %n, %n : tile<i32>\ncontinue\n}}",
        "%n: tile<i32>",
    )
    assert licm.run(module) == 1
    assert licm.run(module) == 0
    assert names(module) == ["constant", "constant", "muli", "for"]


@pytest.mark.parametrize("depth", [3, 600])
def test_one_visit_is_enough_for_deep_nests(depth: int) -> None:
    b = tileir.Builder("m")
    with b.entry("k", "i32") as (n,):
        scopes = []
        for _ in range(depth):
            scope = b.for_(0, n, 1)
            scope.__enter__()
            scopes.append(scope)
        deepest = b.muli(n, n)
        for scope in reversed(scopes):
            scope.__exit__(None, None, None)
    entry = b.module.regions[0].block.first
    licm.run(b.module)
    assert deepest.defining_operation.parent is entry.regions[0].block

"""Branches, loops and calls, in both memory orders."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ttir.programs import launch, module

from tileir.ttir import translate
from tileir.ttir.tokens import MemoryOrder

ORDERS = pytest.mark.parametrize("order", ["program", "barriers"])


def constant(name: str, value: int, type: str = "i32") -> str:
    return f'%{name} = "arith.constant"() <{{value = {value} : {type}}}> : () -> {type}'


LOOP = """
    %sum:2 = "scf.for"(%low, %high, %step, %zero, %yes) <UNSIGNED> ({{
    ^bb0(%i: {type}, %s: {type}, %flag: i1):
      %next = "arith.addi"(%s, %i) : ({type}, {type}) -> {type}
      %one = "arith.constant"() <{{value = true}}> : () -> i1
      %other = "arith.xori"(%flag, %one) : (i1, i1) -> i1
      "scf.yield"(%next, %other) : ({type}, i1) -> ()
    }}) {{tt.num_stages = 3 : i32, tt.flatten}} : ({type}, {type}, {type}, {type}, i1) -> ({type}, i1)
    "tt.store"(%y, %sum#0) : (!tt.ptr<{type}>, {type}) -> ()
    "tt.store"(%f, %sum#1) : (!tt.ptr<i1>, i1) -> ()"""


def run_loop(type: str, low: int, high: int, step: int, *, unsigned: bool = False) -> tuple[int, bool]:
    numbers = [constant("zero", 0, type), '%yes = "arith.constant"() <{value = true}> : () -> i1']
    loop = LOOP.format(type=type).replace("<UNSIGNED>", "<{unsignedCmp}>" if unsigned else "")
    text = module(
        f"%low: {type}, %high: {type}, %step: {type}, %y: !tt.ptr<{type}>, %f: !tt.ptr<i1>",
        "\n    ".join(numbers) + loop,
    )
    y, f = np.full(1, -1, np.int32 if type == "i32" else np.int64), np.zeros(1, np.bool_)
    launch(text, low, high, step, y, f)
    return int(y[0]), bool(f[0])


@pytest.mark.parametrize("type", ["i32", "i64"])
@pytest.mark.parametrize(("low", "high", "step"), [(0, 10, 1), (-3, 9, 4), (5, 5, 1), (7, 2, 3)])
def test_for(type: str, low: int, high: int, step: int) -> None:
    steps = range(low, high, step)
    assert run_loop(type, low, high, step) == (sum(steps), len(steps) % 2 == 0)


def test_unsigned_for() -> None:
    assert run_loop("i32", 2**31 - 2, -(2**31) + 2, 1, unsigned=True)[1]
    assert run_loop("i32", 2**31 - 2, -(2**31) + 2, 1) == (0, True)


@ORDERS
def test_nested_control_flow_keeps_memory_in_order(order: MemoryOrder) -> None:
    """Count in memory: how many pairs have i + j odd, which a wrong order of loads and stores gets wrong."""
    body = f"""{constant("zero", 0)}
    {constant("one", 1)}
    {constant("two", 2)}
    "scf.for"(%zero, %n, %one) ({{
    ^bb0(%i: i32):
      "scf.for"(%zero, %i, %one) ({{
      ^bb0(%j: i32):
        %k = "arith.addi"(%i, %j) : (i32, i32) -> i32
        %odd = "arith.remsi"(%k, %two) : (i32, i32) -> i32
        %is = "arith.cmpi"(%odd, %one) <{{predicate = 0 : i64}}> : (i32, i32) -> i1
        "scf.if"(%is) ({{
          %v = "tt.load"(%y) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (!tt.ptr<i32>) -> i32
          %w = "arith.addi"(%v, %one) : (i32, i32) -> i32
          "tt.store"(%y, %w) : (!tt.ptr<i32>, i32) -> ()
          "ttg.barrier"() : () -> ()
          "scf.yield"() : () -> ()
        }}, {{
        }}) : (i1) -> ()
        "scf.yield"() : () -> ()
      }}) : (i32, i32, i32) -> ()
      "scf.yield"() : () -> ()
    }}) : (i32, i32, i32) -> ()"""
    y = np.zeros(1, np.int32)
    launch(module("%n: i32, %y: !tt.ptr<i32>", body), 9, y, order=order)
    assert y[0] == sum((i + j) % 2 for i in range(9) for j in range(i))


@ORDERS
def test_if_with_results(order: MemoryOrder) -> None:
    body = f"""{constant("zero", 0)}
    %is = "arith.cmpi"(%n, %zero) <{{predicate = 4 : i64}}> : (i32, i32) -> i1
    %r:2 = "scf.if"(%is) ({{
      %v = "tt.load"(%y) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (!tt.ptr<i32>) -> i32
      "scf.yield"(%v, %n) : (i32, i32) -> ()
    }}, {{
      "scf.yield"(%n, %zero) : (i32, i32) -> ()
    }}) : (i1) -> (i32, i32)
    %s = "arith.subi"(%r#0, %r#1) : (i32, i32) -> i32
    "tt.store"(%y, %s) : (!tt.ptr<i32>, i32) -> ()"""
    for n, expected in ((3, 7), (-3, -3)):
        y = np.array([10], np.int32)
        launch(module("%n: i32, %y: !tt.ptr<i32>", body), n, y, order=order)
        assert y[0] == expected


@ORDERS
def test_while(order: MemoryOrder) -> None:
    """Collatz: the number of steps is counted in memory and in a value."""
    body = f"""{constant("zero", 0)}
    {constant("one", 1)}
    {constant("two", 2)}
    {constant("three", 3)}
    %r:2 = "scf.while"(%n, %zero) ({{
    ^bb0(%a: i32, %count: i32):
      %go = "arith.cmpi"(%a, %one) <{{predicate = 1 : i64}}> : (i32, i32) -> i1
      "scf.condition"(%go, %a, %count) : (i1, i32, i32) -> ()
    }}, {{
    ^bb0(%a: i32, %count: i32):
      %odd = "arith.remsi"(%a, %two) : (i32, i32) -> i32
      %is = "arith.cmpi"(%odd, %one) <{{predicate = 0 : i64}}> : (i32, i32) -> i1
      %next = "scf.if"(%is) ({{
        %t = "arith.muli"(%a, %three) : (i32, i32) -> i32
        %u = "arith.addi"(%t, %one) : (i32, i32) -> i32
        "scf.yield"(%u) : (i32) -> ()
      }}, {{
        %h = "arith.divsi"(%a, %two) : (i32, i32) -> i32
        "scf.yield"(%h) : (i32) -> ()
      }}) : (i1) -> i32
      %v = "tt.load"(%y) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (!tt.ptr<i32>) -> i32
      %w = "arith.addi"(%v, %one) : (i32, i32) -> i32
      "tt.store"(%y, %w) : (!tt.ptr<i32>, i32) -> ()
      "ttg.barrier"() : () -> ()
      %more = "arith.addi"(%count, %one) : (i32, i32) -> i32
      "scf.yield"(%next, %more) : (i32, i32) -> ()
    }}) : (i32, i32) -> (i32, i32)
    "tt.store"(%z, %r#1) : (!tt.ptr<i32>, i32) -> ()"""
    for n, steps in ((1, 0), (6, 8), (27, 111)):
        y, z = np.zeros((2, 1), np.int32)
        launch(module("%n: i32, %y: !tt.ptr<i32>, %z: !tt.ptr<i32>", body), n, y, z, order=order)
        assert (y[0], z[0]) == (steps, steps)


EARLY = """
"builtin.module"() ({
  "tt.func"() <{function_type = (i32, !tt.ptr<i32>) -> (), sym_name = "k", sym_visibility = "public"}> ({
  ^bb0(%n: i32, %y: !tt.ptr<i32>):
    %zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %ten = "arith.constant"() <{value = 10 : i32}> : () -> i32
    %small = "arith.cmpi"(%n, %zero) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "cf.cond_br"(%small)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb1:
    "tt.return"() : () -> ()
  ^bb2:
    %large = "arith.cmpi"(%n, %ten) <{predicate = 4 : i64}> : (i32, i32) -> i1
    "cf.cond_br"(%large, %ten, %n)[^bb4, ^bb3] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
  ^bb3(%m: i32):
    %twice = "arith.addi"(%m, %m) : (i32, i32) -> i32
    "cf.br"(%twice)[^bb4] : (i32) -> ()
  ^bb4(%r: i32):
    "tt.store"(%y, %r) : (!tt.ptr<i32>, i32) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


@ORDERS
def test_early_returns_and_joins(order: MemoryOrder) -> None:
    for n, expected in ((-5, 99), (4, 8), (40, 10)):
        y = np.array([99], np.int32)
        launch(EARLY, n, y, order=order)
        assert y[0] == expected


FUNCTIONS = """
  "tt.func"() <{function_type = (i32) -> (i32, i32), sym_name = "sign", sym_visibility = "private"}> ({
  ^bb0(%n: i32):
    %zero = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %minus = "arith.constant"() <{value = -1 : i32}> : () -> i32
    %small = "arith.cmpi"(%n, %zero) <{predicate = 2 : i64}> : (i32, i32) -> i1
    "cf.cond_br"(%small)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb1:
    %a = "arith.muli"(%n, %minus) : (i32, i32) -> i32
    "tt.return"(%minus, %a) : (i32, i32) -> ()
  ^bb2:
    "tt.return"(%zero, %n) : (i32, i32) -> ()
  }) {noinline = true} : () -> ()
  "tt.func"() <{function_type = (i32, !tt.ptr<i32>) -> (), sym_name = "put", sym_visibility = "private"}> ({
  ^bb0(%n: i32, %p: !tt.ptr<i32>):
    %r:2 = "tt.call"(%n) <{callee = @sign}> : (i32) -> (i32, i32)
    %old = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<i32>) -> i32
    %s = "arith.addi"(%old, %r#1) : (i32, i32) -> i32
    %t = "arith.addi"(%s, %r#0) : (i32, i32) -> i32
    "tt.store"(%p, %t) : (!tt.ptr<i32>, i32) -> ()
    "ttg.barrier"() : () -> ()
    "tt.return"() : () -> ()
  }) {noinline = true} : () -> ()
"""


@ORDERS
def test_calls(order: MemoryOrder) -> None:
    body = f"""{constant("zero", 0)}
    {constant("one", 1)}
    "scf.for"(%zero, %one, %one) ({{
    ^bb0(%i: i32):
      "tt.call"(%n, %y) <{{callee = @put}}> : (i32, !tt.ptr<i32>) -> ()
      "scf.yield"() : () -> ()
    }}) : (i32, i32, i32) -> ()
    "tt.call"(%n, %y) <{{callee = @put}}> : (i32, !tt.ptr<i32>) -> ()"""
    for n, expected in ((-5, 8), (4, 8)):
        y = np.zeros(1, np.int32)
        launch(module("%n: i32, %y: !tt.ptr<i32>", body, FUNCTIONS), n, y, order=order)
        assert y[0] == expected


def test_parameters_are_multiples_of_what_triton_specialized_for() -> None:
    text = module("%p: !tt.ptr<f32>, %n: i32, %m: i32", "").replace(
        "<{function_type",
        "<{arg_attrs = [{tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}], function_type",
    )
    kernel = translate(text).regions[0].block.first
    assert kernel is not None
    arguments = kernel.regions[0].block.arguments
    assumed = [each.operands[0] for each in kernel.walk() if each.name == "cuda_tile.assume"]
    assert assumed == [arguments[0], arguments[2]]
    launch(text, np.zeros(64, np.float32), 3, 32)

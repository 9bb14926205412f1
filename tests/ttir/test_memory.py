"""Pointers, loads, stores, assertions and prints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ttir.programs import COUNT, NUMPY, launch, load, module, pointers, store

import tileir
from tileir.ttir import translate
from tileir.ttir.tokens import MemoryOrder

X = np.arange(1, COUNT + 1, dtype=np.float32)
MASK = np.arange(COUNT) % 3 == 0
POINTERS, MASKS, VALUES = "tensor<16x!tt.ptr<f32>>", "tensor<16xi1>", "tensor<16xf32>"
DEFAULT_POLICY = "cache = 1 : i32, evict = 1 : i32, isVolatile = false, "
POLICY = "cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_first>, isVolatile = true, "


@pytest.mark.parametrize("type", NUMPY)
def test_elements_are_copied(type: str) -> None:
    x = (np.arange(COUNT) % 2).astype(NUMPY[type])
    body = load("v", type, "x") + "\n    " + store("v", type, "y")
    y = np.zeros_like(x)
    launch(module(f"%x: !tt.ptr<{type}>, %y: !tt.ptr<{type}>", body), x, y)
    assert np.array_equal(y, x)


@pytest.mark.parametrize("policy", ["", DEFAULT_POLICY, POLICY])
def test_masked_loads(policy: str) -> None:
    body = f"""{load("m", "i1", "m0")}
    {pointers("p", "f32", "x")}
    %o = "arith.constant"() <{{value = dense<-1.000000e+00> : tensor<16xf32>}}> : () -> tensor<16xf32>
    %a = "tt.load"(%p, %m) <{{{policy}operandSegmentSizes = array<i32: 1, 1, 0>}}> : ({POINTERS}, {MASKS}) -> {VALUES}
    %b = "tt.load"(%p, %m, %o) <{{{policy}operandSegmentSizes = array<i32: 1, 1, 1>}}> : ({POINTERS}, {MASKS}, {VALUES}) -> {VALUES}
    {store("a", "f32", "y")}
    {store("b", "f32", "z")}"""
    y, z = np.full((2, COUNT), 7, np.float32)
    launch(module("%x: !tt.ptr<f32>, %m0: !tt.ptr<i1>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>", body), X, MASK, y, z)
    assert np.array_equal(y, np.where(MASK, X, 0)) and np.array_equal(z, np.where(MASK, X, -1))


def test_masked_store() -> None:
    body = f"""{load("m", "i1", "m0")}
    {load("v", "f32", "x")}
    {pointers("p", "f32", "y")}
    "tt.store"(%p, %v, %m) : ({POINTERS}, {VALUES}, {MASKS}) -> ()"""
    y = np.full(COUNT, 7, np.float32)
    launch(module("%x: !tt.ptr<f32>, %m0: !tt.ptr<i1>, %y: !tt.ptr<f32>", body), X, MASK, y)
    assert np.array_equal(y, np.where(MASK, X, 7))


def test_scalar_loads_and_stores() -> None:
    body = """%three = "arith.constant"() <{value = 3 : i64}> : () -> i64
    %p = "tt.addptr"(%x, %three) : (!tt.ptr<f32>, i64) -> !tt.ptr<f32>
    %v = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> f32
    %off = "arith.constant"() <{value = false}> : () -> i1
    %w = "tt.load"(%x, %off, %v) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (!tt.ptr<f32>, i1, f32) -> f32
    "tt.store"(%y, %w) : (!tt.ptr<f32>, f32) -> ()"""
    y = np.zeros(1, np.float32)
    launch(module("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>", body), X, y)
    assert y[0] == X[3]


def test_pointers_to_pointers() -> None:
    body = f"""%a = "tt.load"(%x) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (!tt.ptr<!tt.ptr<f32>>) -> !tt.ptr<f32>
    {load("v", "f32", "a")}
    %i = "tt.ptr_to_int"(%a) : (!tt.ptr<f32>) -> i64
    %j = "tt.int_to_ptr"(%i) : (i64) -> !tt.ptr<f32>
    "tt.store"(%y, %j) : (!tt.ptr<!tt.ptr<f32>>, !tt.ptr<f32>) -> ()
    {store("v", "f32", "z")}"""
    text = module("%x: !tt.ptr<!tt.ptr<f32>>, %y: !tt.ptr<!tt.ptr<f32>>, %z: !tt.ptr<f32>", body)
    addresses, y, z = np.array([X.ctypes.data]), np.zeros(1, np.int64), np.zeros(COUNT, np.float32)
    tileir.compile(translate(text)).launch((1,), [addresses, y, z], memory=[X])
    assert y[0] == X.ctypes.data and np.array_equal(z, X)


def test_pointers_are_cast() -> None:
    body = f"""%a = "tt.bitcast"(%x) : (!tt.ptr<f32>) -> !tt.ptr<i32>
    {load("v", "i32", "a")}
    {store("v", "i32", "y")}"""
    y = np.zeros(COUNT, np.int32)
    launch(module("%x: !tt.ptr<f32>, %y: !tt.ptr<i32>", body), X, y)
    assert np.array_equal(y, X.view(np.int32))


BARRIERS = ['"gpu.barrier"() : () -> ()', '"ttg.barrier"() <{addrSpace = 31 : i32}> : () -> ()', ""]
REVERSED = f"""%last = "arith.constant"() <{{value = dense<15> : tensor<16xi32>}}> : () -> tensor<16xi32>
    %range = "tt.make_range"() <{{end = 16 : i32, start = 0 : i32}}> : () -> tensor<16xi32>
    %down = "arith.subi"(%last, %range) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %base = "tt.splat"(%y) : (!tt.ptr<f32>) -> {POINTERS}
    %back = "tt.addptr"(%base, %down) : ({POINTERS}, tensor<16xi32>) -> {POINTERS}"""


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("order", ["program", "barriers"])
def test_barriers_order_a_load_behind_a_store_of_other_threads(barrier: str, order: MemoryOrder) -> None:
    body = f"""{load("v", "f32", "x")}
    {REVERSED}
    {store("v", "f32", "y")}
    {barrier}
    %w = "tt.load"(%back) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : ({POINTERS}) -> {VALUES}
    {store("w", "f32", "z")}"""
    kernel = tileir.compile(
        translate(module("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>", body), memory_order=order)
    )
    y, z = np.zeros((2, COUNT), np.float32)
    if order == "program" or barrier:
        kernel.launch((1,), [X, y, z], sanitize=True)
        assert np.array_equal(z, X[::-1])
    else:
        with pytest.raises(tileir.errors.SanitizerError, match="unordered"):
            kernel.launch((1,), [X, y, z], sanitize=True)


IN_PLACE = f"""%v = "tt.load"(%p) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : ({POINTERS}) -> {VALUES}
    %w = "arith.addf"(%v, %v) : ({VALUES}, {VALUES}) -> {VALUES}
    "tt.store"(%p, %w) : ({POINTERS}, {VALUES}) -> ()"""
REGIONS = {
    "straight": "{inside}\n    {again}",
    "loop": '"scf.for"(%zero, %two, %one) ({{\n    ^bb0(%i: i32):\n    {inside}\n    "scf.yield"() : () -> ()\n'
    "    }}) : (i32, i32, i32) -> ()\n    {again}",
    "if": '"scf.if"(%yes) ({{\n    {inside}\n    "scf.yield"() : () -> ()\n    }}, {{\n    }}) : (i1) -> ()\n    {again}',
}


@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.parametrize("region", REGIONS)
def test_the_same_pointers_are_ordered_without_barriers(region: str, where: str) -> None:
    """The pointers are computed in front of a loop or branch, or in it."""
    made = pointers("p", "f32", "y")
    again = IN_PLACE.replace("%v", "%a").replace("%w", "%b").replace("%p", "%q")
    inside = IN_PLACE if where == "outside" else f"{made}\n    {IN_PLACE}"
    behind = pointers("q", "f32", "y") + "\n    " + again
    body = f"""%zero = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %one = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
    %two = "arith.constant"() <{{value = 2 : i32}}> : () -> i32
    %yes = "arith.constant"() <{{value = true}}> : () -> i1
    {made if where == "outside" else ""}
    """ + REGIONS[region].format(inside=inside, again=behind)
    y = X.copy()
    kernel = tileir.compile(translate(module("%y: !tt.ptr<f32>", body), memory_order="barriers"))
    kernel.launch((1,), [y], sanitize=True)
    assert np.array_equal(y, X * (8 if region == "loop" else 4))


def test_assert_and_assume() -> None:
    body = f"""{load("m", "i1", "m0")}
    "tt.assert"(%m) <{{message = "all are set"}}> : ({MASKS}) -> ()
    %yes = "arith.constant"() <{{value = true}}> : () -> i1
    %zero = "arith.constant"() <{{value = 0 : i32}}> : () -> i32
    %positive = "arith.cmpi"(%n, %zero) <{{predicate = 4 : i64}}> : (i32, i32) -> i1
    "llvm.intr.assume"(%yes) <{{op_bundle_sizes = array<i32>}}> : (i1) -> ()
    "llvm.intr.assume"(%positive) <{{op_bundle_sizes = array<i32>}}> : (i1) -> ()"""
    text = module("%m0: !tt.ptr<i1>, %n: i32", body)
    launch(text, np.ones(COUNT, np.bool_), 1)
    with pytest.raises(tileir.errors.ExecutionError, match="all are set"):
        launch(text, MASK, 1)


def test_print(capfd: pytest.CaptureFixture[str]) -> None:
    body = """%i = "tt.make_range"() <{end = 4 : i32, start = 0 : i32}> : () -> tensor<4xi32>
    %c = "arith.constant"() <{value = dense<-2> : tensor<4xi32>}> : () -> tensor<4xi32>
    %f = "arith.constant"() <{value = 1.500000e+00 : f32}> : () -> f32
    "tt.print"(%c, %f) <{hex = false, isSigned = array<i32: 1, 0>, prefix = " 50%: "}> : (tensor<4xi32>, f32) -> ()
    "tt.print"(%c) <{hex = false, isSigned = array<i32: 0>, prefix = " "}> : (tensor<4xi32>) -> ()
    "tt.print"(%i, %f, %p) <{hex = true, isSigned = array<i32: 1, 0, 0>, prefix = " bits: "}> : (tensor<4xi32>, f32, !tt.ptr<f32>) -> ()
    "tt.print"() <{hex = false, isSigned = array<i32>, prefix = " nothing"}> : () -> ()"""
    launch(module("%p: !tt.ptr<f32>", body), X)
    assert capfd.readouterr().out.splitlines() == [
        "50%: [-2, -2, -2, -2], 1.500000",
        "[4294967294, 4294967294, 4294967294, 4294967294]",
        f"bits: [0x00000000, 0x00000001, 0x00000002, 0x00000003], 0x3fc00000, 0x{X.ctypes.data:016x}",
        "nothing",
    ]

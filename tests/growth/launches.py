"""Kernels whose tile blocks meet, for launches with more and more of them; and loops that turn more and more often."""

from __future__ import annotations

WORDS = 64

_HEAD = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %near = offset %p, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %next = offset %near, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %lane = iota : tile<8xi32>
    %seven = constant <i32: 7> : tile<8xi32>
    %x1 = reshape %x : tile<i32> -> tile<1xi32>
    %xs = broadcast %x1 : tile<1xi32> -> tile<8xi32>
    %mixed = muli %lane, %seven : tile<8xi32>
    %moved = addi %mixed, %xs : tile<8xi32>
    %mask = constant <i32: 63> : tile<8xi32>
    %place = andi %moved, %mask : tile<8xi32>
    %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
    %qs = broadcast %q1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
    %bins = offset %qs, %place : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
    %ones = constant <i32: 1> : tile<8xi32>
"""


def _kernel(*lines: str) -> str:
    return _HEAD + "".join([f"    {line}\n" for line in lines]) + "    return\n  }\n}\n"


def _update(order: str) -> str:
    return (
        f"%old, %t = atomic_rmw_tko {order} device %bins, add, %ones : "
        "tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token"
    )


def _counter(order: str, token: str = "") -> str:
    return (
        f"%c, %ct = atomic_rmw_tko {order} device %q, add, %one{token} : tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    )


LAUNCHES: dict[str, str] = {
    "relaxed counter": _kernel(_counter("relaxed")),
    "counter": _kernel(_counter("acq_rel")),
    "acquired counter": _kernel(_counter("acquire")),
    "released counter": _kernel(_counter("release")),
    "counter behind a store": _kernel(
        "%s = store_ptr_tko weak %near, %x : tile<ptr<i32>>, tile<i32> -> token",
        _counter("acq_rel", " token=%s"),
        "%v, %vt = load_ptr_tko weak %near token=%ct : tile<ptr<i32>> -> tile<i32>, token",
    ),
    "histogram": _kernel(_update("acq_rel")),
    "released histogram": _kernel(_update("release")),
    "flags from neighbor to neighbor": _kernel(
        "%v, %vt = load_ptr_tko acquire device %near : tile<ptr<i32>> -> tile<i32>, token",
        "%s = store_ptr_tko weak %q, %x token=%vt : tile<ptr<i32>>, tile<i32> -> token",
        "%f = store_ptr_tko release device %next, %one token=%s : tile<ptr<i32>>, tile<i32> -> token",
    ),
    "lock": _kernel(
        "%zero = constant <i32: 0> : tile<i32>",
        "%c, %ct = atomic_cas_tko acquire device %p, %zero, %one : "
        "tile<ptr<i32>>, tile<i32>, tile<i32> -> tile<i32>, token",
        "%v, %vt = load_ptr_tko weak %q token=%ct : tile<ptr<i32>> -> tile<i32>, token",
        "%s = store_ptr_tko weak %q, %v token=%vt : tile<ptr<i32>>, tile<i32> -> token",
        "%f = store_ptr_tko release device %p, %zero token=%s : tile<ptr<i32>>, tile<i32> -> token",
    ),
    "race": _kernel("%s = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token"),
    "race with atomics": _kernel(
        _update("acq_rel"), "%v, %vt = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token"
    ),
    "out of bounds": _kernel(
        "%big = constant <i32: 1000000> : tile<i32>",
        "%far = offset %next, %big : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>",
        "%s = store_ptr_tko weak %far, %x : tile<ptr<i32>>, tile<i32> -> token",
    ),
}

_LOOP = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %t0 = make_token : token
    %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%t = %t0) -> (token) {
BODY
      continue %u : token
    }
    return
  }
}
"""


def _loop(*lines: str) -> str:
    return _LOOP.replace("BODY", "\n".join([f"      {line}" for line in lines]))


def _turn(order: str, token: str = " token=%t") -> str:
    types = "tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    return f"%c, %u = atomic_rmw_tko {order} device %q, add, %one{token} : {types}"


LOOPS: dict[str, str] = {
    "loads": _loop("%c, %u = load_ptr_tko weak %q token=%t : tile<ptr<i32>> -> tile<i32>, token"),
    "stores": _loop("%u = store_ptr_tko weak %q, %i token=%t : tile<ptr<i32>>, tile<i32> -> token"),
    "stores to places of their own": _loop(
        "%to = offset %q, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>",
        "%u = store_ptr_tko weak %to, %i token=%t : tile<ptr<i32>>, tile<i32> -> token",
    ),
    "unordered loads": _loop(
        "%c, %x = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token", "%u = make_token : token"
    ),
    "unordered stores": _loop(
        "%x = store_ptr_tko weak %q, %i : tile<ptr<i32>>, tile<i32> -> token", "%u = make_token : token"
    ),
    "counter": _loop(_turn("acq_rel")),
    "released counter": _loop(_turn("release")),
    "released stores": _loop(
        "%x = store_ptr_tko weak %p, %i token=%t : tile<ptr<i32>>, tile<i32> -> token",
        "%u = store_ptr_tko release device %q, %i token=%x : tile<ptr<i32>>, tile<i32> -> token",
    ),
    "counter beside a load": _loop(
        "%v, %vt = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token", _turn("acq_rel")
    ),
}

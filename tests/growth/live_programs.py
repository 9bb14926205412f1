"""Programs for LLVM that grow along one dimension: all that they compute is stored, so nothing is dropped before.

Sums go through memory: a value is loaded, becomes part of each result, and the last result is stored.
"""

from __future__ import annotations

from tests.growth.programs import SOUND
from tests.growth.writing import Maker, each, kernel

_NEAR = "%q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>"
_LOAD = "%s0, %t = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token"


def stored(n: int, lines: list[str], parameters: str = "%p: tile<ptr<f32>>, %n: tile<i32>") -> str:
    """A kernel whose lines make %s1 to %sn of %s0."""
    return kernel(
        [_NEAR, _LOAD, *lines, f"%u = store_ptr_tko weak %q, %s{n} : tile<ptr<f32>>, tile<f32> -> token"], parameters
    )


def arguments(n: int) -> str:
    parameters = ", ".join(["%p: tile<ptr<f32>>", *each(n, lambda i: f"%a{i}: tile<f32>")])
    return stored(n, each(n, lambda i: f"%s{i + 1} = addf %s{i}, %a{i} : tile<f32>"), parameters)


def ifs(n: int) -> str:
    lines = []
    for i in range(n):
        lines += [
            f"%k{i} = constant <i32: {i}> : tile<i32>",
            f"%c{i} = cmpi less_than %n, %k{i}, signed : tile<i32> -> tile<i1>",
            f"%s{i + 1} = if %c{i} -> (tile<f32>) {{",
            f"  %a{i} = addf %s{i}, %f : tile<f32>",
            f"  yield %a{i} : tile<f32>",
            "} else {",
            f"  %b{i} = mulf %s{i}, %s{i} : tile<f32>",
            f"  yield %b{i} : tile<f32>",
            "}",
        ]
    return stored(n, lines)


def results(n: int) -> str:
    """One `if` with many results."""
    types = ", ".join(["tile<f32>"] * n)
    return stored(
        n,
        [
            "%c = cmpi less_than %x, %n, signed : tile<i32> -> tile<i1>",
            f"%r:{n} = if %c -> ({types}) {{",
            *each(
                n, lambda i: f"  %a{i} = {'addf' if i % 2 else 'mulf'} {f'%a{i - 1}' if i else '%s0'}, %s0 : tile<f32>"
            ),
            f"  yield {', '.join(each(n, lambda i: f'%a{i}'))} : {types}",
            "} else {",
            f"  yield {', '.join(['%s0'] * n)} : {types}",
            "}",
            *each(n, lambda i: f"%s{i + 1} = addf %s{i}, %r#{i} : tile<f32>"),
        ],
    )


def carried(n: int) -> str:
    """A loop with many values."""
    types = ", ".join(["tile<f32>"] * n)
    initial = ", ".join(each(n, lambda i: f"%c{i} = %s0"))
    return stored(
        n,
        [
            f"%r:{n} = for %i in (%zero to %n, step %one) : tile<i32> iter_values({initial}) -> ({types}) {{",
            *each(n, lambda i: f"  %d{i} = addf %c{i}, %c{(i + 1) % n} : tile<f32>"),
            f"  continue {', '.join(each(n, lambda i: f'%d{i}'))} : {types}",
            "}",
            *each(n, lambda i: f"%s{i + 1} = addf %s{i}, %r#{i} : tile<f32>"),
        ],
    )


def sums(n: int) -> str:
    """A `reduce` after the other."""
    lines = []
    for i in range(n):
        lines += [
            f"%e{i} = reshape %s{i} : tile<f32> -> tile<1xf32>",
            f"%w{i} = broadcast %e{i} : tile<1xf32> -> tile<64xf32>",
            f"%s{i + 1} = reduce %w{i} dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32>",
            f"(%l{i}: tile<f32>, %r{i}: tile<f32>) {{",
            f"  %a{i} = addf %l{i}, %r{i} : tile<f32>",
            f"  yield %a{i} : tile<f32>",
            "}",
        ]
    return stored(n, lines)


LIVE: dict[str, Maker] = {
    "arguments": arguments,
    "ifs": ifs,
    "results": results,
    "carried values": carried,
    "sums": sums,
    **{
        name: SOUND[name]
        for name in (
            "live chain",
            "products and sums",
            "loop invariants",
            "loops to split",
            "loops",
            "stores",
            "copies",
            "waiting tiles",
            "users of a tile",
            "offsets",
            "arrays",
            "allocas",
            "prints",
            "asserts",
        )
    },
}

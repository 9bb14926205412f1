"""The work of lowering grows with the program, not with its square: counted, not timed."""

from __future__ import annotations

from typing import Any

import pytest

import tileir
from tileir.execute.cpu.ir import expressions
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.lowering.table import HANDLERS
from tileir.execute.cpu.runtime.target import host

TENSOR = "tensor_view<65536xf32, strides=[1]>"
VIEW = f"partition_view<tile=(64), {TENSOR}>"
TILE = "tile<64xf32>"


def loads_then_stores(count: int, target: str) -> str:
    loads = "".join(
        f"%i{n} = constant <i32: {n}> : tile<i32>\n"
        f"%x{n}, %t{n} = load_view_tko weak %va[%i{n}] : {VIEW}, tile<i32> -> {TILE}, token\n"
        f"%e{n} = exp2 %x{n} : {TILE}\n"
        for n in range(count)
    )
    stores = "".join(
        f"%s{n} = store_view_tko weak %e{n}, %{target}[%i{n}] : {TILE}, {VIEW}, tile<i32> -> token\n"
        for n in range(count)
    )
    return loads + stores


def products(count: int, target: str) -> str:
    tile = "tile<8x8xf32>"
    steps = "".join(f"%p{n + 1} = mmaf %m, %m, %p{n} : {tile}, {tile}, {tile}\n" for n in range(count))
    return f"""%zero = constant <i32: 0> : tile<i32>
      %x, %t = load_view_tko weak %va[%zero] : {VIEW}, tile<i32> -> {TILE}, token
      %m = reshape %x : {TILE} -> {tile}
      %p0 = constant <f32: 1.0> : {tile}
      {steps}
      %r = reshape %p{count} : {tile} -> {TILE}
      %s = store_view_tko weak %r, %{target}[%zero] : {TILE}, {VIEW}, tile<i32> -> token"""


def work(body: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The nodes and the operations that lowering looks at."""
    made = "".join(
        f"%t{x} = make_tensor_view %{x}, shape = [65536], strides = [1] : {TENSOR}\n"
        f"%v{x} = make_partition_view %t{x} : {VIEW}\n"
        for x in "ac"
    )
    module = tileir.parse(f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<f32>>, %c: tile<ptr<f32>>) {{
      {made} {body}
      return }} }}""")
    (entry,) = module.regions[0].blocks[0]
    looked_at = 0
    walk = expressions.nodes
    held = Lowering._held_in
    waiting = Lowering._waiting_for

    def counted_nodes(roots: Any) -> Any:
        nonlocal looked_at
        for node in walk(roots):
            looked_at += 1
            yield node

    def counted(function: Any) -> Any:
        def count(self: Any, argument: Any) -> Any:
            nonlocal looked_at
            found = function(self, argument)
            looked_at += len(found)
            return found

        return count

    with monkeypatch.context() as patch:
        patch.setattr(expressions, "nodes", counted_nodes)
        patch.setattr(Lowering, "_held_in", counted(held))
        patch.setattr(Lowering, "_waiting_for", counted(waiting))
        Lowering(entry, host(), Options(), HANDLERS).run()
    return looked_at


@pytest.mark.parametrize("target", ["vc", "va"])
@pytest.mark.parametrize("program", [loads_then_stores, products])
def test_twice_the_program_is_about_twice_the_work(program: Any, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    once, twice = (work(program(count, target), monkeypatch) for count in (100, 200))
    assert 0 < twice < 2.3 * once

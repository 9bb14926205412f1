"""Tile programs lowered to TTIR, and what Triton makes of them."""

from __future__ import annotations

import re
from typing import Any

import tileir
from tileir.execute.gpu.triton.code import CodeOptions, Schedule, Specialization
from tileir.execute.gpu.triton.lowering.lower import Lowered, lower
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.toolchain import installed_triton
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir
from tileir.execute.launching.entries import select_entry


def lowered(
    text: str, target: str = "sm_90", *, divisor: int = 16, short: bool = True, described: bool = True, **schedule: Any
) -> Lowered:
    """The TTIR of the only kernel of a program, for arguments that are all aligned alike."""
    program = Program(select_entry(tileir.parse(text), None))
    views = frozenset(range(len(program.views)))
    specialization = Specialization(
        (divisor,) * len(program.parameters), views if described else frozenset(), views if short else frozenset()
    )
    triton = installed_triton()
    version = triton.number if triton is not None else (3, 9)
    return lower(program, target, Schedule(**schedule), specialization, CodeOptions(), version)


def ptx(text: str, target: str = "sm_90", **how: Any) -> str:
    """What Triton makes of it."""
    made = lowered(text, target, **how)
    return compile_ttir(Request(made.text, target, made.options, last="ptx")).data.decode()


def entry(body: str, parameters: str = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>") -> str:
    """A kernel by its operations."""
    return f"cuda_tile.module @m {{\n entry @kernel({parameters}) {{\n{body}\n return\n }}\n}}"


def tensor(name: str, pointer: str, type: str) -> str:
    """The operation that makes a tensor view; what its type leaves open is `%n`."""
    found = re.fullmatch(r"tensor_view<((?:[\d?]+x)*)[^,]*, strides=\[(.*)\]>", type)
    assert found is not None, type
    shape = ", ".join(found[1].split("x")[:-1]).replace("?", "%n")
    strides = found[2].replace("?", "%n")
    types = f"tile<i32> -> {type}" if "?" in type else type
    return f" {name} = make_tensor_view {pointer}, shape = [{shape}], strides = [{strides}] : {types}\n"


def dense_view(shape: list[int], element: str) -> tuple[str, str]:
    """A tensor without gaps as large as a tile, and the view of it as one tile."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent)
    extents = "x".join(map(str, shape))
    made = f"tensor_view<{extents}x{element}, strides=[{','.join(map(str, strides))}]>"
    return made, f"partition_view<tile=({extents}), {made}>"


def loading(view: str, index: str, attributes: str = "", computed: str = "") -> str:
    """A kernel that loads a tile `%v` of a view of `%p`, and stores it where `%q` points.

    The index is made of the number of the tile block, `%x` and `%y`, and of `%zero`.
    """
    found = re.search(r"tile=\(([\dx]*)\)", view)
    source = re.search(r"tensor_view<[^>]*>", view)
    assert found is not None and source is not None, view
    shape = [int(extent) for extent in found[1].split("x")]
    element = source[0].partition(",")[0].removeprefix("tensor_view<").split("x")[-1]
    tile = f"tile<{found[1]}x{element}>"
    target, whole = dense_view(shape, element)
    zeros = ", ".join(["%zero"] * len(shape))
    stored = "%c" if computed else "%v"
    return entry(
        " %x, %y, %z = get_tile_block_id : tile<i32>\n %zero = constant <i32: 0> : tile<i32>\n"
        + tensor("%from", "%p", source[0])
        + tensor("%to", "%q", target)
        + f" %view = make_{view.partition('<')[0]} %from : {view}\n %whole = make_partition_view %to : {whole}\n"
        + f" %v, %t0 = load_view_tko weak %view[{index}] {attributes}: {view}, tile<i32> -> {tile}, token\n"
        + computed
        + f" %t1 = store_view_tko weak {stored}, %whole[{zeros}] : {tile}, {whole}, tile<i32> -> token",
        f"%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %n: tile<i32>",
    )

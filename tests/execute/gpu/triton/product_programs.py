"""Kernels that multiply two tiles, and kernels that multiply matrices tile by tile."""

from __future__ import annotations

from tests.execute.gpu.triton.lowered_programs import dense_view, entry, tensor

import tileir
from tileir.types import f16, f32, i32, ptr, tile


def _load(name: str, shape: list[int], element: str) -> str:
    made, view = dense_view(shape, element)
    zeros = ", ".join(["%zero"] * len(shape))
    extents = "x".join(map(str, shape))
    return (
        tensor(f"%{name}_tensor", f"%{name}", made)
        + f" %{name}_view = make_partition_view %{name}_tensor : {view}\n"
        + f" %{name}_tile, %{name}_token = load_view_tko weak %{name}_view[{zeros}] : {view}, tile<i32> "
        + f"-> tile<{extents}x{element}>, token\n"
    )


def product(
    operation: str,
    elements: tuple[str, ...],
    shape: tuple[int, int, int, int],
    attributes: str = "",
    block: int = 32,
) -> str:
    """One product of whole tiles: batch (0 for none), M, N and K; the result replaces the accumulator.

    `elements` are those of the factors, of the accumulator, and of the scales if there are any.
    """
    batch, m, n, k = shape
    first = [batch] if batch else []
    tiles = [("a", [*first, m, k], elements[0]), ("b", [*first, k, n], elements[0]), ("c", [*first, m, n], elements[1])]
    if len(elements) > 2:
        tiles += [("d", [*first, m, k // block], elements[2]), ("e", [*first, k // block, n], elements[2])]
    body = " %zero = constant <i32: 0> : tile<i32>\n" + "".join([_load(*tile) for tile in tiles])
    operands = ", ".join([f"%{name}_tile" for name, _, _ in tiles])
    types = ", ".join([f"tile<{'x'.join(map(str, shape))}x{element}>" for _, shape, element in tiles])
    body += f" %r = {operation} {operands} {attributes} : {types}\n"
    _, view = dense_view(tiles[2][1], elements[1])
    zeros = ", ".join(["%zero"] * len(tiles[2][1]))
    result = f"tile<{'x'.join(map(str, tiles[2][1]))}x{elements[1]}>"
    body += f" %t = store_view_tko weak %r, %c_view[{zeros}] : {result}, {view}, tile<i32> -> token\n"
    return entry(body, ", ".join([f"%{name}: tile<ptr<{element}>>" for name, _, element in tiles]))


def matmul(
    m: int,
    n: int,
    k: int,
    size: int = 1024,
    element: tileir.types.Type = f16,
    result: tileir.types.Type = f16,
    persistent: bool = False,
    ordered: bool = False,
    transposed: bool = False,
) -> tileir.Operation:
    """The product of two square matrices by tiles of these sizes, with sums in f32; `transposed`, the second by columns.

    Persistent, a tile block computes one tile after the other; `ordered`, with loads that wait for the store before.
    """
    build = tileir.Builder("kernels")
    pointers = [ptr(each) for each in (element, element, result)]
    with build.entry("matmul", *pointers) as (a, b, c):
        views = [
            build.make_partition_view(
                build.make_tensor_view(base, [size, size], [size, 1]), shape, padding="zero", dim_map=order
            )
            for base, shape, order in (
                (a, (m, k), (0, 1)),
                (b, (k, n), (1, 0) if transposed else (0, 1)),
                (c, (m, n), (0, 1)),
            )
        ]
        block, _, _ = build.get_tile_block_id()
        blocks, _, _ = build.get_num_tile_blocks()
        across = size // n

        def one_tile(number: tileir.Value, token: tileir.Value | None) -> tileir.Value:
            row, column = build.divi(number, across, "signed"), build.remi(number, across, "signed")
            empty = build.constant(0.0, tile((m, n), f32))
            with build.for_(0, size // k, 1, init=[empty]) as loop:
                x, _ = build.load_view_tko(views[0], [row, loop.index], token=token)
                y, _ = build.load_view_tko(views[1], [loop.index, column], token=token)
                build.continue_(build.mmaf(x, y, loop.value))
            total = loop.result if result is f32 else build.ftof(loop.result, result)
            return build.store_view_tko(total, views[2], [row, column])

        if persistent:
            initial = [build.make_token()] if ordered else []
            tiles = build.constant((size // m) * across, tile((), i32))
            with build.for_(block, tiles, blocks, init=initial) as outer:
                last = one_tile(outer.index, outer.value if ordered else None)
                build.continue_(*([last] if ordered else []))
        else:
            one_tile(block, None)
    return build.finish()

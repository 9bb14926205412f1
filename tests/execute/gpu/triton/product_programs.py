"""Kernels that multiply two tiles, and kernels that multiply matrices tile by tile."""

from __future__ import annotations

from tests.execute.gpu.triton.lowered_programs import dense_view, entry, tensor


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

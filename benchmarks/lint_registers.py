"""How well lint foretells that a kernel runs out of registers: `register-spill` against what NVIDIA's assembler makes.

    pip install 'tileir[tileiras]'
    python benchmarks/lint_registers.py [--target sm_90] [--only product] [--limit 40]

Four families of kernels, each with tiles from small to too large: a loop of products, a loop that carries tiles, tiles
that are needed after a reduction, and a softmax of rows.  A kernel for which the assembler takes longer than the limit
counts as one that spills: it does for nothing else.  The model was made with these kernels; those of the tests, which
it was not made with, are in docs/tools/lint.md.
"""

from __future__ import annotations

import argparse
from collections import Counter

import tileir
from measure import table
from tileir.analyze.cost.live_tiles import live_tiles, register_capacity
from tileir.execute.gpu.targets import ARCHITECTURES
from tileir.execute.gpu.tileiras.kernel import make_cubin
from tileir.execute.gpu.tileiras.tool import AssemblyOptions
from tileir.ir.traversal import functions

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")


def view(shape: str, element: str) -> str:
    rank = shape.count("x") + 1
    extents, strides = "x".join("?" * rank), ",".join([*"?" * (rank - 1), "1"])
    return (
        f"partition_view<tile=({shape}), padding_value = zero, tensor_view<{extents}x{element}, strides=[{strides}]>>"
    )


def views(names: str, shape: str, element: str) -> str:
    """A view of each pointer `%name`, called `%name_view`."""
    rank = shape.count("x") + 1
    extents = ", ".join(["%n"] * rank)
    strides = ", ".join([*["%n"] * (rank - 1), "1"])
    tensor = view(shape, element).split("zero, ")[1][:-1]
    lines = []
    for name in names.split():
        lines.append(f"%{name}_a = assume div_by<16>, %{name} : tile<ptr<{element}>>")
        made = f"make_tensor_view %{name}_a, shape = [{extents}], strides = [{strides}] : tile<i32> -> {tensor}"
        lines += [f"%{name}_t = {made}", f"%{name}_view = make_partition_view %{name}_t : {view(shape, element)}"]
    return "\n".join(lines)


def kernel(pointers: dict[str, str], body: str) -> str:
    parameters = ", ".join([f"%{name}: tile<ptr<{element}>>" for name, element in pointers.items()])
    return f"""entry @k({parameters}, %m: tile<i32>) {{
%n = assume div_by<16>, %m : tile<i32>
%x, %y, %z = get_tile_block_id : tile<i32>
%0 = constant <i32: 0> : tile<i32>
%1 = constant <i32: 1> : tile<i32>
{body}
return
}}"""


def product(rows: int, columns: int, depth: int, element: str) -> str:
    total = {"i8": "i32", "f64": "f64"}.get(element, "f32")
    left, right, sums = f"{rows}x{depth}", f"{depth}x{columns}", f"{rows}x{columns}"
    name, signs, zero = ("mmai", " signed signed", "0") if element == "i8" else ("mmaf", "", "0.0")
    acc = f"tile<{sums}x{total}>"
    return kernel(
        {"a": element, "b": element, "c": total},
        "\n".join([views("a", left, element), views("b", right, element), views("c", sums, total)])
        + f"""
%none = constant <{total}: {zero}> : {acc}
%r = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%s = %none) -> ({acc}) {{
  %l, %t = load_view_tko weak %a_view[%x, %i] : {view(left, element)}, tile<i32> -> tile<{left}x{element}>, token
  %q, %u = load_view_tko weak %b_view[%i, %y] : {view(right, element)}, tile<i32> -> tile<{right}x{element}>, token
  %d = {name} %l, %q, %s{signs} : tile<{left}x{element}>, tile<{right}x{element}>, {acc}
  continue %d : {acc}
}}
%v = store_view_tko weak %r, %c_view[%x, %y] : {acc}, {view(sums, total)}, tile<i32> -> token""",
    )


def carried(lanes: int, count: int, element: str) -> str:
    tile, seen = f"tile<{lanes}x{element}>", view(str(lanes), element)
    types = ", ".join([tile] * count)
    starts = ", ".join([f"%c{k} = %e" for k in range(count)])
    steps = [
        f"%d{k} = {'mulf' if k % 2 else 'addf'} %c{k}, %{f'd{k - 1}' if k else 'l'} : {tile}" for k in range(count)
    ]
    stores = [
        f"%k{k} = constant <i32: {k}> : tile<i32>\n"
        f"%v{k} = store_view_tko weak %r#{k}, %b_view[%k{k}] : {tile}, {seen}, tile<i32> -> token"
        for k in range(count)
    ]
    return kernel(
        {"a": element, "b": element},
        views("a b", str(lanes), element)
        + f"""
%e = constant <{element}: 0.0> : {tile}
%r:{count} = for %i in (%0 to %n, step %1) : tile<i32> iter_values({starts}) -> ({types}) {{
%l, %t = load_view_tko weak %a_view[%i] : {seen}, tile<i32> -> {tile}, token
"""
        + "\n".join([*steps, f"continue {', '.join([f'%d{k}' for k in range(count)])} : {types}", "}", *stores]),
    )


def reduced(source: str, name: str, operation: str, identity: str, shape: str, element: str, axis: int) -> str:
    """A reduction along the last axis, and what comes of it in the shape of the tile."""
    tile, rows = f"tile<{shape}x{element}>", shape.rpartition("x")[0]
    head = f"{rows}x" if rows else ""
    return f"""
%{name} = reduce {source} dim={axis} identities=[{identity} : {element}] : {tile} -> tile<{head}{element}> (%e{name}: tile<{element}>, %f{name}: tile<{element}>) {{
  %g{name} = {operation} %e{name}, %f{name} : tile<{element}>
  yield %g{name} : tile<{element}>
}}
%{name}_1 = reshape %{name} : tile<{head}{element}> -> tile<{head}1x{element}>
%{name}_all = broadcast %{name}_1 : tile<{head}1x{element}> -> {tile}
"""  # noqa: E501


def reductions(lanes: int, count: int, element: str) -> str:
    tile, seen = f"tile<{lanes}x{element}>", view(str(lanes), element)
    lines = [views("a", str(lanes), element)]
    for k in range(count):
        lines.append(f"%k{k} = constant <i32: {k}> : tile<i32>")
        lines.append(f"%l{k}, %t{k} = load_view_tko weak %a_view[%k{k}] : {seen}, tile<i32> -> {tile}, token")
        lines.append(f"%p{k} = mulf %{f'p{k - 1}' if k else 'l0'}, %l{k} : {tile}")
    lines.append(reduced(f"%p{count - 1}", "sum", "addf", "0.0", str(lanes), element, 0))
    for k in range(count):
        lines.append(f"%q{k} = addf %{f'q{k - 1}' if k else 'sum_all'}, %l{k} : {tile}")
    lines.append(f"%v = store_view_tko weak %q{count - 1}, %a_view[%x] : {tile}, {seen}, tile<i32> -> token")
    return kernel({"a": element}, "\n".join(lines))


def softmax(rows: int, columns: int, element: str) -> str:
    shape = f"{rows}x{columns}"
    tile, seen = f"tile<{shape}x{element}>", view(shape, element)
    least = "0xFF800000" if element == "f32" else "0xFC00"
    return kernel(
        {"a": element, "b": element},
        views("a b", shape, element)
        + f"\n%l, %t = load_view_tko weak %a_view[%x, %0] : {seen}, tile<i32> -> {tile}, token"
        + reduced("%l", "most", "maxf", least, shape, element, 1)
        + f"%d = subf %l, %most_all : {tile}\n%p = exp %d : {tile}"
        + reduced("%p", "sum", "addf", "0.0", shape, element, 1)
        + f"%q = divf %p, %sum_all : {tile}\n"
        + f"%v = store_view_tko weak %q, %b_view[%x, %0] : {tile}, {seen}, tile<i32> -> token",
    )


def kernels() -> dict[str, str]:
    found: dict[str, str] = {}
    for element, depth in (("f16", 64), ("tf32", 32), ("i8", 64), ("f8E4M3FN", 64), ("f32", 32), ("f64", 16)):
        for rows, columns in ((64, 64), (128, 128), (64, 256), (128, 256), (256, 256)):
            found[f"product of {element} {rows}x{columns}x{depth}"] = product(rows, columns, depth, element)
    for lanes in (1024, 4096, 8192, 16384):
        for count in (2, 4, 7, 8):
            found[f"loop with {count} of {lanes}xf32"] = carried(lanes, count, "f32")
            found[f"reduction with {count} of {lanes}xf32"] = reductions(lanes, count, "f32")
    for rows, columns in ((1, 4096), (1, 16384), (1, 32768), (4, 4096), (64, 256), (64, 512), (16, 1024)):
        for element in ("f32", "f16"):
            found[f"softmax of {element} {rows}x{columns}"] = softmax(rows, columns, element)
    return found


def spills(text: str, target: str, limit: float) -> bool | None:
    """Whether a kernel spills; None if the assembler refuses it, or crashes."""
    (entry,) = functions(tileir.parse(text, verify=True))
    try:
        return make_cubin(entry, target, AssemblyOptions(time_limit=limit)).resources.spills
    except tileir.errors.AssemblerTimeout:
        return True
    except tileir.TileIRError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", action="append", help="sm_90; all of the common ones by default")
    parser.add_argument("--only", default="", help="kernels whose names have this")
    parser.add_argument("--limit", type=float, default=40.0, help="seconds for a kernel")
    given = parser.parse_args()
    header = ("target", "kernels", "spill", "foretold", "false alarms", "missed")
    rows: list[tuple[str, ...]] = []
    for target in given.target or TARGETS:
        architecture = ARCHITECTURES[target]
        counts: Counter[tuple[bool, bool]] = Counter()
        for name, text in kernels().items():
            if given.only not in name:
                continue
            found = spills(text, target, given.limit)
            if found is None:
                continue
            (entry,) = functions(tileir.parse(text))
            live = live_tiles(entry, architecture)
            foretold = live is not None and live.registers >= register_capacity(architecture)
            counts[found, foretold] += 1
            if found != foretold:
                print(
                    f"{target}: {name}: {'spills' if found else 'does not spill'}, {live and live.registers} registers"
                )
        spilling = counts[True, True] + counts[True, False]
        numbers = [sum(counts.values()), spilling, counts[True, True], counts[False, True], counts[True, False]]
        rows.append((target, *map(str, numbers)))
    print(table(header, rows))


if __name__ == "__main__":
    main()

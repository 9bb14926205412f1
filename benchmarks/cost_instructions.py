"""How many instructions NVIDIA's assembler makes of an operation, for each element: the costs in
the declarations of `tileir/dialect/ops`.

    pip install 'tileir[tileiras]' nvidia-cuda-nvdisasm
    python benchmarks/cost_instructions.py [--target sm_90] [--only exp]

Each operation is compiled in a kernel that loads a tile of 4,096 elements, applies it and stores the result; what the
kernel takes without it is subtracted.  Code that only odd numbers reach, behind a branch to a function, does not count;
that there is such a branch is told, since elements are then computed one after the other.  What large arguments of
sines take does count here, and the declarations leave it out; a square root of f32 is one that the reading here cannot
tell (its function comes first), and is as that of f16 without the conversions.
"""

from __future__ import annotations

import argparse
import re

import tileir
from measure import table
from tileir.execute.gpu.nvidia_tools import disassembled
from tileir.types import f16, f32, i32, ptr, tile

LANES, THREADS = 4096, 128
ONE = tuple("absf ceil cos cosh exp exp2 floor log log2 negf rsqrt sin sinh sqrt tan tanh".split())  # noqa: SIM905
TWO = ("addf", "atan2", "divf", "maxf", "minf", "mulf", "pow", "remf", "subf")
INTEGER = ("addi", "muli", "divi", "remi", "maxi", "andi", "shli")

_INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]+)\*/\s+(@\S+\s+)?([A-Z][A-Z0-9_.]*)(.*)")
_LABEL = re.compile(r"(\.L_x_\d+):")


def kernel(operation: str, element: tileir.types.Type) -> tileir.Operation:
    """Two tiles in, one out; without an operation the first goes out as it came."""
    build = tileir.Builder("kernels")
    with build.entry("k", ptr(element), ptr(element), ptr(element)) as pointers:
        views = []
        for pointer in pointers:
            aligned = build.assume(pointer, tileir.attributes.div_by(16))
            tensor = build.make_tensor_view(aligned, [LANES * 1024], [1])
            views.append(build.make_partition_view(tensor, (LANES,)))
        block, _, _ = build.get_tile_block_id()
        x, _ = build.load_view_tko(views[0], [block])
        y, _ = build.load_view_tko(views[1], [block])
        if operation == "fma":
            made = build.fma(x, y, x)
        elif operation in TWO:
            made = getattr(build, operation)(x, y)
        elif operation in ("divi", "remi", "maxi"):
            made = getattr(build, operation)(x, y, "signed")
        elif operation in INTEGER:
            made = getattr(build, operation)(x, y)
        elif operation:
            made = getattr(build, operation)(x)
        else:
            made = x
        if operation not in ("fma", *TWO, *INTEGER):
            # The second tile is read in any case.
            build.store_view_tko(y, views[1], [build.addi(block, build.constant(512, tile((), i32)))])
        build.store_view_tko(made, views[2], [block])
    return build.finish()


def counted(module: tileir.Operation, target: str) -> tuple[int, int, int]:
    """Instructions, those for special functions, and branches around functions, on the way of ordinary numbers."""
    text = disassembled(tileir.compile(module, backend="tileiras").cubin(target))
    lines = text.splitlines()
    labels = {found[1]: number for number, line in enumerate(lines) if (found := _LABEL.match(line))}
    count = special = branches = 0
    number = 0
    while number < len(lines):
        found = _INSTRUCTION.match(lines[number])
        number += 1
        if "$__internal" in lines[number - 1] and lines[number - 1].rstrip().endswith(":"):
            break
        if found is None:
            continue
        name = found[3]
        count += name not in ("NOP", "EXIT")
        special += name.startswith("MUFU")
        jump = re.search(r"`\((\.L_x_\d+)\)", found[4]) if name.startswith("BRA") else None
        if jump and labels.get(jump[1], 0) > number and any("CALL" in line for line in lines[number : labels[jump[1]]]):
            branches += 1
            number = labels[jump[1]]
    return count, special, branches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rows = []
    for element in (f32, f16, i32):
        base = counted(kernel("", element), given.target)
        double = counted(kernel("maxi" if element is i32 else "maxf", element), given.target)
        for operation in INTEGER if element is i32 else (*ONE, *TWO, "fma"):
            if given.only not in operation:
                continue
            reference = double if operation in ("fma", *TWO, *INTEGER) else base
            one = 1 if reference is double else 0
            each = LANES / THREADS
            try:
                count, special, branches = counted(kernel(operation, element), given.target)
            except tileir.TileIRError as error:
                print(f"{operation} {element.spelling}: {error.diagnostics[0].message}")
                continue
            found = [(a - b) / each for a, b in zip((count, special, branches), reference, strict=True)]
            rows.append((operation, element.spelling, f"{found[0] + one:.1f}", f"{found[1]:.1f}", f"{found[2]:.1f}"))
    print(table(("operation", "type", "instructions", "special", "branches"), rows))


if __name__ == "__main__":
    main()

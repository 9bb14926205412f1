"""Programs of several kinds and of any size for the tools: additions, real kernels, mixed and random ones.

Most repeat themselves where they are large, as programs do that a frontend writes; `unlike` does not, and `located` has
a place in a script for every operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import tileir
from programs import cuda_tile_program
from tileir.ir.location import FileLocation

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
KERNELS = ("attention", "histogram", "layer_norm", "matmul", "softmax", "vector_add")
_RANDOM = 40
"""How many random programs are generated; larger ones repeat them."""


def additions(operations: int) -> str:
    """One kernel: a chain of additions."""
    tile = "tile<8xf32>"
    lines = [f"  %v{i + 1} = addf %v{i}, %v{i} : {tile}" for i in range(max(operations - 2, 1))]
    return "\n".join(["entry @k() {", f"  %v0 = constant <f32: 1.0> : {tile}", *lines, "  return", "}"])


def kernels(operations: int) -> str:
    """The kernels of the examples, again and again."""
    return _repeated([EXAMPLES.joinpath(f"{name}.mlir").read_text(encoding="utf-8") for name in KERNELS], operations)


def random(operations: int) -> str:
    """Programs of `tileir smith`."""
    found: list[str] = []
    count = 0
    for seed in range(_RANDOM):
        found.append(tileir.smith(seed).text())
        count += sum(1 for _ in tileir.parse(found[-1]).walk())
        if count >= operations:
            break
    return _repeated(found, operations)


def unlike(operations: int) -> str:
    """Programs of `tileir smith`, none twice."""
    found: list[str] = []
    count = 0
    while count < operations:
        found.append(tileir.smith(_RANDOM + len(found)).text())
        count += sum(1 for _ in tileir.parse(found[-1]).walk())
    return _repeated(found, operations)


def located(operations: int) -> str:
    """The kernels of the examples with debug info: a line of a script for each operation."""
    module = tileir.parse(kernels(operations))
    for number, operation in enumerate(module.walk(), 1):
        operation.location = FileLocation("kernels.py", number, 5 + number % 60)
    tileir.run_passes(module, ["synthesize-debug-info-scopes"])
    return module.text(debug_info=True)


def mixed(operations: int) -> str:
    """Kernels of loops, branches, reductions and arithmetic, as the benchmarks of the texts have them."""
    return cuda_tile_program(operations)[0]


KINDS: dict[str, Callable[[int], str]] = {
    "additions": additions,
    "kernels": kernels,
    "mixed": mixed,
    "random": random,
    "unlike": unlike,
    "located": located,
}


def _repeated(texts: list[str], operations: int) -> str:
    """The functions of several texts in one module, under new names each time, until there are so many operations."""
    bodies: list[tuple[str, int]] = []
    for text in texts:
        module = tileir.parse(text)
        block = module.regions[0].blocks[0]
        size = sum(1 for _ in module.walk()) - 1
        bodies.append(("\n".join(str(each) for each in block), size))
    parts: list[str] = []
    count = 0
    while count < operations or not parts:
        text, size = bodies[len(parts) % len(bodies)]
        # Every symbol of a copy gets the number of the copy.
        parts.append(re.sub(r"@([A-Za-z_][\w.$]*)", rf"@\g<1>_{len(parts)}", text))
        count += size
    return "\n".join(parts)

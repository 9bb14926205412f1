"""Triton kernels on a GPU by Triton itself, and as tile programs by both engines: times beside Triton's.

    python benchmarks/triton_kernels_gpu.py

The results of the engines are compared with Triton's.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import tileir
import triton_kernels as kernels
from gpu_timing import Flusher, difference, event_times, versions
from measure import table

ROUNDS, COUNT = 5, 20


class Case(NamedTuple):
    name: str
    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    constants: tuple[Any, ...]
    options: dict[str, Any]
    output: Any


def cases(torch: Any) -> list[Case]:
    def random(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(shape, device="cuda").to(dtype)

    found = []
    n = 1 << 26
    x, y, out = random(n), random(n), random(n)
    found.append(Case("add 64M f32", kernels.add, (n // 1024,), (x, y, out, n), (1024,), {}, out))
    rows, columns = 8192, 4000
    x, out = random(rows, columns), random(rows, columns)
    strides = (columns, columns, rows, columns)
    found.append(Case("softmax 8192x4000", kernels.softmax, (1056,), (out, x, *strides), (4096,), {}, out))
    for size, blocks in ((4096, (128, 128, 64)), (4096, (128, 256, 64)), (1000, (64, 64, 32))):
        a, b = random(size, size, dtype=torch.float16), random(size, size, dtype=torch.float16)
        c = torch.zeros_like(a)
        bm, bn, bk = blocks
        grid = (-(-size // bm) * -(-size // bn),)
        strides = (size, size, size, *a.stride(), *b.stride(), *c.stride())
        options = {"num_warps": 8 if bn > 64 else 4, "num_stages": 3}
        found.append(
            Case(f"matmul {size} f16 {bm}x{bn}", kernels.matmul, grid, (a, b, c, *strides), (bm, bn, bk, 8), options, c)
        )
    rows, columns = 8192, 8192
    x, (w, b) = random(rows, columns, dtype=torch.float16), random(2, columns)
    out = torch.zeros_like(x)
    taken = (x, out, w, b, columns, columns, 1e-5)
    found.append(Case("layer norm 8192x8192", kernels.layer_norm, (rows,), taken, (4096,), {"num_warps": 8}, out))
    heads, length, d = 64, 4096, 64
    for is_causal in (False, True):
        q, k, v = (random(heads, length, d, dtype=torch.float16) for _ in range(3))
        out = torch.zeros_like(q)
        constants, options = (d, 128, 64, is_causal), {"num_warps": 4, "num_stages": 3}
        name = f"attention d64{' causal' if is_causal else ''}"
        taken = (q, k, v, out, d**-0.5, length * d, length)
        found.append(Case(name, kernels.attention, (length // 128, heads), taken, constants, options, out))
    return found


def ways(case: Case) -> dict[str, Callable[[], object]]:
    """A launch by Triton, and by each engine: what a kernel says of warps and stages is for Triton only."""
    found: dict[str, Callable[[], object]] = {
        "Triton": lambda: case.kernel[case.grid](*case.arguments, *case.constants, **case.options)
    }
    values = (*case.arguments, *case.constants)
    for backend in ("triton", "tileiras"):
        compiled = tileir.compile(case.kernel, values, backend=backend)
        found[backend] = compiled.kernel.bind(case.grid, compiled.values(values))
    return found


def main() -> None:
    import torch

    torch.manual_seed(1)
    flush = Flusher(torch)
    rows: list[tuple[str, ...]] = []
    for case in cases(torch):
        launches = ways(case)
        results: dict[str, Any] = {}
        times: dict[str, list[float]] = {}
        for name, way in launches.items():
            case.output.zero_()
            way()
            torch.cuda.synchronize()
            results[name] = case.output.clone()
            times[name] = []
        for _ in range(ROUNDS):
            for name, way in launches.items():
                times[name] += event_times(torch, way, flush, COUNT)
        own = statistics.median(times.pop("Triton"))
        cells = [f"{own * 1e6:,.0f} us"]
        for name, found in times.items():
            distance = difference(torch, results[name], results["Triton"])
            cells += [f"{own / statistics.median(found):.2f}", f"{distance:.1e}"]
        rows.append((case.name, *cells))
        print(*rows[-1], flush=True)
    print(table(("kernel", "Triton", "by the Triton engine", "difference", "by tileiras", "difference"), rows))
    print(versions(torch), f"Triton {__import__('triton').__version__}")


if __name__ == "__main__":
    main()

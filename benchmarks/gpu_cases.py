"""The kernels that `gpu_speed.py` times, with their sizes and what torch does for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpu_programs
import tileir


class Case:
    """A kernel with its sizes: how it is launched, what torch does for it, and how close both must be."""

    def __init__(
        self,
        name: str,
        module: Callable[[], tileir.Operation],
        grid: tuple[int, ...],
        arrays: Callable[[Any], list[Any]],
        torch_does: Callable[..., Any],
        tolerance: float,
    ) -> None:
        self.name = name
        self.module = module
        self.grid = grid
        self.arrays = arrays
        """The tensors of a launch; the last is the result."""
        self.torch_does = torch_does
        self.tolerance = tolerance
        """The largest difference from torch's result, as a part of its largest element."""


def random(torch: Any, *shape: int, dtype: Any = None) -> Any:
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype or torch.float16)


def empty(torch: Any, *shape: int) -> Any:
    return torch.empty(*shape, device="cuda", dtype=torch.float16)


def cases(torch: Any) -> list[Case]:
    size, lanes = 1 << 27, 1024
    rows, columns = 32768, 4096
    heads, length, depth = 64, 4096, 64
    # As many tile blocks as an H200 has multiprocessors, for kernels whose blocks take one tile after the other.
    blocks = 132

    def vectors(torch: Any) -> list[Any]:
        found = [random(torch, size, dtype=torch.float32) for _ in range(2)]
        return [*found, torch.empty_like(found[0])]

    def matrices(torch: Any) -> list[Any]:
        return [random(torch, 4096, 4096), random(torch, 4096, 4096), empty(torch, 4096, 4096)]

    def sequences(torch: Any) -> list[Any]:
        return [*[random(torch, heads, length, depth) for _ in range(3)], empty(torch, heads, length, depth)]

    def attention(q: Any, k: Any, v: Any, out: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]

    def layer_norm(x: Any, weight: Any, bias: Any, out: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (columns,), weight[0], bias[0], 1e-5)

    return [
        Case(
            "vector add f32, 2^27",
            lambda: gpu_programs.vector_add(size, lanes),
            (size // lanes,),
            vectors,
            lambda a, b, c: torch.add(a, b, out=c),
            0.0,
        ),
        Case(
            "matmul f16 4096^3, 128x128x64",
            lambda: gpu_programs.matmul(4096, 128, 128, 64),
            (blocks,),
            matrices,
            lambda a, b, c: torch.matmul(a, b, out=c),
            2e-3,
        ),
        Case(
            "softmax f16 32768x4096",
            lambda: gpu_programs.softmax(rows, columns),
            (4 * blocks,),
            lambda torch: [random(torch, rows, columns), empty(torch, rows, columns)],
            lambda x, y: torch.softmax(x, 1),
            2e-3,
        ),
        Case(
            "layer norm f16 32768x4096",
            lambda: gpu_programs.layer_norm(rows, columns),
            (4 * blocks,),
            lambda torch: [
                random(torch, rows, columns),
                random(torch, 1, columns),
                random(torch, 1, columns),
                empty(torch, rows, columns),
            ],
            layer_norm,
            2e-3,
        ),
        Case(
            "attention f16 64x4096x64",
            lambda: gpu_programs.attention(heads, length, depth, 128, 128),
            (length // 128, heads),
            sequences,
            attention,
            5e-3,
        ),
    ]

"""What `triton_speed.py` measures: kernels with their sizes, what torch does for them, and the bars."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import gpu_programs
import tileir
import triton_programs
from gpu_cases import empty, random
from tileir.types import bf16, f8E4M3FN, f16

TRITON, ASSEMBLER = "triton", "tileiras"

PROCESSORS = 132
"""Multiprocessors of an H200: kernels whose tile blocks take one tile after the other have a few for each."""


class Candidate(NamedTuple):
    """One program for a work, and its grid."""

    name: str
    module: Callable[[], tileir.Operation]
    grid: tuple[int, ...]


class Bars(NamedTuple):
    """What has to hold; None for what does not matter."""

    of_torch: float | None = None
    """The fastest program beside the fastest of torch's ways."""
    of_assembler: float | None = None
    """The fastest program beside the assembler's fastest."""
    of_assembler_each: float | None = None
    """Every program beside the same one of the assembler."""
    slowest: float | None = None
    """How many times the fastest program's time the slowest may take."""
    of_bandwidth: float | None = None
    """The fastest program beside the memory's bandwidth."""


class Work(NamedTuple):
    name: str
    candidates: list[Candidate]
    arrays: Callable[[Any], list[Any]]
    """The tensors of a launch; the last is the result."""
    torch_ways: Callable[..., dict[str, Callable[[], Any]]]
    """By name, what torch does with the tensors, after torch itself; results are compared with the first way's."""
    tolerance: float
    """The largest difference from torch's result, as a part of its largest element."""
    amount: float
    """Operations, or bytes moved."""
    unit: str
    """TFLOP/s or TB/s."""
    backends: tuple[str, ...]
    bars: Bars


# --- products ---


def matmul(
    element: tileir.types.Type,
    size: int,
    tiles: list[tuple[int, int, int]],
    *,
    transposed: bool = False,
    persistent: bool,
) -> list[Candidate]:
    """Products in tiles; persistent ones have as many tile blocks as run at once, others one for every tile."""
    result = bf16 if element is bf16 else f16
    found = []
    for rows, columns, depth in tiles:
        count = (size // rows) * (size // columns)
        at_once = PROCESSORS * (
            1 if rows * columns >= 128 * 256 else 4 if rows * columns * depth <= 64 * 64 * 32 else 2
        )
        module = functools.partial(
            gpu_programs.matmul, size, rows, columns, depth, 8, element, result, transposed, persistent
        )
        found.append(Candidate(f"{rows}x{columns}x{depth}", module, (min(at_once, count) if persistent else count,)))
    return found


def square_products(
    element: tileir.types.Type,
    size: int,
    tiles: list[tuple[int, int, int]],
    bars: Bars,
    among: str = "",
    persistent: bool = True,
) -> Work:
    """`among` says what the tiles are that both engines are compared on."""

    def arrays(torch: Any) -> list[Any]:
        dtype = torch.bfloat16 if element is bf16 else torch.float16
        return [*[random(torch, size, size, dtype=dtype) for _ in range(2)], empty(torch, size, size).to(dtype)]

    def ways(torch: Any, a: Any, b: Any, c: Any) -> dict[str, Callable[[], Any]]:
        other = torch.empty_like(c)
        return {"torch.matmul": lambda: torch.matmul(a, b, out=other)}

    name = f"matmul {element} {size}^3{among}"
    engines = (TRITON, ASSEMBLER) if among else (TRITON,)
    candidates = matmul(element, size, tiles, persistent=persistent)
    return Work(name, candidates, arrays, ways, 1e-2, 2.0 * size**3, "TFLOP/s", engines, bars)


def narrow_products(size: int, tiles: list[tuple[int, int, int]]) -> Work:
    def arrays(torch: Any) -> list[Any]:
        factors = [(random(torch, size, size) * 0.5).to(torch.float8_e4m3fn) for _ in range(2)]
        return [*factors, empty(torch, size, size)]

    def ways(torch: Any, a: Any, b: Any, c: Any) -> dict[str, Callable[[], Any]]:
        one = torch.ones((), device="cuda")
        # Sums in f32 throughout, as the dialect has them, and as fast as the tensor cores add.
        return {
            f"torch._scaled_mm{', fast sums' if fast else ''}": functools.partial(
                torch._scaled_mm, a, b.t(), one, one, out_dtype=dtype, use_fast_accum=fast
            )
            for fast, dtype in ((True, torch.float16), (False, torch.bfloat16))
        }

    candidates = matmul(f8E4M3FN, size, tiles, transposed=True, persistent=True)
    flops = 2.0 * size**3
    name = f"matmul f8E4M3FN {size}^3"
    return Work(name, candidates, arrays, ways, 2e-2, flops, "TFLOP/s", (TRITON, ASSEMBLER), Bars(of_torch=0.8))


# --- attention ---


def attention(depth: int, causal: bool) -> Work:
    length, heads = 4096, 128 if depth == 64 else 64
    shape = (heads, length, depth)

    def arrays(torch: Any) -> list[Any]:
        return [*[random(torch, *shape) for _ in range(3)], empty(torch, *shape)]

    def ways(torch: Any, q: Any, k: Any, v: Any, out: Any) -> dict[str, Callable[[], Any]]:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(kind: Any) -> Any:
            with sdpa_kernel(kind):
                call = torch.nn.functional.scaled_dot_product_attention
                return call(q[None], k[None], v[None], is_causal=causal)[0]

        return {"cuDNN": lambda: by(SDPBackend.CUDNN_ATTENTION)}

    candidates = [
        Candidate(
            f"{queries}x{keys}",
            functools.partial(gpu_programs.attention, heads, length, depth, queries, keys, causal),
            (length // queries, heads),
        )
        for queries, keys in ((128, 128), (128, 64), (64, 128), (64, 64))
        if queries >= keys or not causal
    ]
    flops = 4.0 * heads * length * length * depth / (2 if causal else 1)
    name = f"attention f16 d{depth}{' causal' if causal else ''}"
    bars = Bars(of_torch=0.9, of_assembler=1.0)
    return Work(name, candidates, arrays, ways, 5e-3, flops, "TFLOP/s", (TRITON, ASSEMBLER), bars)


# --- memory ---


def vectors(kind: str) -> Work:
    size = 1 << 27
    module = gpu_programs.vector_add if kind == "vector add" else triton_programs.copy
    count = 3 if kind == "vector add" else 2

    def arrays(torch: Any) -> list[Any]:
        found = [random(torch, size, dtype=torch.float32) for _ in range(count - 1)]
        return [*found, torch.empty_like(found[0])]

    def ways(torch: Any, *given: Any) -> dict[str, Callable[[], Any]]:
        other = torch.empty_like(given[-1])
        if count == 2:
            return {"torch": lambda: other.copy_(given[0])}
        return {"torch": lambda: torch.add(given[0], given[1], out=other)}

    candidates = [
        Candidate(f"{lanes}", functools.partial(module, size, lanes), (size // lanes,)) for lanes in (512, 1024)
    ]
    name = f"{kind} f32 2^27"
    engines = (TRITON, ASSEMBLER)
    return Work(name, candidates, arrays, ways, 0.0, 4.0 * size * count, "TB/s", engines, Bars(of_torch=0.97))


def transposition() -> Work:
    size = 8192

    def ways(torch: Any, x: Any, y: Any) -> dict[str, Callable[[], Any]]:
        other = torch.empty_like(y)
        return {"torch": lambda: other.copy_(x.t())}

    candidates = [
        Candidate(
            f"{rows}x{columns}",
            functools.partial(triton_programs.transpose, size, rows, columns),
            (size // columns, size // rows),
        )
        for rows, columns in ((64, 64), (128, 128), (128, 64), (64, 128))
    ]

    def arrays(torch: Any) -> list[Any]:
        return [random(torch, size, size), empty(torch, size, size)]

    moved = 4.0 * size * size
    engines = (TRITON, ASSEMBLER)
    return Work(f"transpose f16 {size}^2", candidates, arrays, ways, 0.0, moved, "TB/s", engines, Bars(of_torch=0.97))


def row_work(kind: str) -> Work:
    rows, columns = 32768, 4096
    module: Callable[[int, int, bool], tileir.Operation] = {
        "softmax": gpu_programs.softmax,
        "rms norm": triton_programs.rms_norm,
        "layer norm": gpu_programs.layer_norm,
    }[kind]
    vectors = {"softmax": 0, "rms norm": 1, "layer norm": 2}[kind]

    def arrays(torch: Any) -> list[Any]:
        weights = [random(torch, 1, columns) for _ in range(vectors)]
        return [random(torch, rows, columns), *weights, empty(torch, rows, columns)]

    def ways(torch: Any, x: Any, *given: Any) -> dict[str, Callable[[], Any]]:
        functional = torch.nn.functional
        if kind == "softmax":
            return {"torch": lambda: torch.softmax(x, 1)}
        if kind == "rms norm":
            return {"torch": lambda: functional.rms_norm(x, (columns,), given[0][0], 1e-5)}
        return {"torch": lambda: functional.layer_norm(x, (columns,), given[0][0], given[1][0], 1e-5)}

    candidates = [
        Candidate("a tile block for a row", functools.partial(module, rows, columns, False), (rows,)),
        Candidate("persistent", functools.partial(module, rows, columns, True), (4 * PROCESSORS,)),
    ]
    moved = 4.0 * rows * columns
    name = f"{kind} f16 {rows}x{columns}"
    bars = Bars(of_torch=1.0, of_bandwidth=0.8)
    return Work(name, candidates, arrays, ways, 5e-3, moved, "TB/s", (TRITON, ASSEMBLER), bars)


# --- all of it ---

BEST_TILES = [(128, 256, 64), (256, 128, 64), (128, 128, 64), (256, 256, 64), (256, 256, 128)]
ALL_TILES = list(itertools.product((64, 128, 256), (64, 128, 256), (32, 64, 128)))
NARROW_TILES = [(128, 256, 128), (256, 128, 128), (128, 128, 128), (128, 256, 64)]


def works() -> list[Work]:
    return [
        *[
            square_products(element, size, BEST_TILES, Bars(of_torch=1.0))
            for element, size in itertools.product((f16, bf16), (4096, 8192))
        ],
        square_products(f16, 4096, ALL_TILES, Bars(of_assembler_each=1.0, slowest=2.5), ", tiles", persistent=False),
        square_products(f16, 4096, ALL_TILES, Bars(of_assembler_each=1.0, slowest=2.5), ", persistent tiles"),
        narrow_products(8192, NARROW_TILES),
        *[attention(depth, causal) for depth, causal in itertools.product((64, 128), (False, True))],
        *[vectors(kind) for kind in ("vector add", "copy")],
        transposition(),
        *[row_work(kind) for kind in ("softmax", "rms norm", "layer norm")],
    ]

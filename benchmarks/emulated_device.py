"""Scripts of torch and cuTile on the emulated CUDA device beside the same scripts on plain CPU tensors.

Each script makes its inputs, launches a kernel of `examples/cutile_kernels.py`, computes the same with torch and
compares, as the samples of cuTile do; the one on the device also moves tensors there and back, which copies them.  Both
run within `tileir.emulate`.  Times are of the process, since what else the machine does is nobody's doing here.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tileir
from measure import Line, add_line_options, finish, machine, race, table, tileir_build

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

BAR = 1.05
SMALL_BAR = 0.0
"""Scripts of small tensors have none: what they cost is said."""


def scripts(torch: Any, ct: Any) -> list[tuple[str, Callable[[str], object], float]]:
    import cutile_kernels as kernels

    functional = torch.nn.functional

    def stream() -> Any:
        return torch.cuda.current_stream()

    def matmul(device: str) -> None:
        torch.manual_seed(0)
        a, b = torch.randn(512, 512, device=device), torch.randn(512, 512, device=device)
        c = torch.empty(512, 512, device=device)
        ct.launch(stream(), (8, 8), kernels.matmul, (a, b, c))
        torch.testing.assert_close(c, a @ b, atol=1e-2, rtol=1e-2)

    def layer_norm(device: str) -> None:
        torch.manual_seed(0)
        x = torch.randn(2048, 1000, device=device)
        weight, bias = torch.randn(1000, device=device), torch.randn(1000, device=device)
        y = torch.empty_like(x)
        ct.launch(stream(), (x.shape[0],), kernels.layer_norm, (x, weight, bias, y, 1e-5))
        torch.testing.assert_close(y, functional.layer_norm(x, (1000,), weight, bias), atol=1e-3, rtol=1e-3)

    def attention(device: str) -> None:
        torch.manual_seed(0)
        q, k, v = [torch.randn(1024, 64, device=device) for _ in range(3)]
        out = torch.empty_like(q)
        ct.launch(stream(), (16,), kernels.attention, (q, k, v, out, 0.125))
        expected = functional.scaled_dot_product_attention(q[None], k[None], v[None], scale=0.125)[0]
        torch.testing.assert_close(out, expected, atol=1e-3, rtol=1e-3)

    def training(device: str) -> None:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x, y = torch.randn(256, 512, device=device), torch.randn(256, 512, device=device)
        for _ in range(3):
            optimizer.zero_grad()
            functional.mse_loss(model(x), y).backward()
            optimizer.step()

    def small(device: str) -> None:
        a, b = torch.ones(256, device=device), torch.ones(256, device=device)
        c = torch.zeros_like(a)
        for _ in range(50):
            ct.launch(stream(), (2,), kernels.vector_add, (a, b, c))
            b = c * 0.5 + a

    return [
        ("matmul 512^3, f32", matmul, BAR),
        ("layer norm 2048 x 1000, f32", layer_norm, BAR),
        ("attention 1024 x 64, f32", attention, BAR),
        ("training of a perceptron, 3 steps", training, BAR),
        ("50 small launches and 100 small operations", small, SMALL_BAR),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="time for each row")
    add_line_options(parser)
    arguments = parser.parse_args()
    try:
        import cuda.tile as ct
        import torch
    except ImportError as missing:
        print(f"left out: {missing}; pip install torch cuda-tile")
        return 0
    print(f"{tileir_build()}, torch {torch.__version__}; {machine()}")
    rows: list[tuple[str, ...]] = []
    lines: list[Line] = []
    with tileir.emulate():
        for name, script, bar in scripts(torch, ct):
            for device in ("cpu", "cuda"):
                script(device)
            rounds = race(
                arguments.seconds,
                lambda script=script: script("cpu"),  # type: ignore[misc]
                lambda script=script: script("cuda"),  # type: ignore[misc]
                clock=time.process_time,
            )
            host, emulated, ratio = rounds.typical(0), rounds.typical(1), rounds.ratio(0, 1)
            lines.append(Line(f"emulated device: {name}", "CPU tensors", ratio, bar or None, True))
            rows.append((name, f"{host * 1e3:.2f}", f"{emulated * 1e3:.2f}", f"{ratio:.3f}", f"{bar}" if bar else ""))
    print(table(("script", "cpu ms", "emulated ms", "ratio", "at most"), rows))
    return finish(lines, arguments)


if __name__ == "__main__":
    sys.exit(main())

"""A Triton script as it is written for a GPU: torch tensors on the device, a kernel launched over a grid.

On a machine without one: `tileir emulate examples/triton_script.py` (needs triton and torch).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(source, target, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    x = tl.load(source + row * columns + place, mask=place < columns, other=-float("inf"))
    powers = tl.exp(x - tl.max(x, axis=0))
    tl.store(target + row * columns + place, powers / tl.sum(powers, axis=0), mask=place < columns)


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 200, device="cuda")
    out = torch.empty_like(x)
    softmax[(64,)](x, out, 200, BLOCK=256)
    verdict = "ok" if torch.allclose(out, torch.softmax(x, 1), atol=1e-6) else "WRONG"
    print(f"softmax of 64 rows on {torch.cuda.get_device_name()}: {verdict}")


if __name__ == "__main__":
    main()

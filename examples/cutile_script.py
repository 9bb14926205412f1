"""A cuTile script as it is written for a GPU: torch tensors on the device, `ct.launch` on its stream.

On a machine without one: `tileir emulate examples/cutile_script.py` (needs cuda-tile and torch).
"""

from __future__ import annotations

import argparse

import cuda.tile as ct
import torch

TILE = 256


@ct.kernel
def rms_norm(x, weight, out, columns: ct.Constant[int]):
    row = ct.bid(0)
    values = ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.ZERO)
    scale = ct.rsqrt(ct.sum(values * values, axis=1, keepdims=True) / columns + 1e-6)
    ct.store(out, (row, 0), values * scale * ct.load(weight, (0,), (TILE,), padding_mode=ct.PaddingMode.ZERO))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=64)
    rows = parser.parse_args().rows
    torch.manual_seed(0)
    x = torch.randn(rows, 200, device="cuda")
    weight = torch.rand(200, device="cuda")
    out = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (rows,), rms_norm, (x, weight, out, 200))
    expected = torch.nn.functional.rms_norm(x, (200,), weight, 1e-6)
    verdict = "ok" if torch.allclose(out, expected, atol=1e-5) else "WRONG"
    print(f"{rows} rows on {torch.cuda.get_device_name()}: {verdict}")


if __name__ == "__main__":
    main()

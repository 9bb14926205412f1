"""Wrong on purpose: all tile blocks add to one element by a plain read and write, so that sums get lost.

`tileir emulate --sanitize examples/racy_script.py` reports it; `ct.atomic_add(out, 0, part)` is right.
"""

from __future__ import annotations

import cuda.tile as ct
import torch


@ct.kernel
def total(source, out):
    part = ct.sum(ct.load(source, (ct.bid(0),), (128,)))
    so_far = ct.gather(out, 0)
    ct.scatter(out, 0, so_far + part)


def main() -> None:
    source = torch.ones(1024, device="cuda")
    out = torch.zeros(1, device="cuda")
    ct.launch(torch.cuda.current_stream(), (8,), total, (source, out))
    print(f"sum of 1024 ones: {out.item():g}")


if __name__ == "__main__":
    main()

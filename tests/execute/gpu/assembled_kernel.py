"""The kernel that tests give to an assembler."""

from __future__ import annotations

from pathlib import Path

import tileir
from tileir.execute.cache.code_cache import default_cache
from tileir.ir.core import Operation

TEXT = """cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %one = constant <f32: 1.0> : tile<f32>
    %stored = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


def kernel(text: str = TEXT) -> tileir.Kernel:
    return tileir.compile(tileir.parse(text, "kernel.mlir"), backend="interpreter")


def entry() -> Operation:
    return kernel().entry


def only_key() -> str:
    """The name of the only cubin in the cache."""
    directory = default_cache().directory
    assert directory is not None
    (name,) = [path.stem for path in Path(directory).glob("cubin-*.kernel")]
    return name

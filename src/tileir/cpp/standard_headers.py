"""The headers of the C++ standard library, which NVRTC does not have: those of CCCL under their standard names.

Kernels written for nvcc include them, and use names that nvcc declares before every source.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

PRELUDE = "tileir_prelude.h"
"""The header to include before every source."""

# CCCL's <cmath> takes seconds to compile, and kernels cannot call its functions: the macros are what is left of it.
_PRELUDE = """\
#if __has_include(<cuda/std/cstdint>)
#include <cuda/std/cstdint>
#endif
#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
"""
_IN_CCCL = """\
#include <cuda/std/{name}>
namespace cuda {{ namespace std {{}} }}
namespace std {{ using namespace ::cuda::std; }}
"""
_OF_C = ("stdint", "stddef", "limits", "float")


@cache
def standard_headers(folders: Sequence[str]) -> dict[str, str]:
    """The text of each header by its name, where CCCL is in one of these folders, and of the prelude."""
    found = {PRELUDE: _PRELUDE, "cmath": "", "math.h": ""}
    for folder in folders:
        for path in sorted(Path(folder, "cuda", "std").glob("[a-z]*")):
            if path.is_file() and not path.suffix:
                found.setdefault(path.name, _IN_CCCL.format(name=path.name))
    for name in _OF_C:
        if f"c{name}" in found:
            found[f"{name}.h"] = found[f"c{name}"]
    return found

"""Headers of the C++ standard library and names that nvcc declares, in kernels that NVRTC compiles."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from tests.optional import needs

import tileir
from tileir.cpp.standard_headers import standard_headers

FILL = """
#include <type_traits>
#include <cmath>
#include <stdint.h>
#include <cuda_tile.h>
namespace ct = cuda::tiles;
template <typename T>
__tile_global__ void fill(T* out, int32_t n, int64_t base) {
    using scalar = std::conditional_t<std::is_same_v<T, float>, float, double>;
    static_assert(sizeof(uint16_t) == 2 && sizeof(uintptr_t) == 8);
    auto at = ct::iota<ct::tile<int, ct::shape<8>>>();
    auto value = ct::full<ct::tile<scalar, ct::shape<8>>>(-INFINITY);
    ct::store_masked(out + base + at, ct::element_cast<T>(value), at < n);
}
"""


def test_headers_are_those_of_cccl(tmp_path: Path) -> None:
    folder = tmp_path / "cuda" / "std"
    (folder / "__internal").mkdir(parents=True)
    for name in ("array", "cstdint", "algorithm.copy.h"):
        (folder / name).write_text("", encoding="utf-8")
    found = standard_headers((str(tmp_path / "none"), str(tmp_path)))
    assert set(found) == {"tileir_prelude.h", "cmath", "math.h", "array", "cstdint", "stdint.h"}
    assert "#include <cuda/std/array>" in found["array"] and found["stdint.h"] == found["cstdint"]


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_a_kernel_includes_them(tmp_path: Path, dtype: str) -> None:
    needs("nvrtc")
    needs("cccl")
    path = tmp_path / "fill.cu"
    path.write_text(FILL, encoding="utf-8")
    out = numpy.zeros(16, "f4" if dtype == "float" else "f8")
    tileir.compile(tileir.load(path, entry=f"fill<{dtype}>")).launch(1, (out, 5, 8))
    assert (out[:8] == 0).all() and (out[8:13] == -numpy.inf).all() and (out[13:] == 0).all()


def test_lines_of_errors_are_those_of_the_source(tmp_path: Path) -> None:
    needs("nvrtc")
    needs("cccl")
    path = tmp_path / "wrong.cu"
    path.write_text(FILL.replace("int32_t n", "int33_t n"), encoding="utf-8")
    with pytest.raises(tileir.TileIRError, match='identifier "int33_t" is undefined') as caught:
        tileir.load(path, entry="fill<float>")
    assert "wrong.cu:8:35" in str(caught.value)

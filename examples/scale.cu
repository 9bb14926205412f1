// CUDA Tile C++: `y = a * x + y` for arrays of any length, and a template that scales an array in place.
//
//   tileir run examples/scale.cu --entry axpy --grid 8 --arg 2.0 --arg iota:f32:1000 --arg ones:f32:1000 --arg 1000
//   tileir run examples/scale.cu --entry 'scale<256>' --grid 4 --arg iota:f32:1000 --arg 0.5 --arg 1000

#include <cuda_tile.h>

namespace ct = cuda::tiles;

extern "C" __tile_global__ void axpy(float a, const float *x, float *y, int n) {
    auto at = int(ct::bid().x) * 128 + ct::iota<ct::tile<int, ct::shape<128>>>();
    auto inside = at < n;
    auto sum = a * ct::load_masked(x + at, inside) + ct::load_masked(y + at, inside);
    ct::store_masked(y + at, sum, inside);
}

template <int N>
__tile_global__ void scale(float *x, float a, int n) {
    auto at = int(ct::bid().x) * N + ct::iota<ct::tile<int, ct::shape<N>>>();
    ct::store_masked(x + at, a * ct::load_masked(x + at, at < n), at < n);
}

// tileir: --entry sums<64> --grid 1 --arg ones:f32:160 --arg zeros:f32:64 --arg 160
#include <cuda_tile.h>

namespace ct = cuda::tiles;

__tile__ auto square(const auto &x) {
    auto y = x * x;
    return y + 1.0f;
}

template <int N>
__tile_global__ void sums(const float *x, float *y, int n) {
    auto lanes = ct::iota<ct::tile<int, ct::shape<N>>>();
    auto total = ct::full<ct::tile<float, ct::shape<N>>>(0.0f);
    for (int k = 0; k < n; k += N) {
        auto at = k + lanes;
        auto part = ct::load_masked(x + at, at < n);
        if (k > N) {
            total = total + square(part);
        } else {
            total = total + part;
        }
    }
    int left = n;
    while (left > 100) {
        left = left - 30;
    }
    ct::store(y + lanes, total + left * 1.0f);
}

"""Tensor views and the tiled views on them: static and dynamic extents, dimension orders, padding, hints, slices."""

import cuda.tile as ct
from tests.kernels.case import SINCE_13_3, SINCE_13_4, KernelCase, array, scalar

Padding = ct.PaddingMode


@ct.kernel
def every_padding(a, out):
    total = ct.zeros((16, 16), a.dtype)
    for padding in ct.static_iter(ct.PaddingMode):
        total = total + ct.load(a, (0, 0), (16, 16), padding_mode=padding)
    ct.store(out, (0, 0), total)


@ct.kernel
def hints(a, out):
    t = ct.load(a, (0, 0), (16, 16), latency=1)
    t = t + ct.load(a, (0, 1), (16, 16), allow_tma=False)
    t = t + ct.load(a, (1, 0), (16, 16), latency=10, allow_tma=True)
    ct.store(out, (0, 0), t, latency=6, allow_tma=False)
    ct.store(out, (0, 1), t, latency=8)


@ct.kernel
def unchecked(a, out):
    t = ct.load(a, (0, ct.bid(0)), (16, 16), check_bounds=False, latency=2)
    ct.store(out, (0, ct.bid(0)), t, check_bounds=False)
    view = out.tiled_view((8, 8), padding_mode=Padding.ZERO)
    # tileir: ignore[same-store-in-every-block]: launched as one tile block
    view.store((1, 1), view.load((0, 0), check_bounds=False), check_bounds=False, allow_tma=False)


@ct.kernel
def orders(a, out):
    t = ct.load(a, (0, 1, 2), (2, 4, 8), order=(2, 0, 1))
    t = t + ct.load(a, (0, 0, 0), (2, 4, 8), order="F")
    t = t + ct.load(a, (0, 0, 0), (2, 4, 8), order="C")
    ct.store(out, (0, 0, 0), t, order=(1, 0, 2))


@ct.kernel
def padded_transpose(a, out):
    t = ct.load(a, (ct.bid(0), ct.bid(1)), (16, 8), order=(1, 0), padding_mode=Padding.NAN, latency=3)
    ct.store(out, (ct.bid(0), ct.bid(1)), t, order="F", allow_tma=False)


@ct.kernel
def tiled_views(a, out):
    source = a.tiled_view((16, 32), padding_mode=Padding.ZERO)
    target = out.tiled_view((16, 32))
    for row in range(source.num_tiles(0)):
        for column in range(source.num_tiles(1)):
            target.store((row, column), source.load((row, column), latency=4))


@ct.kernel
def overlapping_windows(a, out):
    windows = a.tiled_view((8, 16), padding_mode=Padding.NEG_INF, traversal_steps=(3, 16))
    peak = ct.full((8, 16), -float("inf"), ct.float32)
    for row in range(windows.num_tiles(0)):
        peak = ct.maximum(peak, windows.load((row, 0), latency=2))
    out.tiled_view((8, 16), traversal_steps=(1, 1)).store((2, 3), peak)


@ct.kernel
def slices(a, out, start, stop):
    # tileir: ignore[index-overflow]: arrays are small
    part = a.slice(axis=0, start=start, stop=stop)
    narrow = part.slice(axis=-1, start=16, stop=part.shape[1])
    for row in range(ct.num_tiles(narrow, 0, (8, 8))):
        ct.store(out, (row, 0), ct.load(narrow, (row, 0), (8, 8)))


@ct.kernel
def shapes_and_strides(a, out):
    t = ct.load(a, (0, 0), (8, 8))
    ct.store(out, (0,), ct.astile((a.shape[0], a.shape[1], a.strides[0], a.strides[1]), dtype=out.dtype))
    ct.store(out, (1,), ct.sum(t, axis=0).extract((0,), (4,)).astype(out.dtype))


@ct.kernel
def scalar_access(a, out):
    ct.store(out, (ct.bid(0), ct.bid(1), ct.bid(2)), ct.load(a, (ct.bid(2), ct.bid(1), ct.bid(0)), ()) + 1)


@ct.kernel
def rank_zero(a, out):
    ct.scatter(out, (), ct.gather(a, ()) * 2)


@ct.kernel
def rank_five(a, out):
    t = ct.load(a, (0, 0, 0, ct.bid(0), 0), (1, 2, 1, 4, 8))
    ct.store(out, (0, 0, 0, ct.bid(0), 0), t)


@ct.kernel
def copy(a, out):
    ct.store(out, (ct.bid(0), ct.bid(1)), ct.load(a, (ct.bid(0), ct.bid(1)), (16, 16)))


@ct.kernel
def through_foreign_pointer(a, out):
    again = ct.Array.from_foreign(a.foreign_pointer, a.shape, a.strides)
    flat = ct.Array.from_foreign(a.foreign_pointer, (256,), (1,))
    ct.store(out, (0, 0), ct.load(again, (0, 0), (16, 16)) + ct.load(flat, (0,), (256,)).reshape((16, 16)))


@ct.kernel
def dependent_launch(a, out):
    t = ct.load(a, (0, 0), (16, 16))
    ct.grid_dependency_control_wait()
    ct.store(out, (0, 0), t)
    ct.grid_dependency_control_launch_dependents()


@ct.kernel
def grid_queries(out):
    flat = (ct.bid(2) * ct.num_blocks(1) + ct.bid(1)) * ct.num_blocks(0) + ct.bid(0)
    ct.scatter(out, flat, ct.num_blocks(0) * ct.num_blocks(1) * ct.num_blocks(2))


@ct.kernel
def assumptions(a, out, offset):
    aligned = ct.assume_divisible_by(offset, 16)
    # tileir: ignore[index-overflow]: arrays are small
    ct.store(out, (0, 0), ct.load(a.slice(0, aligned, aligned + 16), (0, 0), (16, 16)))


F32 = array(ct.float32, 2)
I32 = scalar(ct.int32)

CASES = [
    KernelCase("every_padding_f32", every_padding, (F32, F32)),
    KernelCase("every_padding_bf16", every_padding, (array(ct.bfloat16, 2),) * 2),
    KernelCase("hints", hints, (F32, F32)),
    KernelCase("hints_sm_120", hints, (F32, F32), architecture="sm_120"),
    KernelCase("unchecked", unchecked, (F32, F32), SINCE_13_4),
    KernelCase("orders", orders, (array(ct.float16, 3), array(ct.float16, 3))),
    KernelCase("padded_transpose", padded_transpose, (F32, array(ct.float32, 2, shape=(None, 64)))),
    KernelCase("tiled_views", tiled_views, (F32, F32)),
    KernelCase("overlapping_windows", overlapping_windows, (F32, F32), SINCE_13_3),
    KernelCase("slices", slices, (F32, F32, I32, I32)),
    KernelCase("shapes_and_strides", shapes_and_strides, (F32, array(ct.int32))),
    KernelCase(
        "shapes_and_strides_i64",
        shapes_and_strides,
        (array(ct.float32, 2, index_dtype=ct.int64), array(ct.int64)),
    ),
    KernelCase("scalar_access", scalar_access, (array(ct.int16, 3), array(ct.int16, 3))),
    KernelCase("rank_zero", rank_zero, (array(ct.float32, 0), array(ct.float32, 0))),
    KernelCase("rank_five", rank_five, (array(ct.uint8, 5), array(ct.uint8, 5, contiguous=False))),
    KernelCase(
        "copy_static",
        copy,
        (array(ct.float32, 2, shape=(64, 48), strides=(48, 1)), array(ct.float32, 2, shape=(64, None))),
    ),
    KernelCase("copy_column_major", copy, (array(ct.float64, 2, strides=(1, None)),) * 2),
    KernelCase("copy_i64_indices", copy, (array(ct.float16, 2, index_dtype=ct.int64),) * 2),
    KernelCase("copy_mixed_indices", copy, (array(ct.bool_, 2, index_dtype=ct.int64), array(ct.bool_, 2))),
    KernelCase("copy_unknown", copy, (array(ct.int32, 2, contiguous=False, base_divisible_by=1),) * 2),
    KernelCase(
        "copy_aligned",
        copy,
        (array(ct.float32, 2, shape_divisible_by=(64, 32), stride_divisible_by=(32, 1), base_divisible_by=256),) * 2,
    ),
    KernelCase("copy_aliased", copy, (array(ct.float32, 2, alias_groups=("g",), may_alias_internally=True),) * 2),
    KernelCase("through_foreign_pointer", through_foreign_pointer, (F32, F32)),
    KernelCase("dependent_launch", dependent_launch, (F32, F32), SINCE_13_4),
    KernelCase("grid_queries", grid_queries, (array(ct.int32),)),
    KernelCase("assumptions", assumptions, (F32, F32, I32)),
]

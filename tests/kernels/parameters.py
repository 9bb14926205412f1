"""Parameters beyond plain arrays and scalars: lists of arrays, tuples, 64-bit scalars, quoted entry names."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array, list_of, scalar, tuple_of


@ct.kernel
def sum_of_list(arrays, out):
    total = ct.zeros((16, 16), ct.float32)
    for i in range(len(arrays)):
        total = total + ct.load(arrays[i], (0, 0), (16, 16)).astype(ct.float32)
    ct.store(out, (0, 0), total)


@ct.kernel
def grouped_copy(sources, targets):
    """Two lists walked together, element shapes known only at run time."""
    for i in range(len(sources)):
        source = sources[i]
        target = targets[i]
        for tile in range(ct.bid(0), ct.num_tiles(source, 0, (64,)), ct.num_blocks(0)):
            ct.store(target, (tile,), ct.load(source, (tile,), (64,)))


@ct.kernel
def gather_from_list(arrays, which, out):
    chosen = arrays[which]
    ct.scatter(out, ct.arange(16, dtype=ct.int32), ct.gather(chosen, ct.arange(16, dtype=ct.int32)))


@ct.kernel
def tuple_of_arrays(pair, scales, out):
    left, right = pair
    ct.store(out, (0,), ct.load(left, (0,), (32,)) * scales[0] + ct.load(right, (0,), (32,)) * scales[1])


@ct.kernel
def wide_scalars(out, count: ct.ScalarInt64, fraction):
    ct.scatter(out, count, fraction + count)


@ct.kernel
def constants(out, N: ct.Constant[int], FLAG: ct.Constant[bool], RATIO: ct.Constant[float]):
    value = RATIO if FLAG else -RATIO
    ct.store(out, (0,), ct.full((N,), value, out.dtype))


F32 = array(ct.float32)

CASES = [
    KernelCase("sum_of_list", sum_of_list, (list_of(array(ct.float16, 2)), array(ct.float32, 2))),
    KernelCase(
        "sum_of_list_static",
        sum_of_list,
        (list_of(array(ct.float16, 2, shape=(16, 16), strides=(16, 1))), array(ct.float32, 2)),
    ),
    KernelCase("grouped_copy", grouped_copy, (list_of(F32), list_of(F32, elements_may_alias=True))),
    KernelCase("gather_from_list", gather_from_list, (list_of(array(ct.int64)), scalar(ct.int32), array(ct.int64))),
    KernelCase("tuple_of_arrays", tuple_of_arrays, (tuple_of(F32, F32), tuple_of(scalar(ct.float32), 0.25), F32)),
    KernelCase("wide_scalars", wide_scalars, (array(ct.float64), scalar(ct.int64), scalar(ct.float64))),
    KernelCase("constants_true", constants, (F32, 32, True, 0.3)),
    KernelCase("constants_false", constants, (array(ct.float16), 64, False, 1e-7)),
    KernelCase("entry_name_quoted", constants, (F32, 8, True, 2.0), symbol='a name with spaces, "quotes" and ü'),
    KernelCase("entry_name_dollar", constants, (F32, 8, True, 2.0), symbol="kernel$1.part"),
    KernelCase("entry_name_digit", constants, (F32, 8, True, 2.0), symbol="1st"),
]

"""Kernels of cuTile whose lines the tests know."""

import cuda.tile as ct
from tests.analyze.forms import cutile_functions


@ct.kernel
def scaled(source, target, factor: ct.Constant[float]):
    block = ct.bid(0)
    x = ct.load(
        source,
        (block,),
        (16,),
    )
    y = cutile_functions.twice(x) * factor
    ct.store(target, (block,), y)


@ct.kernel
def counted(source, target):
    total = ct.zeros((16,), ct.float32)
    for k in range(ct.num_tiles(source, 0, (16,))):
        total = total + ct.load(source, (k,), (16,))
    ct.store(target, (0,), total)

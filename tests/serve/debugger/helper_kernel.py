"""A cuTile kernel that calls functions, to be stepped through: the lines count."""

import cuda.tile as ct


def doubled(tile):
    more = tile + tile
    return more


@ct.kernel
def kernel(x, y):
    first = ct.load(x, (ct.bid(0),), (16,))
    second = doubled(first)
    third = second * 3.0
    ct.store(y, (ct.bid(0),), third)

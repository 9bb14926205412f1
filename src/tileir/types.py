"""The types of a program, for people who build one in Python: `from tileir.types import f32, i32, ptr, tile`.

Element types are names; the others are functions that check what they are given.  The classes are for those who read
programs: `isinstance(value.type, TileType)`, then `.shape` and `.element_type`.

>>> from tileir.types import f32, gather_scatter_view, i32, partition_view, ptr, strided_view, tensor_view, tile
>>> tile((8, 8), f32), tile(i32), ptr(f32)
(!cuda_tile.tile<8x8xf32>, !cuda_tile.tile<i32>, !cuda_tile.ptr<f32>)
>>> view = tensor_view((8, 16), f32, (16, 1))
>>> partition_view((4, 4), view)
!cuda_tile.partition_view<tile=(4x4), tensor_view<8x16xf32, strides=[16,1]>>
>>> strided_view((4, 4), view, (2, 2))
!cuda_tile.strided_view<tile=(4x4), traversal_strides=[2,2], tensor_view<8x16xf32, strides=[16,1]>>
>>> gather_scatter_view((4, 4), view, 0)
!cuda_tile.gather_scatter_view<tile=(4x4), tensor_view<8x16xf32, strides=[16,1]>, sparse_dim=0>
"""

from tileir.public import publish

publish(__name__)

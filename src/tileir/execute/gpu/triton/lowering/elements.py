"""Elements as they lie in memory, and as the values of tiles.

| element            | in memory          | the value                        |
|--------------------|--------------------|----------------------------------|
| i1                 | i8, zero or not    | i1                               |
| i4                 | i8, low four bits  | i8, -8 to 7                      |
| f4E2M1FN           | i8, low four bits  | i8, 0 to 15                      |
| pointers           | i64                | !tt.ptr                          |
| all others         | the value          |                                  |
"""

from __future__ import annotations

from tileir.dialect.types import PointerType, TileViewType
from tileir.execute.dtypes import bits_dtype
from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue, memory_element, value_element
from tileir.ir.types import F4E2M1FN, I1, I4, Type


def is_plain(element: Type) -> bool:
    """Whether memory and value agree, whatever the bytes are."""
    return element is not I1 and element is not I4 and element is not F4E2M1FN and not isinstance(element, PointerType)


def from_memory(build: TtirBuilder, element: Type, loaded: TtirValue) -> TtirValue:
    """The value of what was read."""
    if element is I1:
        return build.compare("ne", loaded, build.integer(0, "i8", loaded.shape))
    if element is I4:
        four = build.integer(4, "i8", loaded.shape)
        return build.binary("arith.shrsi", build.binary("arith.shli", loaded, four), four)
    if element is F4E2M1FN:
        return build.binary("arith.andi", loaded, build.integer(15, "i8", loaded.shape))
    if isinstance(element, PointerType):
        return build.reinterpret("tt.int_to_ptr", loaded, value_element(element))
    return loaded


def to_memory(build: TtirBuilder, element: Type, value: TtirValue) -> TtirValue:
    """What is written of a value."""
    if element is I1:
        return build.convert("arith.extui", value, "i8")
    if isinstance(element, PointerType):
        return build.reinterpret("tt.ptr_to_int", value, "i64")
    return value


def padding(build: TtirBuilder, type: TileViewType, shape: Shape) -> TtirValue:
    """What elements outside of the tensor read as, as if it lay in memory."""
    # Imported here: only kernels with views ask.
    from tileir.execute.interpreter.views import padding_value

    element = type.tensor.element
    lowered = memory_element(element)
    bits = int(padding_value(type).view(bits_dtype(element)))
    constant = TtirValue("", lowered)
    return build.float_bits(bits, lowered, shape) if constant.is_float else build.integer(bits, lowered, shape)


def memory_zero(build: TtirBuilder, element: Type, shape: Shape) -> TtirValue:
    """Zero, as it lies in memory."""
    return build.zero(memory_element(element), shape)

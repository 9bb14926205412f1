"""Arrays of numbers of all sizes (`mixed:f32:256:7`): derived from a seed bit by bit, the same on every machine.

SplitMix64 (Steele, Lea and Flood 2014) is a counter and a mixing function, all of it written here: NumPy's generators
do not promise that their streams stay what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tileir.ir.types import F8E8M0FNU, F64, FNV8E5M3FNU, FloatType, IntegerType, Type

if TYPE_CHECKING:
    import numpy

GAMMA: Final = 0x9E3779B97F4A7C15
MULTIPLIERS: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

# Mostly small numbers of which sums and products are exact; some that round, overflow or vanish; no NaN.
_FLOATS = (
    *[quarters / 4 for quarters in range(-16, 17)],
    *[float(whole) for whole in range(-12, 13, 3)],
    -0.0, 0.1, -0.1, 1 / 3, 2.7182818284590451, 100.0, -1000.0, 65504.0, 1e-5, -3e-8, 2.0**-126, 2.0**-130, 3e38,
)  # fmt: skip
# Scales have no sign, one of them no zero either.
_SCALES = (0.25, 0.5, 0.5, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0)


def words(seed: int, count: int) -> numpy.ndarray[Any, numpy.dtype[numpy.uint64]]:
    """`count` words of 64 random bits."""
    import numpy

    with numpy.errstate(over="ignore"):
        state = numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(GAMMA)
        state += numpy.uint64(seed % (1 << 64))
        state = (state ^ (state >> numpy.uint64(30))) * numpy.uint64(MULTIPLIERS[0])
        state = (state ^ (state >> numpy.uint64(27))) * numpy.uint64(MULTIPLIERS[1])
        return numpy.asarray(state ^ (state >> numpy.uint64(31)))


def mixed_numbers(element: Type, shape: tuple[int, ...], seed: int) -> Any:
    """An array of an element type, as a launch takes it; there is no NaN in it."""
    import numpy

    from tileir.execute.arithmetic.conversion import float_to_float
    from tileir.execute.dtypes import value_dtype

    count = 1
    for extent in shape:
        count *= extent
    drawn = words(seed, count).reshape(shape)
    if isinstance(element, FloatType):
        table = numpy.array(_SCALES if element in (F8E8M0FNU, FNV8E5M3FNU) else _FLOATS)
        chosen = table[(drawn % numpy.uint64(len(table))).astype(numpy.int64)]
        with numpy.errstate(all="ignore"):
            return chosen if element is F64 else numpy.array(float_to_float(F64, element)(chosen))
    assert isinstance(element, IntegerType)
    if element.width == 1:
        return (drawn & numpy.uint64(1)).astype(numpy.bool_)
    # Half of them small, the others of any size.
    small = (drawn >> numpy.uint64(8)) % numpy.uint64(17)
    signed = drawn.view(numpy.int64) >> numpy.int64(64 - element.width)
    numbers = numpy.where(drawn & numpy.uint64(1) == 0, small.astype(numpy.int64) - 8, signed)
    return numbers.astype(value_dtype(element))

"""Mathematical functions that Tile IR lacks, written with those it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.types import F64
from tileir.ir.values import Value
from tileir.ttir.translation import Translation, rule

# erf(x) / x in powers of x**2 for |x| < 1, log(1 - erf(x)) in powers of x from 1 to where erf(x) rounds to 1.  Both
# interpolate at the Chebyshev nodes of their interval.  The results are within 3 units in the last place.
_ERF_F32: Final = (
    4.0,
    (
        *(1.1283791065216064, -0.3761262595653534, 0.11283594369888306, -0.02685421146452427, 0.005189087241888046),
        *(-0.000801686430349946, 7.875874871388078e-05),
    ),
    (
        *(0.0003201380604878068, -1.1302334070205688, -0.6318260431289673, -0.11008008569478989, 0.026421135291457176),
        *(-0.004759596195071936, 0.0005968056502752006, -4.605804133461788e-05, 1.6371513993362896e-06),
    ),
)
_ERF_F64: Final = (
    6.0,
    (
        *(1.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.02686617064512984, 0.0052239776254232985),
        *(-0.000854832702193483, 0.00012055332902888736, -1.4925647567519332e-05, 1.6462045441468418e-06),
        *(-1.6364642158167616e-07, 1.4792401209404813e-08, -1.216456005728345e-09, 8.709045129053106e-11),
        -4.230945824295338e-12,
    ),
    (
        *(-4.7130127226567855e-07, -1.1283748790830996, -0.6366378349820118, -0.10272603574100231),
        *(0.019046892540054077, 0.0003102352340121398, -0.0017838817575689615, 0.0006372856412033342),
        *(-2.9480180607468226e-05, -8.667592809370349e-05, 5.6293158408909706e-05, -2.2239758436768475e-05),
        *(6.567414708164434e-06, -1.535977463945416e-06, 2.9031378001216055e-07, -4.453800142510713e-08),
        *(5.5171285885379745e-09, -5.445224205477944e-10, 4.1854432193119475e-11, -2.415426878798561e-12),
        *(9.845713993184966e-14, -2.5271163276169626e-15, 3.0711608343447995e-17),
    ),
)


@rule("math.erf")
def error_function(t: Translation, op: Operation) -> Value:
    """x p(x**2) near zero, +-(1 - exp(q(|x|))) elsewhere."""
    (x,) = t.operands(op)
    type = x.type
    assert isinstance(type, TileType)
    limit, near_zero, elsewhere = _ERF_F64 if type.element is F64 else _ERF_F32
    build = t.build
    near = build.mulf(x, _polynomial(t, near_zero, build.mulf(x, x)))
    size = build.absf(x)
    bounded = build.minf(size, build.constant(limit, type), propagate_nan=True)
    far = build.subf(build.constant(1.0, type), build.exp(_polynomial(t, elsewhere, bounded)))
    negative = build.cmpf(x, build.constant(0.0, type), "less_than", "ordered")
    far = build.select(negative, build.negf(far), far)
    is_near = build.cmpf(size, build.constant(1.0, type), "less_than", "ordered")
    result: Value = build.select(is_near, near, far)
    return result


def _polynomial(t: Translation, coefficients: Sequence[float], x: Value) -> Value:
    """Horner's rule."""
    result: Value = t.build.constant(coefficients[-1], x.type)
    for each in coefficients[-2::-1]:
        result = t.build.fma(result, x, t.build.constant(each, x.type))
    return result

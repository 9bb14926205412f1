"""Functions whose multiplications and additions may be fused without changing a result.

The interpreter computes functions of f32 and narrower types in double, far more precisely than the type needs, and
rounds once.  NumPy has no fused multiply-add; with it the same program takes two thirds of the time, and the last bits
of its doubles differ.  Rounding hides that for all but about one argument in 2**30, and a function stands here if none
of its 2**32 arguments is such a one: `tests/execute/cpu/test_fusible.py` compares them all with `make test-long`, and
every argument of the narrower types always.  Functions of two operands have too many arguments for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tileir.dialect.ops import COS, COSH, EXP, EXP2, LOG, LOG2, SIN, SINH, TANH
from tileir.execute.cpu.vector.builder import Builder
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import BF16, F16, F32, Type

FUSIBLE: Final = frozenset({EXP, EXP2, LOG, LOG2, SIN, COS, SINH, COSH, TANH})
"""For operands of ELEMENTS."""
ELEMENTS: Final = (F32, F16, BF16)


@contextmanager
def fused(builder: Builder, function: OperationDeclaration, element: Type) -> Iterator[None]:
    """Fuse what is traced within, where that changes no result and the machine can."""
    if function in FUSIBLE and element in ELEMENTS and builder.module.native_fma:
        builder.products = {}
    try:
        yield
    finally:
        builder.products = None

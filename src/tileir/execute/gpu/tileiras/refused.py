"""Forms that the dialect has and NVIDIA's assembler refuses without a reason, written as others that mean the same.

Versions up to 13.4.92 answer "failed to compile Tile IR program" to

* `ftof` with a rounding mode where the target holds every number of the source: there is nothing to round;
* `ftoi saturating` from tf32 and types of eight bits and fewer: f32 holds their numbers;
* `load_view_tko` that promises `inbounds` of a view with a padding value: the promise is not needed.
"""

from __future__ import annotations

from typing import cast

from tileir.dialect.ops import FTOF, FTOI, LOAD_VIEW_TKO
from tileir.dialect.types import TileViewType
from tileir.ir.core import Operation
from tileir.ir.types import F32, TF32, FloatType
from tileir.passes.emit import Emit
from tileir.passes.expansions import is_widening
from tileir.rewrite.matching import tile_of


def rewrite_refused(root: Operation) -> int:
    """Rewrite what is inside `root`; gives the number of operations rewritten."""
    return sum([_rewrite(operation) for operation in list(root.walk())])


def _rewrite(operation: Operation) -> int:
    declaration = operation.declaration
    if declaration is FTOF and "rounding_mode" in operation.attributes:
        source, target = (tile_of(value).element for value in (operation.operands[0], operation.results[0]))
        if is_widening(source, target):
            operation.set_attribute("rounding_mode", None)
            return 1
    elif declaration is FTOI and operation.saturating:
        value = operation.operands[0]
        element = cast(FloatType, tile_of(value).element)
        if element is TF32 or element.width <= 8:
            operation.set_operand(0, Emit(operation).convert(FTOF, value, F32))
            return 1
    elif declaration is LOAD_VIEW_TKO and operation.inbounds is not None:
        if cast(TileViewType, operation.operands[0].type).padding is not None:
            operation.set_attribute("inbounds", None)
            return 1
    return 0

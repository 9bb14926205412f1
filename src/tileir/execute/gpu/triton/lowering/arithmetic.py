"""Lowering of arithmetic on floats and integers, element by element."""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration

_BINARY: Final[dict[OperationDeclaration, str]] = {
    ops.ADDF: "arith.addf",
    ops.SUBF: "arith.subf",
    ops.MULF: "arith.mulf",
    ops.ADDI: "arith.addi",
    ops.SUBI: "arith.subi",
    ops.MULI: "arith.muli",
    ops.ANDI: "arith.andi",
    ops.ORI: "arith.ori",
    ops.XORI: "arith.xori",
}


def lower_binary(lowering: Lowering, operation: Operation) -> None:
    left, right = lowering.operands(operation)
    lowering.result(operation, lowering.build.binary(_BINARY[operation.declaration], left, right))

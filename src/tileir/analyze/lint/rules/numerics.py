"""Results that depend on an order that nobody decides."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import (
    ATOMIC_RED_VIEW_TKO,
    ATOMIC_RMW_TKO,
    DIVF,
    DIVI,
    POW,
    REDUCE,
    REMF,
    REMI,
    SCAN,
    SHLI,
    SHRI,
    SUBF,
    SUBI,
    YIELD,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value

_FLOAT_SUMS: Final = ("addf",)


def _sums_of_atomics(subject: Subject) -> Iterable[LintFinding]:
    for atomic in subject.operations(ATOMIC_RMW_TKO, ATOMIC_RED_VIEW_TKO):
        if atomic.keyword("mode") in _FLOAT_SUMS:
            yield LintFinding(atomic, "the sum depends on the order in which tile blocks add to it")


ORDER_DEPENDENT_SUM: Final = Rule(
    "order-dependent-sum",
    "numerics",
    "Floats are added up by atomic operations",
    reason=(
        "Tile blocks come in any order, and floats that are added in another order give another sum: two launches with "
        "the same arguments differ in the last bits."
    ),
    remedy="Let each tile block write its part, and add the parts in a second kernel; or silence it, if it is meant.",
    severity=REMARK,
    positive="""\
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %old, %t = atomic_rmw_tko relaxed device %p, addf, %x : tile<ptr<f32>>, tile<f32> -> tile<f32>, token // here
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %old, %t = atomic_rmw_tko relaxed device %p, add, %x : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}
""",
    check=_sums_of_atomics,
)

# (a - b) - c is not a - (b - c), and a - b not b - a.
_NOT_ASSOCIATIVE: Final[tuple[OperationDeclaration, ...]] = (SUBF, SUBI, DIVF, DIVI, REMF, REMI, SHLI, SHRI, POW)


def _order_dependent_bodies(subject: Subject) -> Iterable[LintFinding]:
    for aggregate in subject.operations(REDUCE, SCAN):
        body = aggregate.regions[0].block
        last = body.last
        if last is None or last.declaration is not YIELD:
            continue
        arguments: set[Value] = set(body.arguments)
        for value in last.operands:
            maker = value.defining_operation
            if maker is not None and _is_order_dependent(maker, aggregate, arguments):
                what = "reduction" if aggregate.declaration is REDUCE else "scan"
                yield LintFinding(
                    aggregate,
                    f"the {what} depends on an order that is not specified",
                    notes=[(f"'{maker.declaration.mnemonic}' is not associative", maker)],
                )
                break


def _is_order_dependent(maker: Operation, aggregate: Operation, arguments: set[Value]) -> bool:
    if maker.declaration not in _NOT_ASSOCIATIVE or not aggregate.is_ancestor_of(maker):
        return False
    return all(operand in arguments for operand in maker.operands)


ORDER_DEPENDENT_REDUCTION: Final = Rule(
    "order-dependent-reduction",
    "numerics",
    "A reduction or scan combines elements by an operation that is not associative",
    reason="In which order elements are combined is not specified: the result is another one on another target.",
    remedy="Combine by an associative operation: `a - b - c` is `a - (b + c)`.",
    positive="""\
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %base = reshape %x : tile<f32> -> tile<1xf32>
  %tile = broadcast %base : tile<1xf32> -> tile<8xf32>
  %r = reduce %tile dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> // here
  (%a: tile<f32>, %b: tile<f32>) {
    %d = subf %a, %b : tile<f32>
    yield %d : tile<f32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %base = reshape %x : tile<f32> -> tile<1xf32>
  %tile = broadcast %base : tile<1xf32> -> tile<8xf32>
  %r = reduce %tile dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32>
  (%a: tile<f32>, %b: tile<f32>) {
    %s = addf %a, %b : tile<f32>
    yield %s : tile<f32>
  }
  %t = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
  return
}
""",
    check=_order_dependent_bodies,
)

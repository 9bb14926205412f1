"""Fuse a multiplication with the addition or subtraction that uses it.

    (a * b) + c  ->  fma(a, b, c)
    (a * b) - c  ->  fma(a, b, -c)

A fused operation rounds once where the two round twice, so the results differ in the last bit: the pass preserves the
mathematics, not the bits, and no level of optimization runs it unless asked.  The model:

1. The product is the left operand.  In an addition with the product on the right only, the operands are swapped first
   (the canonical order of `addf`), whether or not the fusion then succeeds.  `c - (a * b)` is left alone.
2. The product has no other use: otherwise it would be computed twice.
3. Both operations agree in rounding mode and in flush_to_zero.
4. Nothing stands in between: a broadcast product does not fuse.

Conditions are tested before anything is created, so that a refused subtraction leaves no dead negation behind.
The greedy driver applies the rules, as in NVIDIA's pass: constants are gathered, folds are tried and what nothing needs
goes, too.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ADDF, FMA, MULF, NEGF, SUBF
from tileir.ir.attributes import Attribute
from tileir.ir.core import NO_ATTRIBUTES, Operation
from tileir.ir.values import Value
from tileir.passes.canonicalize import canonicalization_folds
from tileir.passes.registry import PassSession
from tileir.rewrite.driver import Pattern, apply_greedily
from tileir.rewrite.patterns_select import PRODUCT_FIRST
from tileir.rewrite.rewriter import Rewriter


def run(root: Operation, session: PassSession) -> int:
    """Fuse what can be fused in `root`; gives the number of rules that fired."""
    before = sum(session.statistics.fired.values())
    apply_greedily(
        root,
        [PRODUCT_FIRST, MULTIPLY_ADD, MULTIPLY_SUBTRACT],
        canonicalization_folds(session.rules),
        statistics=session.statistics,
        trace=session.trace,
        keep_locations=session.keep_locations,
    )
    return sum(session.statistics.fired.values()) - before


def fuse_multiply_add(operation: Operation, rewriter: Rewriter) -> bool:
    product = _fusible_product(operation)
    if product is None:
        return False
    _fuse(operation, product, operation.operands[1], rewriter)
    return True


def fuse_multiply_subtract(operation: Operation, rewriter: Rewriter) -> bool:
    product = _fusible_product(operation)
    if product is None:
        return False
    subtrahend = operation.operands[1]
    negated = rewriter.create(NEGF, [subtrahend], [subtrahend.type], location=operation.location)
    _fuse(operation, product, negated.result, rewriter)
    return True


def _product(value: Value) -> Operation | None:
    definition = value.defining_operation
    return definition if definition is not None and definition.declaration is MULF else None


def _fusible_product(operation: Operation) -> Operation | None:
    """The product on the left of a sum or difference, if rules 2 and 3 let it fuse."""
    product = _product(operation.operands[0])
    if product is None or not product.result.has_one_user_at_most or product.result.use_count != 1:
        return None
    for name in ("rounding_mode", "flush_to_zero"):
        if product.attribute(name) is not operation.attribute(name):
            return None
    # The drafts' operations take element types that fma does not.
    accepted = FMA.operands[0].constraint.accepts(operation.result.type)
    return product if accepted else None


def _fuse(operation: Operation, product: Operation, addend: Value, rewriter: Rewriter) -> None:
    attributes: dict[str, Attribute] = {}
    for name in ("rounding_mode", "flush_to_zero"):
        value = operation.attributes.get(name)
        if value is not None:
            attributes[name] = value
    fused = rewriter.create(
        FMA,
        [product.operands[0], product.operands[1], addend],
        [operation.result.type],
        attributes if attributes else NO_ATTRIBUTES,
        location=operation.location,
    )
    rewriter.inherit(fused, product)
    rewriter.replace(operation, [fused.result])
    rewriter.erase(product)


MULTIPLY_ADD: Final = Pattern("MulAdd", ADDF, fuse_multiply_add)
MULTIPLY_SUBTRACT: Final = Pattern("MulSub", SUBF, fuse_multiply_subtract)

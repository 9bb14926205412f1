"""The passes that apply folds and patterns greedily (rewrite/driver.py): canonicalize, and fuse-fma.

**Canonicalization** uses the rules of the public dialect ("parity") or those and the folds draft's ("full").  Dead code
goes and constants are gathered at the start of the kernel; loads and all other token-ordered operations stay.  With
"full" the expression simplifier runs once after the fixed point (the folds draft, Canonicalization Driver).  If it
changes something, the rules and then the simplifier run again, so that a second canonicalization changes nothing.

**fuse-fma** fuses a multiplication with the addition or subtraction that uses it:

    (a * b) + c  ->  fma(a, b, c)
    (a * b) - c  ->  fma(a, b, -c)

A fused operation rounds once where the two round twice, so the last bit of results differs, and no optimization level
runs the pass unless requested.

1. The product is the left operand.  An addition with a product only on the right first swaps its operands (the
   canonical order of `addf`), whether or not the fusion then succeeds.  `c - (a * b)` is not fused.
2. The product has no other use; otherwise it would be computed twice.
3. Both operations have the same rounding mode and flush_to_zero.
4. A broadcast product does not fuse.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ADDF, FMA, MULF, NEGF, SUBF
from tileir.ir.core import Operation
from tileir.passes.registry import FULL, PARITY, PassSession
from tileir.rewrite.driver import Driver, Pattern, RuleSet
from tileir.rewrite.folds import PRODUCT_FIRST, canonicalization_folds, select_patterns
from tileir.rewrite.if_patterns import if_patterns
from tileir.rewrite.matching import defined_by
from tileir.rewrite.rewriter import Rewriter
from tileir.rewrite.simplifier import simplify_expressions

# A bound far above what programs need.
_MAX_ROUNDS: Final = 16


def canonicalization_patterns() -> list[Pattern]:
    """The patterns of both rule sets, in the order they are tried."""
    return [PRODUCT_FIRST, *if_patterns(), *select_patterns()]


def run(root: Operation, session: PassSession) -> int:
    """Canonicalize the contents of `root`; return the number of rules that fired."""
    before = sum(session.statistics.fired.values())
    rules = _RULES[session.rules]
    _apply(root, rules, session)
    if session.rules == FULL:
        # The simplifier removes more than it creates, and the rules create nothing that it removes, so this ends.
        for _ in range(_MAX_ROUNDS):
            if not simplify_expressions(root, session.statistics, session.trace, session.keep_locations, True):
                break
            _apply(root, rules, session)
    return sum(session.statistics.fired.values()) - before


def fuse_fma(root: Operation, session: PassSession) -> int:
    """Fuse products in `root`; return the number of rules that fired."""
    before = sum(session.statistics.fired.values())
    _apply(root, _FMA_RULES[session.rules], session)
    return sum(session.statistics.fired.values()) - before


def _apply(root: Operation, rules: RuleSet, session: PassSession) -> None:
    Driver(root, rules, session.statistics, session.trace, session.keep_locations, session.trace_patterns).run()


def _fusible_product(operation: Operation, rewriter: Rewriter) -> Operation | None:
    """Return the product on the left of a sum or difference, if rules 2 and 3 allow fusing it."""
    product = defined_by(operation.operands[0], MULF)
    if product is None:
        rewriter.no_match(operation, "the left operand is not a product")
    elif not product.result.has_one_user_at_most or product.result.use_count != 1:
        rewriter.no_match(product, "the product has another use")
    elif product.attribute("rounding_mode") is not operation.attribute("rounding_mode"):
        rewriter.no_match(product, "the rounding modes differ")
    elif product.attribute("flush_to_zero") is not operation.attribute("flush_to_zero"):
        rewriter.no_match(product, "only one of the operations flushes to zero")
    elif not FMA.operands[0].constraint.accepts(operation.result.type):
        # The drafts' operations take element types that fma does not.
        rewriter.no_match(operation, "'fma' does not take this element type")
    else:
        return product
    return None


def _fuse(operation: Operation, rewriter: Rewriter) -> bool:
    product = _fusible_product(operation, rewriter)
    if product is None:
        return False
    addend = operation.rhs
    if operation.declaration is SUBF:
        addend = rewriter.create(NEGF, [addend], [addend.type]).result
    names = ("rounding_mode", "flush_to_zero")
    attributes = {name: value for name, value in operation.attributes.items() if name in names}
    fused = rewriter.create(FMA, [product.lhs, product.rhs, addend], [operation.result.type], attributes)
    rewriter.inherit(fused, product)
    rewriter.replace(operation, [fused.result])
    rewriter.erase(product)
    return True


MULTIPLY_ADD: Final = Pattern("MulAdd", ADDF, _fuse)
MULTIPLY_SUBTRACT: Final = Pattern("MulSub", SUBF, _fuse)


def _rule_sets(patterns: list[Pattern]) -> dict[str, RuleSet]:
    return {family: RuleSet(patterns, canonicalization_folds(family == FULL)) for family in (PARITY, FULL)}


_RULES: Final = _rule_sets(canonicalization_patterns())
_FMA_RULES: Final = _rule_sets([PRODUCT_FIRST, MULTIPLY_ADD, MULTIPLY_SUBTRACT])

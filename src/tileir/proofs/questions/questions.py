"""The questions about a kernel and what can be claimed about each, without running anything.

    for claim in claims(module, entry, contract, seconds): ...

Every access, pair of accesses, loop and operation that a question is about has a claim of its own.  The terms are
exact, so a claim that is proved holds also where integers wrap; whether they can is the question "overflow".
"""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.proofs.contract.contract import Contract
from tileir.proofs.questions.bounds import bounds_claims
from tileir.proofs.questions.checks import check_claims, overflow_claims
from tileir.proofs.questions.context import Context
from tileir.proofs.questions.coverage import coverage_claims
from tileir.proofs.questions.races import race_claims
from tileir.proofs.records import Claim
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import Term
from tileir.proofs.symbolic.traversal import variables


def claims(module: Operation, entry: Operation, contract: Contract, seconds: float = 30.0) -> list[Claim]:
    """All claims about a kernel under its contract; what is not settled within `seconds` is unknown."""
    context = Context(contract, seconds)
    found: list[Claim] = []
    tightest: dict[Term, Term] = {}
    for claim, limits in overflow_claims(context):
        found.append(claim)
        for limit in limits:
            (parameter,) = variables(limit)
            known = tightest.get(parameter)
            # Both are parameter - limit <= 0.
            if known is None or (terms.constant(terms.sub(limit.arguments[0], known.arguments[0])) or 0) > 0:
                tightest[parameter] = limit
    for limit in tightest.values():
        contract.assume(limit, f"{term_text(limit)}, else an integer may wrap", "inferred")
    # The other questions assume that no integer wraps, where these limits ensure it.
    context = Context(contract, context.solver.left)
    nothing = not context.allows(terms.TRUE)
    found += bounds_claims(context)
    found += race_claims(context)
    found += coverage_claims(context, found)
    found += check_claims(context)
    several = terms.disjunction(*[terms.less(terms.ONE, count) for count in contract.elements.grid])
    if nothing:
        contract.note("no launch fulfills all of this: nothing is proved", "inferred")
        found = [Claim(each.question, each.operation, each.other, "unknown", _NOTHING) for each in found]
    elif not context.allows(several):
        contract.note("there is one tile block, so none can race with another", "inferred")
    return found


_NOTHING = "no launch fulfills the contract"

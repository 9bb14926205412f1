"""The questions about single operations: do loops end, can integers wrap where an index is computed, can a divisor be
zero, do `assert` and `assume` hold?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.ir.values import Value
from tileir.proofs.questions.context import Context
from tileir.proofs.records import Claim
from tileir.proofs.solving import Solver
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.element_rules import is_on_every_path, promised
from tileir.proofs.symbolic.integer_rules import exact_integer
from tileir.proofs.symbolic.memory import conjuncts, lanes_of
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import ONE, ZERO, Term
from tileir.proofs.symbolic.traversal import substitute, subterms, variables
from tileir.proofs.symbolic.walking import Visit, facts_of, walk
from tileir.rewrite.fact import shape_of
from tileir.rewrite.matching import ends_of

_WRAPS = (ops.ADDI, ops.SUBI, ops.MULI, ops.NEGI, ops.SHLI, ops.TRUNCI, ops.FOR, ops.LOOP)
_LIMITS = (10**9, 1 << 24, 1 << 15)
"""Limits of numbers that are tried.  Two numbers up to the first one have a sum in 32 bits."""


def check_claims(context: Context) -> Iterator[Claim]:
    for visit in walk(context.elements.entry):
        declaration = visit.operation.declaration
        if declaration is ops.FOR:
            step = context.elements.bounds(visit.operation)[2]
            ends = [terms.at_least(step, ONE), *[goal for _, goal in _undefined(context, visit)]]
            yield context.claim("termination", visit.operation, terms.conjunction(*ends), _facts(context, visit))
        elif declaration is ops.LOOP:
            yield _loop_claim(context, visit)
        elif declaration in (ops.DIVI, ops.REMI):
            divisor = _element(context, visit.operation.operands[1], visit.operation)
            goal = terms.negation(terms.equal(divisor, ZERO))
            yield context.claim("division", visit.operation, goal, _facts(context, visit))
        elif declaration in (ops.ASSERT, ops.ASSUME_COND):
            goal = _element(context, visit.operation.operands[0], visit.operation)
            yield context.claim("asserts", visit.operation, goal, _facts(context, visit))
        elif declaration is ops.ASSUME:
            yield from _assume_claims(context, visit)
        elif visit.operation.regions and declaration is not ops.IF:
            yield from _body_claims(visit.operation)


def _facts(context: Context, visit: Visit) -> list[Term]:
    return context.solver.simplified_facts(facts_of(context.elements, visit))


def _element(context: Context, value: Value, operation: Operation) -> Term:
    """Any element of a value, where an operation runs."""
    return context.elements.element(value, lanes_of(context.elements, operation, shape_of(value.type)))


def _body_claims(operation: Operation) -> Iterator[Claim]:
    """The bodies of reductions and scans are not followed."""
    for inner in operation.walk():
        if inner.declaration in (ops.DIVI, ops.REMI):
            yield Claim("division", inner, None, "unknown", _not_followed(operation))


def _loop_claim(context: Context, visit: Visit) -> Claim:
    """A `loop` ends if it goes on only while a counter stays below something that its iterations do not change."""
    loop = visit.operation
    counter = context.elements.iteration(loop)
    ends = ends_of(loop, ops.CONTINUE)
    paths = [each for each in walk(context.elements.entry) if each.operation in ends]
    if paths and all(_is_counted(context, path, counter) for path in paths):
        return Claim("termination", loop, None, "proved")
    waits = any(inner.declaration.reads for inner in loop.walk())
    what = "it waits for what other tile blocks write" if waits else "no counter was found that ends it"
    return Claim("termination", loop, None, "unknown", what)


def _is_counted(context: Context, path: Visit, counter: Term) -> bool:
    for fact in context.solver.simplified_facts(facts_of(context.elements, path)):
        for part in conjuncts(fact):
            # `factor*counter + rest <= 0`
            if part.operation != "not_positive":
                continue
            rest = dict(terms.polynomial(part.arguments[0]))
            factor = rest.pop((counter,), 0)
            if factor > 0 and not any(counter in subterms(atom) for monomial in rest for atom in monomial):
                return True
    return False


def _assume_claims(context: Context, visit: Visit) -> Iterator[Claim]:
    """An `assume` of a parameter on every path is part of the contract; others must follow."""
    operation = visit.operation
    value = operation.operands[0]
    elements = context.elements
    term = _element(context, value, operation) if isinstance(value.type, TileType) else None
    if term in elements.parameters.values() and is_on_every_path(operation):
        return
    fact = promised(operation, term) if term is not None and term.sort == terms.INTEGER else None
    if fact is not None and term is not None and elements.is_input(term):
        name = elements.name(value)
        text = term_text(substitute(fact, {term: terms.variable(name)}))
        context.contract.note(f"{text}, where '{name}' is loaded at {elements.line(operation)}", "assume")
    elif fact is None:
        yield Claim("asserts", operation, None, "unknown", "this kind of assumption is not modeled")
    elif fact is not terms.TRUE:
        # Without what the operation itself promises.
        plain = Solver(context.contract.hypotheses, context.solver.left, context.contract.promised_of_parameters)
        path = context.solver.simplified_facts(facts_of(elements, visit))
        if plain.follows(plain.simplified(fact, path), path, 1.0):
            yield Claim("asserts", operation, None, "proved")
        else:
            wrong = [*path, terms.negation(fact)]
            reason = f"not for all launches: {term_text(fact)}"
            yield Claim("asserts", operation, None, "refutable", reason, "", context.candidates(wrong, plain))


def overflow_claims(context: Context) -> Iterator[tuple[Claim, list[Term]]]:
    """Each operation whose result may wrap on the way to an index, a mask or a condition of an access; and with which
    limits of parameters it does not, if it may."""
    done: dict[Operation, tuple[Claim, list[Term]]] = {}
    asked: set[Term] = set()

    def ask(operation: Operation, goal: Term, facts: list[Term], why: str) -> None:
        claim = context.claim("overflow", operation, goal, facts, None, 1.0)
        limits: list[Term] = []
        if claim.verdict != "proved":
            claim.reason = f"{why}: {claim.reason}"
            known = list(dict.fromkeys([limit for _, others in done.values() for limit in others]))
            limits = _limits(context, goal, facts, known)
            claim.settled_by = " and ".join([term_text(limit) for limit in limits])
            is_defined = operation.declaration is ops.FOR or "undefined" not in why
            if is_defined and limits and all(_is_largest(limit) for limit in limits):
                # The contract has these limits.
                claim.verdict = "proved"
        before, others = done.get(operation, (claim, []))
        done[operation] = claim if before.verdict == "proved" else before, [*others, *limits]

    for access in context.contract.accesses:
        parts = [access.offset, access.mask, *access.facts, *[index for index in access.indices if index is not None]]
        for part in subterms(*parts):
            operation = context.elements.wrapped.get(part)
            if part in asked or operation is None or operation.declaration not in _WRAPS:
                continue
            asked.add(part)
            width, signed = part.data
            low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
            facts = context.facts(access)
            inside = context.solver.simplified(part.arguments[0], facts)
            goal = terms.between(terms.number(low), inside, terms.number(high + 1))
            known = [fact for fact in facts if part not in subterms(fact)]
            ask(operation, goal, known, f"the result may exceed {width} bits")
    for visit in walk(context.elements.entry):
        for bits, goal in _undefined(context, visit):
            facts = _facts(context, visit)
            why = f"the result may exceed {bits} bits, and is undefined then"
            ask(visit.operation, context.solver.simplified(goal, facts), facts, why)
    yield from done.values()
    yield from [(claim, []) for claim in _inner_claims(context)]


def _undefined(context: Context, visit: Visit) -> Iterator[tuple[int, Term]]:
    """Of an operation with an undefined result where a number does not fit: how many bits it has, and that it fits.

    That is one with an `overflow` flag, the signed quotient by -1, and the counter of a `for` after its last iteration.
    """
    operation, declaration = visit.operation, visit.operation.declaration
    elements = context.elements
    if declaration is ops.FOR:
        step = elements.bounds(operation)[2]
        if terms.constant(step) == 1:
            return
        bits = _width(operation.operands[0])
        most = (1 << (bits if operation.unsigned_cmp else bits - 1)) - 1
        inside = terms.conjunction(*elements.counter_facts(operation))
        following = terms.add(elements.unwrapped_counter(operation), step)
        yield bits, terms.implies(inside, terms.at_most(following, terms.number(most)))
    elif declaration is ops.DIVI and operation.keyword("signedness") == "signed":
        left, right = [_element(context, each, operation) for each in operation.operands]
        bits = _width(operation.operands[0])
        is_least = terms.equal(left, terms.number(-(1 << (bits - 1))))
        yield bits, terms.negation(terms.conjunction(is_least, terms.equal(right, terms.number(-1))))
    elif operation.keyword("overflow") in _SIGNS_OF_FLAGS:
        bits = _width(operation.results[0])
        operands = [_element(context, each, operation) for each in operation.operands]
        for signed in _SIGNS_OF_FLAGS[operation.keyword("overflow")]:
            exact = exact_integer(operation, operands, signed)
            low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
            fits = terms.FALSE if exact is None else terms.between(terms.number(low), exact, terms.number(high))
            yield bits, fits


_SIGNS_OF_FLAGS: Final = {
    "no_signed_wrap": (True,),
    "no_unsigned_wrap": (False,),
    "no_wrap": (True, False),
}


def _width(value: Value) -> int:
    return cast(IntegerType, cast(TileType, value.type).element).width


def _inner_claims(context: Context) -> Iterator[Claim]:
    """The bodies of reductions and scans are not followed."""
    for outer in context.elements.entry.walk():
        if outer.regions and not outer.declaration.is_loop and outer.declaration not in (ops.IF, ops.ENTRY):
            for inner in outer.walk():
                if inner.keyword("overflow") in _SIGNS_OF_FLAGS:
                    yield Claim("overflow", inner, None, "unknown", _not_followed(outer))


def _not_followed(operation: Operation) -> str:
    return f"the operands of '{operation.declaration.mnemonic}' are not followed into its body"


def _limits(context: Context, goal: Term, facts: list[Term], known: list[Term]) -> list[Term]:
    """Limits of the parameters that a goal depends on, and of the grid, with which it holds; none if there are none.

    `known` are limits that others need.
    """
    if known and context.solver.follows(goal, [*facts, *known], 1.0):
        return _needed(context, goal, facts, known)
    pending = variables(goal, *context.contract.grid, *facts)
    numbers = {*context.elements.parameters.values(), *context.elements.grid}
    limited = {part for limit in known for part in variables(limit)}
    parameters = [each for each in dict.fromkeys(pending) if each in numbers and each not in limited]
    for most in _LIMITS:
        limits = [terms.at_most(each, terms.number(most)) for each in parameters]
        limits = [limit for limit in limits if limit is not terms.TRUE]
        if limits and context.solver.follows(goal, [*facts, *known, *limits], 1.0):
            return _needed(context, goal, facts, [*limits, *known])
    return []


def _is_largest(limit: Term) -> bool:
    (number,) = variables(limit)
    return limit is terms.at_most(number, terms.number(_LIMITS[0]))


def _needed(context: Context, goal: Term, facts: list[Term], limits: list[Term]) -> list[Term]:
    """The limits without those that a goal does not need."""
    for limit in list(limits):
        fewer = [each for each in limits if each is not limit]
        if fewer and context.solver.follows(goal, [*facts, *fewer], 0.3):
            limits = fewer
    return limits

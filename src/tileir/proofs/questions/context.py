"""What the questions share: the contract, the solver, and how an answer of the solver becomes a claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.types import I1, FloatType, IntegerType
from tileir.proofs.contract.contract import Contract
from tileir.proofs.questions.settling import settling
from tileir.proofs.records import Candidate, Claim, Memory
from tileir.proofs.solving import PROVED, REFUTED, Model, Solver
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.elements import Elements, Unfollowed
from tileir.proofs.symbolic.memory import Access
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import Term
from tileir.proofs.symbolic.traversal import subterms

_SIZES = (70, 140, 300, 1200)
"""Limits of sizes, tried one after the other: a small launch is easier to read and to run."""
_BLOCKS = (4, 8, 64)
_MOST_ELEMENTS = 1 << 22


class Context:
    """A kernel under its contract, with a solver that assumes the contract."""

    def __init__(self, contract: Contract, seconds: float) -> None:
        self.contract: Contract = contract
        self.elements: Elements = contract.elements
        self.solver: Solver = Solver(contract.hypotheses, seconds, contract.promised)
        self._facts: dict[Access, list[Term]] = {}

    def facts(self, access: Access) -> list[Term]:
        """What holds where an access happens, in the simplest form."""
        if access not in self._facts:
            self._facts[access] = self.solver.simplified_facts(access.facts)
        return self._facts[access]

    def claim(
        self, question: str, operation: Operation, goal: Term, facts: Sequence[Term], other: Operation | None = None,
        seconds: float = 3.0, why: str = "",
    ) -> Claim:  # fmt: skip
        """The claim that a goal holds where facts do; `why` states what it means if it does not."""
        if goal is terms.TRUE:
            return Claim(question, operation, other, "proved")
        wrong = [*facts, terms.negation(goal)]
        result = self.solver.check(wrong, seconds)
        if result == PROVED:
            return Claim(question, operation, other, "proved")
        unfollowed = self.unfollowed(*wrong)
        reason = "; ".join(dict.fromkeys([f"{each.why} at {Elements.line(each.operation)}" for each in unfollowed]))
        claim = Claim(question, operation, other, settle=partial(settling, self.contract, wrong))
        claim.reason = reason or why or f"not settled: {term_text(goal)}"
        if result == REFUTED:
            claim.verdict, claim.candidates = "refutable", self.candidates(wrong)
            claim.reason = reason or why or f"not for all launches: {term_text(goal)}"
        return claim

    def allows(self, fact: Term) -> bool:
        """Whether a launch of the contract may have a property; that it has not must be proved."""
        return self.solver.check([fact], 2.0) != PROVED

    def unfollowed(self, *assertions: Term) -> list[Unfollowed]:
        """The values in terms that have no meaning there."""
        names = [part.data[0] for part in subterms(*assertions) if part.operation == "app"]
        found = [self.elements.followed[name] for name in names if name in self.elements.followed]
        return list(dict.fromkeys(found))

    # --- launches ---

    def candidates(self, wrong: Sequence[Term], solver: Solver | None = None) -> Callable[[], Iterator[Candidate]]:
        """Launches in which all of these hold, small ones first."""
        asked = solver or self.solver

        # An array with more elements than the kernel is meant for would have some that nothing writes.
        exact = [terms.equal(size, count) for size, count in self.contract.needed.items()]
        numbers = [term for term in self.elements.parameters.values() if term.operation == "variable"]
        numbers = [term for term in dict.fromkeys(numbers) if not str(term.data[0]).startswith("&")]

        def proposed(*more: Term) -> Candidate | None:
            model = asked.model([*wrong, *exact, *self.contract.apart, *more], 2.0)
            return self._candidate(model, wrong) if model is not None else None

        def propose() -> Iterator[Candidate]:
            seen = set()
            for limit in _SIZES:
                for blocks in _BLOCKS:
                    small = [
                        *self._small(limit),
                        *[terms.at_most(each, terms.number(blocks)) for each in self.elements.grid],
                    ]
                    first = proposed(*small)
                    if first is None:
                        continue
                    # The smallest numbers may hide what larger ones show.
                    larger = terms.disjunction(*[terms.less(terms.number(limit // 2), each) for each in numbers])
                    for candidate in (first, proposed(*small, larger)):
                        if candidate is not None and repr(candidate) not in seen:
                            seen.add(repr(candidate))
                            yield candidate
                    break
            # Large arrays take only address space; of many tile blocks each takes time.
            few = [terms.at_most(each, terms.number(_BLOCKS[-1])) for each in self.elements.grid]
            for candidate in (proposed(*few), proposed()):
                if candidate is not None and repr(candidate) not in seen:
                    seen.add(repr(candidate))
                    yield candidate

        return propose

    def _small(self, limit: int) -> Iterator[Term]:
        for term in dict.fromkeys(self.elements.parameters.values()):
            if term.operation == "variable" and not str(term.data[0]).startswith("&"):
                yield terms.between(terms.ZERO, term, terms.number(limit + 1))
        for size in dict.fromkeys(self.contract.counts.values()):
            yield terms.at_most(size, terms.number(limit * limit))

    def _candidate(self, model: Model, wrong: Sequence[Term]) -> Candidate | None:
        values: dict[int, int | float | Memory] = {}
        for number, (value, term) in enumerate(self.elements.parameters.items()):
            element = value.type.element if isinstance(value.type, TileType) else None
            if isinstance(element, PointerType):
                size = self.contract.counts.get(term)
                count = model.value(size) if size is not None else 1
                if count > _MOST_ELEMENTS:
                    count = max(1, model.value(size)) if size is not None else 1
                values[number] = Memory(max(1, count), self._contents(model, term, count, wrong))
            elif element is I1:
                values[number] = int(model.holds(term))
            elif isinstance(element, IntegerType):
                values[number] = model.value(term)
            elif isinstance(element, FloatType):
                values[number] = 1.0
            else:
                return None
        x, y, z = [model.value(each) for each in self.elements.grid]
        return Candidate((x, y, z), values)

    def _contents(self, model: Model, base: Term, count: int, wrong: Sequence[Term]) -> tuple[int | float, ...] | None:
        """What an array of integers holds, where a loaded value decides."""
        found: dict[int, int] = {}
        name = f"{str(base.data[0]).removeprefix('&')}[]"
        for part in subterms(*wrong):
            if part.operation == "app" and part.data[0] == name and part.sort == terms.INTEGER:
                position = model.value(part.arguments[0])
                if 0 <= position < count:
                    found[position] = model.value(part)
        if not found or count > _MOST_ELEMENTS:
            return None
        return tuple([found.get(position, 0) for position in range(count)])

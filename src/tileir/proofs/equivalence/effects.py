"""A kernel as the effects it has, in program order, each with the condition under which it happens.

Values are terms of a `Graph` that both programs of a comparison share.  Branches are flattened: an effect in an `if`
has the conditions around it as its `guard`, so programs whose `if`s are combined, inverted or written as `select` have
the same effects.  What an effect returns is a symbol named after its position in this order.  A loop with effects is an
effect itself, with the trace of one iteration inside; its carried values are symbols.  A loop or reduction without
effects is a term over its body, whose bound values are numbered from the inside, so equal ones are one term wherever
they are.

Three kinds of undefined behavior are kept apart, since a program may lose it but not gain it:

* an obligation must hold where it is executed: an `assume`, a divisor that is not zero, a promise branched on;
* a promise (`overflow`, the amount of a shift) spoils only the value, as in MLIR: `promises` of a value are what its
  definedness depends on, as terms too;
* a `loop` may not end, and then nothing behind it happens: it is an effect even if there is none inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tileir.dialect.ops import (
    ASSUME,
    BREAK,
    CMPI,
    CONSTANT,
    CONTINUE,
    DIVI,
    EXTRACT,
    FOR,
    IF,
    INSERT,
    JOIN_TOKENS,
    LOOP,
    MAKE_TOKEN,
    REDUCE,
    REMI,
    RETURN,
    SCAN,
    SELECT,
    YIELD,
)
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import ELEMENTWISE, NO_MEMORY_EFFECT, PURE
from tileir.ir.traversal import is_memory_effect_free
from tileir.ir.values import Value
from tileir.proofs.equivalence.promises import NO_PROMISES, THROUGH, in_order, one_of, own_promise, scalar_of
from tileir.proofs.equivalence.trace import (
    BRANCH,
    INSIDE,
    RESULT,
    Body,
    Bounds,
    Effect,
    Exit,
    Obligation,
    Path,
    Promises,
    Split,
    Trace,
    Unsupported,
)
from tileir.proofs.equivalence.value_graph import Graph, Term
from tileir.proofs.equivalence.value_rules import applied, payload_of
from tileir.rewrite.fact import shape_of
from tileir.rewrite.facts import Facts


class Summary:
    """The trace of one kernel.  `splits` selects the loops to run as two, by their term or their position."""

    def __init__(
        self,
        graph: Graph,
        entry: Operation,
        splits: dict[object, Split] | None = None,
        decide: Any = None,
    ) -> None:
        self.graph: Graph = graph
        self._splits: dict[object, Split] = splits or {}
        self._decide: Any = decide
        self._values: dict[Value, Term] = {}
        self._promises: dict[Value, Promises] = {}
        self._facts: Facts = Facts()
        self._heights: dict[Operation, int] = {}
        self._place: tuple[int, ...] = ()
        self._trace: Trace = Trace()
        self._counters: tuple[tuple[Term, Term, Term], ...] = ()
        self.loops: dict[Term, tuple[Body, list[Term]]] = {}
        """Loops without effects by their terms, with their initial values."""
        block = entry.regions[0].block
        for argument in block.arguments:
            self._define(argument, graph.symbol(("argument", argument.index), argument.type))
        self._run(block, Path(graph.true, NO_PROMISES, []))
        self.trace: Trace = self._trace

    # --- values ---

    def _define(self, value: Value, term: Term, promises: Promises = NO_PROMISES) -> None:
        self._values[value] = term
        if promises:
            self._promises[value] = promises
        else:
            self._promises.pop(value, None)

    def _terms(self, values: Iterable[Value]) -> list[Term]:
        return [self._values[value] for value in values]

    def _promised(self, values: Iterable[Value]) -> list[Promises]:
        return [self._promises.get(value, NO_PROMISES) for value in values]

    # --- blocks ---

    def _run(self, block: Block, path: Path) -> tuple[list[Term], list[Promises]] | None:
        """Evaluate a block; return what it yields, None if every path leaves it or it yields nothing."""
        operation = block.first
        while operation is not None:
            declaration = operation.declaration
            if path.guard is self.graph.false:
                return None
            if declaration is YIELD:
                return self._terms(operation.operands), self._promised(operation.operands)
            if declaration in (CONTINUE, BREAK, RETURN):
                values = operation.operands
                promises = [path.promises, *self._promised(values)]
                path.exits.append(Exit(declaration, path.guard, self._terms(values), promises))
                path.guard = self.graph.false
                return None
            if declaration is IF:
                self._branch(operation, path)
            elif declaration in (FOR, LOOP):
                self._loop(operation, path)
            elif declaration in (REDUCE, SCAN):
                self._reduction(operation, path)
            elif operation.regions:
                raise Unsupported(f"'{operation.name}' has a region")
            elif declaration.traits & (PURE | NO_MEMORY_EFFECT) or declaration is ASSUME or _joins(declaration):
                self._compute(operation, path)
            else:
                self._effect(operation, path)
            operation = operation.next
        return None

    def _branch(self, operation: Operation, path: Path) -> None:
        graph = self.graph
        condition, promises = (
            self._values[operation.operands[0]],
            self._promises.get(operation.operands[0], NO_PROMISES),
        )
        if promises:
            self._oblige(path, graph.make(BRANCH, None, (condition, *in_order(promises))), operation)
        before, depends = path.guard, path.promises
        here = depends | (promises if before is graph.true else one_of(graph, before, promises, NO_PROMISES))
        ends: list[Term] = []
        yielded: list[tuple[list[Term], list[Promises]] | None] = []
        guards = [graph.both(before, condition), graph.both(before, graph.negation(condition))]
        leaves = False
        for number, guard in enumerate(guards):
            inner = Path(guard, here, path.exits)
            found = None
            if number < len(operation.regions) and operation.regions[number].blocks:
                found = self._run(operation.regions[number].blocks[0], inner)
            leaves |= inner.guard is not guard
            ends.append(inner.guard)
            yielded.append(found)
        if leaves:
            path.guard, path.promises = graph.either(*ends), here
        for index, result in enumerate(operation.results):
            arms = [(found[0][index], found[1][index]) for found in yielded if found is not None]
            if len(arms) == 2:
                term = graph.choose(condition, arms[0][0], arms[1][0])
                self._define(result, term, promises | one_of(graph, condition, arms[0][1], arms[1][1]))
            elif arms:
                self._define(result, arms[0][0], arms[0][1])

    def _compute(self, operation: Operation, path: Path) -> None:
        """An operation without an effect."""
        graph, declaration = self.graph, operation.declaration
        if declaration is CONSTANT:
            self._define(operation.results[0], graph.constant(operation.value_attribute, operation.results[0].type))
            return
        operands = self._terms(operation.operands)
        if declaration in (MAKE_TOKEN, JOIN_TOKENS):
            parts = {part for each in operands for part in (each.operands if each.kind is JOIN_TOKENS else (each,))}
            ordered = in_order(parts)
            self._define(
                operation.results[0], ordered[0] if len(ordered) == 1 else graph.make(JOIN_TOKENS, TOKEN, ordered)
            )
            return
        payload = payload_of(operation)
        self._check(operation, path, operands, payload)
        promises = self._spoiled_by(operation, operands, payload)
        if len(operation.results) == 1:
            term = applied(graph, declaration, operands, operation.results[0].type, payload)
            self._define(operation.results[0], self._decided(operation, term), promises)
            return
        for result in operation.results:
            self._define(result, graph.make(declaration, result.type, operands, (*payload, result.index)), promises)

    def _decided(self, operation: Operation, term: Term) -> Term:
        """A comparison with the counter of a loop, where the bounds of the loop decide it."""
        if self._decide is None or operation.declaration is not CMPI or term.bits is not None:
            return term
        decided = self._decide(term, self._counters)
        return term if decided is None else self.graph.number_of(operation.results[0].type, int(decided))

    def _check(self, operation: Operation, path: Path, operands: list[Term], payload: tuple[Any, ...]) -> None:
        """Note what must hold where an operation is executed."""
        declaration = operation.declaration
        promises: Promises = frozenset().union(*self._promised(operation.operands))
        is_safe = bool(declaration.traits & PURE)
        if declaration in (DIVI, REMI):
            divisor = operands[1].bits
            is_safe = divisor is not None and divisor not in (0, (1 << max(operands[1].width, 1)) - 1)
            is_safe = (is_safe or (declaration is REMI and self._is_divisor(operation.operands[1]))) and not promises
        if declaration in (EXTRACT, INSERT):
            is_safe = self._is_part(operation, operands)
        if not is_safe:
            self._oblige(path, self.graph.make(declaration, None, operands, payload), operation, promises)

    def _is_part(self, operation: Operation, operands: list[Term]) -> bool:
        """Whether the part of a tile that is extracted or replaced is known to be one of it."""
        inserts = operation.declaration is INSERT
        part = shape_of(operation.operands[0].type if inserts else operation.results[0].type)
        whole = operands[1 if inserts else 0].shape
        indices = [each.bits for each in operands[1 + inserts :]]
        counts = [full // extent for full, extent in zip(whole, part, strict=True)]
        return all(index is not None and index < count for index, count in zip(indices, counts, strict=True))

    def _is_divisor(self, value: Value) -> bool:
        """Whether a number is known not to be zero."""
        return bool(self._values[value].bits) or self._facts.range(value, signed=False)[0] > 0

    def _oblige(self, path: Path, what: Term, operation: Operation, promises: Promises = NO_PROMISES) -> None:
        trace = self._trace
        trace.obligations.append(Obligation(path.guard, what, dict(trace.levels), operation, promises))

    def _spoiled_by(self, operation: Operation, operands: list[Term], payload: tuple[Any, ...]) -> Promises:
        """The promises that the result of an operation depends on."""
        graph, declaration = self.graph, operation.declaration
        own = own_promise(graph, operation, operands, payload, self._is_divisor)
        inner = self._promised(operation.operands)
        if not any(inner):
            return own
        if declaration is SELECT:
            arms = one_of(graph, scalar_of(operands[0]), inner[1], inner[2])
            return own | inner[0] | arms
        shapes = {each.type.shape for each in operation.operands if isinstance(each.type, TileType)}
        shapes.update([each.type.shape for each in operation.results if isinstance(each.type, TileType)])
        every: Promises = frozenset().union(*inner)
        if declaration.traits & ELEMENTWISE or len(shapes) <= 1 or all(each.shape == () for each in operands):
            return own | every
        moved = graph.make(THROUGH, operation.results[0].type, (*operands, *in_order(every)), (declaration, payload))
        return own | {moved}

    # --- effects ---

    def _effect(self, operation: Operation, path: Path) -> None:
        values = [value for value in operation.operands if value.type is not TOKEN]
        tokens = self._terms([value for value in operation.operands if value.type is TOKEN])
        place = self._next_place(path.guard)
        promises = [path.promises, *self._promised(values)]
        self._trace.effects.append(Effect(operation, place, path.guard, self._terms(values), tokens, promises))
        for result in operation.results:
            self._define(result, self.graph.symbol((place, result.index), result.type))

    def _next_place(self, guard: Term) -> tuple[int, ...]:
        """The position of the next effect: behind all that happen on a path with it.

        Effects of one position exclude each other, so the order of the branches of an `if` does not matter.
        """
        levels, none = self._trace.levels, self.graph.false
        earlier = [level for other, level in levels.items() if self.graph.both(other, guard) is not none]
        levels[guard] = max(earlier, default=-1) + 1
        return (*self._place, levels[guard])

    # --- loops ---

    def _loop(self, operation: Operation, path: Path) -> None:
        """Evaluate a loop, or the two halves it is split into."""
        head = 3 if operation.declaration is FOR else 0
        inits, promises = self._terms(operation.operands[head:]), self._promised(operation.operands[head:])
        bounds = self._bounds(operation, path) if head else None
        depends: Promises = frozenset().union(*self._promised(operation.operands[:head]))
        if depends:
            self._oblige(path, self.graph.make(BRANCH, None, (*(bounds or ()), *in_order(depends))), operation)
        if is_memory_effect_free(operation) and not any(each.declaration is LOOP for each in operation.walk()):
            body = self._body(operation, ("pure", self._height(operation)), bounds)
            split = self._splits.get(self._loop_term(operation, body, inits))
            for half in split or (None,):
                if half is not None and bounds is not None:
                    body = self._body(operation, ("pure", self._height(operation)), (*half, bounds[2]))
                inits, promises = self._pure_loop(operation, body, path, inits, promises, depends)
        else:
            for half in self._splits.get(self._loop_key(path.guard)) or (None,):
                if half is not None and bounds is not None:
                    bounds = (*half, bounds[2])
                inits, promises = self._effectful_loop(operation, bounds, path, inits, promises, depends)
        for result, term, each in zip(operation.results, inits, promises, strict=True):
            self._define(result, term, each)

    def _loop_key(self, guard: Term) -> object:
        """What names the next loop in `splits`."""
        levels = dict(self._trace.levels)
        place = self._next_place(guard)
        self._trace.levels = levels
        return place, guard

    def _bounds(self, operation: Operation, path: Path) -> Bounds:
        lower, upper, step = self._terms(operation.operands[:3])
        if step.bits is None or not 0 < step.bits < 1 << (step.width - 1):
            self._oblige(path, self.graph.make(FOR, None, (step,), bool(operation.unsigned_cmp)), operation)
        if operation.unsigned_cmp:
            return lower, upper, step
        # Signed order is the unsigned order of the numbers with the highest bit flipped.
        half = self._half(lower)
        return self.graph.plus(lower, half), self.graph.plus(upper, half), step

    def _half(self, number: Term) -> Term:
        assert number.type is not None
        return self.graph.number_of(number.type, 1 << (number.width - 1))

    def _body(self, operation: Operation, name: tuple[object, ...], bounds: Bounds | None) -> Body:
        """Evaluate one iteration."""
        graph = self.graph
        block = operation.regions[0].block
        trace, place, counters = self._trace, self._place, self._counters
        self._trace = Trace()
        self._place = tuple([each for each in name if isinstance(each, int)]) if name[0] != "pure" else ()
        counter = None
        arguments = list(block.arguments)
        if bounds is not None:
            counter = graph.symbol(("counter", name), arguments[0].type)
            self._counters += ((counter, *bounds[:2]),)
            value = counter if operation.unsigned_cmp else graph.plus(counter, self._half(counter))
            self._define(arguments.pop(0), value)
        carried = [graph.symbol(("carried", name, index), each.type) for index, each in enumerate(arguments)]
        for argument, symbol in zip(arguments, carried, strict=True):
            self._define(argument, symbol, frozenset([symbol]) if isinstance(argument.type, TileType) else NO_PROMISES)
        path = Path(graph.true, NO_PROMISES, [])
        self._run(block, path)
        body = Body(bounds, counter, carried, *self._exits(path, CONTINUE), *self._exits(path, BREAK), self._trace)
        body.returns = graph.either(graph.false, *[each.guard for each in path.exits if each.declaration is RETURN])
        self._trace, self._place, self._counters = trace, place, counters
        return body

    def _exits(self, path: Path, declaration: OperationDeclaration) -> tuple[Term, list[Term], list[Promises]]:
        """When a body ends so, and with what."""
        exits = [each for each in path.exits if each.declaration is declaration]
        condition = self.graph.either(self.graph.false, *[each.guard for each in exits])
        if not exits:
            return condition, [], []
        last = exits[-1]
        values, promises = list(last.values), [each | last.promises[0] for each in last.promises[1:]]
        for each in exits[-2::-1]:
            pairs = zip(each.values, values, strict=True)
            values = [self.graph.choose(each.guard, one, other) for one, other in pairs]
            own = [promise | each.promises[0] for promise in each.promises[1:]]
            promises = [one_of(self.graph, each.guard, a, b) for a, b in zip(own, promises, strict=True)]
        return condition, values, promises

    def _effectful_loop(
        self,
        operation: Operation,
        bounds: Bounds | None,
        path: Path,
        inits: list[Term],
        promises: list[Promises],
        depends: Promises,
    ) -> tuple[list[Term], list[Promises]]:
        graph = self.graph
        place = self._next_place(path.guard)
        body = self._body(operation, place, bounds)
        self._trace.effects.append(
            Effect(operation, place, path.guard, inits, [], [path.promises | depends, *promises], body)
        )
        if body.returns is not graph.false:
            returned = graph.symbol((place, "returned"), body.returns.type)
            path.guard = graph.both(path.guard, graph.negation(returned))
        types = [result.type for result in operation.results]
        results = [graph.symbol((place, index), type) for index, type in enumerate(types)]
        return results, [frozenset([each]) if isinstance(each.type, TileType) else NO_PROMISES for each in results]

    def _loop_term(self, operation: Operation, body: Body, inits: list[Term]) -> Term:
        parts = [*(body.bounds or ()), *inits, *body.next, *body.broken, body.continues, body.breaks, body.returns]
        counts = (len(inits), len(body.next), len(body.broken), operation.declaration is FOR)
        return self.graph.make(LOOP, None, parts, counts)

    def _pure_loop(
        self,
        operation: Operation,
        body: Body,
        path: Path,
        inits: list[Term],
        promises: list[Promises],
        depends: Promises,
    ) -> tuple[list[Term], list[Promises]]:
        graph = self.graph
        loop = self._loop_term(operation, body, inits)
        self.loops[loop] = (body, inits)
        self._inside(body.trace, loop, path, operation)
        every = depends.union(*promises, *body.next_promises, *body.broken_promises) - set(body.carried)
        results = [graph.make(RESULT, result.type, (loop,), index) for index, result in enumerate(operation.results)]
        found = frozenset([graph.make(THROUGH, None, (loop, *in_order(every)))]) if every else NO_PROMISES
        return results, [found] * len(results)

    def _inside(self, trace: Trace, owner: Term, path: Path, operation: Operation) -> None:
        """Note what must hold in each iteration of something that has no effects."""
        if trace.effects:
            raise Unsupported(f"'{operation.name}' has an effect inside")
        if trace.obligations:
            make = self.graph.make
            all_parts = [(each.guard, each.what, *in_order(each.promises)) for each in trace.obligations]
            parts = {make("obligation", None, each) for each in all_parts}
            self._oblige(path, make(INSIDE, None, (owner, *in_order(parts))), operation)

    def _reduction(self, operation: Operation, path: Path) -> None:
        """`reduce` and `scan` are terms over what they combine two elements to."""
        graph = self.graph
        height = self._height(operation)
        block = operation.regions[0].block
        for argument in block.arguments:
            symbol = graph.symbol(("element", height, argument.index), argument.type)
            self._define(argument, symbol, frozenset([symbol]))
        outer, self._trace = self._trace, Trace()
        found = self._run(block, Path(graph.true, NO_PROMISES, []))
        inner, self._trace = self._trace, outer
        if found is None:
            raise Unsupported(f"'{operation.name}' does not yield")
        operands = self._terms(operation.operands)
        whole = graph.make(operation.declaration, None, (*operands, *found[0]), (payload_of(operation), len(operands)))
        self._inside(inner, whole, path, operation)
        symbols = {graph.symbol(("element", height, each.index), each.type) for each in block.arguments}
        every = frozenset().union(*found[1], *self._promised(operation.operands)) - symbols
        promises = frozenset([graph.make(THROUGH, None, (whole, *in_order(every)))]) if every else NO_PROMISES
        for result in operation.results:
            self._define(result, graph.make(RESULT, result.type, (whole,), result.index), promises)

    def _height(self, operation: Operation) -> int:
        """How deep loops and reductions nest in one, itself included."""
        found = self._heights.get(operation)
        if found is None:
            found = 0
            for inner in operation.walk():
                if inner is not operation and inner.declaration in (FOR, LOOP, REDUCE, SCAN):
                    found = max(found, self._height(inner))
            found = self._heights[operation] = found + 1
        return found


def _joins(declaration: OperationDeclaration) -> bool:
    return declaration is MAKE_TOKEN or declaration is JOIN_TOKENS

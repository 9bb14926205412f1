"""One element of a value, as a term: no tile is ever expanded.

    elements = Elements(entry)
    elements.element(value, indices)      # the term of value[indices]; indices are terms, () for a scalar
    elements.view(value)                  # the tensor and the tiles of a view

Of integers a term is the number read as signed, of i1 a Boolean, of pointers an address in bytes; floats are
uninterpreted functions of their operands (sort: the spelling of the type).  The term is exact: where a machine integer
may wrap there is a `wrap`, and `wrapped` has the operation whose result it is.  What has no such term (a loaded
value, a value carried by a loop in no closed form) is an uninterpreted function of all that it may depend on: of the
tile block, the iterations of the loops around it and the indices.  `followed` lists what those stand for.

Variables that differ between tile blocks, iterations and elements are local (`terms.variable`).  A counter of a loop is
such a variable; `counter_facts` bound it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from tileir.dialect import ops
from tileir.dialect.types import (
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
)
from tileir.execute.locations.program_text import printed_names, written_names
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of
from tileir.ir.types import I1, IntegerType, Type
from tileir.ir.values import BlockArgument, OperationResult, Value
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.element_rules import element_of_result
from tileir.proofs.symbolic.integer_rules import range_of
from tileir.proofs.symbolic.terms import BOOLEAN, INTEGER, ONE, ZERO, Term
from tileir.proofs.symbolic.traversal import substitute, subterms
from tileir.proofs.symbolic.views import Tensor, View, base_of, bytes_of, is_base, tensor_of, view_of
from tileir.rewrite.fact import shape_of
from tileir.rewrite.facts import Facts
from tileir.rewrite.matching import carried_values, ends_of, if_yields, leaves

GRID_LIMITS: Final = ((1 << 31) - 1, 65535, 65535)
_AXES: Final = "xyz"
_MOST_DEPTH: Final = 200
_OURS: Final = re.compile(
    r"[tie]\d+(\.\d+)*$|(block|grid)\.[xyz]$|.+\.size$|carried |last iteration |constant |quotient |rest "
)
"""Names of variables that stand for no parameter."""

Indices = tuple[Term, ...]


class Unfollowed(NamedTuple):
    """A value that a term stands for without its meaning: which, at what operation, and why."""

    operation: Operation | None
    why: str


class Elements:
    """The elements of the values of one kernel."""

    def __init__(self, entry: Operation, known: Mapping[Value, Term] | None = None) -> None:
        """`known` has terms for parameters of which more is known than their types."""
        self.entry: Operation = entry
        self.facts: Facts = Facts()
        self.numbers: dict[Operation, int] = {operation: n for n, operation in enumerate(entry.walk())}
        module = entry.parent_operation or entry
        self.names: dict[Value, str] = {**printed_names(module), **written_names(module)}
        self.grid: Indices = tuple(
            [terms.variable(f"grid.{axis}", 1, limit) for axis, limit in zip(_AXES, GRID_LIMITS, strict=True)]
        )
        self.block: Indices = tuple(
            [terms.variable(f"block.{each.data[0][-1]}", 0, each.data[2] - 1, True) for each in self.grid]
        )
        self.wrapped: dict[Term, Operation] = {}
        """The operation whose result a `wrap` is."""
        self.followed: dict[str, Unfollowed] = {}
        """What an uninterpreted function stands for, by its name."""
        self.assumed: dict[Term, list[Term]] = {}
        """What `assume` operations promise about a term."""
        self._known: list[dict[tuple[Value, Indices], Term]] = [{}]
        self._carried: list[BlockArgument] = []
        self._views: dict[Value, View | None] = {}
        self._depth: int = 0
        self.parameters: dict[Value, Term] = {
            parameter: self._parameter(parameter) for parameter in entry.regions[0].blocks[0].arguments
        }
        self.parameters.update(known or {})
        self._written: set[Term] | None = None

    # --- names and lines ---

    def name(self, value: Value) -> str:
        return self.names.get(value, "%?").removeprefix("%")

    @staticmethod
    def line(operation: Operation | None) -> str:
        """ ":33", or "" if the operation has no position."""
        position = position_of(user_location(operation.location)) if operation is not None else None
        return f":{position.line}" if position is not None else ""

    def _parameter(self, parameter: Value) -> Term:
        type = parameter.type
        element = type.element if isinstance(type, TileType) else type
        name = self.name(parameter)
        if isinstance(element, PointerType):
            return terms.variable(f"&{name}", 0)
        if _OURS.match(name):
            name = f"%{name}"  # As a name of ours no value has.
        if element is I1:
            return terms.app(name, (), BOOLEAN)
        if isinstance(element, IntegerType):
            return terms.variable(name, *range_of(element))
        return terms.app(name, (), element.spelling)

    # --- elements ---

    def element(self, value: Value, indices: Indices = ()) -> Term:
        """The term of one element; `indices` must lie within the tile."""
        key = (value, indices)
        for known in self._known:
            if key in known:
                return known[key]
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            found = self.opaque(value, indices, "is computed in too many steps")
        else:
            found = self._element(value, indices)
        self._depth -= 1
        self._known[-1][key] = found
        return found

    def scalar(self, value: Value) -> Term:
        return self.element(value, ())

    def _element(self, value: Value, indices: Indices) -> Term:
        if isinstance(value, BlockArgument):
            owner = value.block.parent_operation
            if owner is self.entry:
                return self.parameters[value]
            if owner is not None and owner.declaration is ops.FOR and value.index == 0:
                return self.counter_value(owner)
            if owner is not None and owner.declaration.is_loop:
                return self._carried_value(value, owner, indices)
            return self.opaque(value, indices, "is an argument of a region")
        assert isinstance(value, OperationResult)
        operation = value.operation
        declaration = operation.declaration
        if declaration is ops.FOR:
            return self._for_result(operation, value.index, indices)
        if declaration is ops.LOOP:
            return self._loop_result(operation, value, indices)
        if declaration is ops.IF:
            return self._if_result(operation, value, indices)
        found = element_of_result(self, operation, value, indices)
        if found is None:
            return self.opaque(value, indices, f"is the result of '{declaration.mnemonic}'")
        if found.operation == "wrap":
            self.wrapped.setdefault(found, operation)
        return found

    def opaque(self, value: Value, indices: Indices, why: str) -> Term:
        """An uninterpreted function of the tile block, the iterations and the indices."""
        maker = value.defining_operation
        within = maker
        if within is None:
            block = value.parent_block
            within = block.parent_operation if block is not None else None
        scope = self.scope(within, isinstance(value, BlockArgument))
        found = self.unknown(self._function(value, within), (*scope, *indices), value.type, value)
        self.followed.setdefault(found.data[0], Unfollowed(maker or within, f"'{self.name(value)}' {why}"))
        return found

    def _function(self, value: Value, within: Operation | None) -> str:
        """A name that no other value has: regions beside each other may use one name."""
        number = self.numbers[within] if within is not None else 0
        return f"{self.name(value)}#{number}.{value.index}"

    def unknown(self, name: str, arguments: Indices, type: Type, value: Value | None = None) -> Term:
        """An uninterpreted function whose result is an element of a type."""
        element = type.element if isinstance(type, (TileType, TensorViewType)) else type
        if element is I1:
            return terms.app(name, arguments, BOOLEAN)
        if isinstance(element, IntegerType):
            return terms.app(
                name, arguments, INTEGER, *(range_of(element) if value is None else self.facts.range(value))
            )
        if isinstance(element, PointerType):
            return terms.app(name, arguments, INTEGER, 0, None)
        return terms.app(name, arguments, element.spelling)

    def scope(self, operation: Operation | None, inside: bool = False) -> Indices:
        """What a value at an operation may depend on: the tile block, and the counters of the loops around it (and of
        the operation itself, of what is `inside` it)."""
        counters: list[Term] = []
        current = operation if inside or operation is None else operation.parent_operation
        while current is not None and current is not self.entry:
            if current.declaration.is_loop:
                counters.append(self.iteration(current))
            current = current.parent_operation
        return (*self.block, *reversed(counters))

    # --- loops ---

    def _variable_of(self, loop: Operation, letter: str) -> Term:
        """The variable of a loop: "t" counts its iterations, "i" is the counter of one with an unknown step."""
        low, high = (0 if letter == "t" else None), None
        if loop.declaration is ops.FOR:
            element = cast(IntegerType, cast(TileType, loop.operands[0].type).element)
            least, greatest = (0, (1 << element.width) - 1) if loop.unsigned_cmp else range_of(element)
            lower, upper, step = self.bounds(loop)
            start, end = terms.interval(lower)[0], terms.interval(upper)[1]
            start = least if start is None else max(least, start)
            end = greatest if end is None else min(greatest, end - 1)
            distance = terms.constant(step)
            if letter == "i":
                low, high = start, end
            elif distance:
                high = max(0, (end - start) // abs(distance))
        return terms.variable(f"{letter}{self.numbers[loop]}", low, high, True)

    def bounds(self, loop: Operation) -> tuple[Term, Term, Term]:
        """Lower bound, upper bound and step of a `for`, read as its comparison does."""
        width = cast(IntegerType, cast(TileType, loop.operands[0].type).element).width
        found = [self.scalar(operand) for operand in loop.operands[:3]]
        if loop.unsigned_cmp:
            found = [terms.wrap(each, width, False) for each in found]
        return found[0], found[1], found[2]

    def iteration(self, loop: Operation) -> Term:
        """How many iterations came before: 0 in the first one."""
        if loop.declaration is ops.FOR:
            lower, _, step = self.bounds(loop)
            if terms.constant(step) is None:
                return terms.floor_div(terms.sub(self._variable_of(loop, "i"), lower), step)
        return self._variable_of(loop, "t")

    def counter_value(self, loop: Operation) -> Term:
        """The induction variable of a `for`."""
        width = cast(IntegerType, cast(TileType, loop.operands[0].type).element).width
        value = self.unwrapped_counter(loop)
        return terms.wrap(value, width) if loop.unsigned_cmp else value

    def unwrapped_counter(self, loop: Operation) -> Term:
        """The counter as a number without a width: as its comparison reads it."""
        lower, _, step = self.bounds(loop)
        if terms.constant(step) is None:
            return self._variable_of(loop, "i")
        return terms.add(lower, terms.mul(step, self._variable_of(loop, "t")))

    def counter_facts(self, loop: Operation) -> Iterator[Term]:
        """What holds in the body of a loop because it runs."""
        if loop.declaration is not ops.FOR:
            return
        lower, upper, step = self.bounds(loop)
        value = self.unwrapped_counter(loop)
        yield terms.between(lower, value, upper)
        yield terms.at_least(step, ONE)
        if terms.constant(step) is None:
            yield terms.equal(terms.modulo(terms.sub(value, lower), step), ZERO)
            # A start below the step is what remains of every later value.
            yield terms.implies(terms.between(ZERO, lower, step), terms.equal(terms.modulo(value, step), lower))

    def trip_count(self, loop: Operation) -> Term:
        """How many iterations a `for` has."""
        lower, upper, step = self.bounds(loop)
        return terms.maximum(ZERO, terms.ceil_div(terms.sub(upper, lower), step))

    def _increment(self, argument: BlockArgument, loop: Operation, indices: Indices) -> tuple[Term, int] | None:
        """What every iteration adds to an element of a carried value, and the bits it wraps in (0: it does not); None
        if there is no such number."""
        if argument in self._carried or len(self._carried) > 3:
            return None
        position = argument.index - (loop.declaration is ops.FOR)
        placeholder = terms.app(f"carried {self.numbers[loop]}.{position}", indices)
        changes: set[tuple[Term, int]] = set()
        self._carried.append(argument)
        self._known.append({(argument, indices): placeholder})
        for end in ends_of(loop, ops.CONTINUE):
            following = self.element(end.operands[position], indices)
            bits = 0
            if following.operation == "wrap" and following.data[1]:
                bits, following = following.data[0], following.arguments[0]
            changes.add((terms.sub(following, placeholder), bits) if following.sort == INTEGER else (following, -1))
        self._known.pop()
        self._carried.pop()
        if len(changes) != 1:
            return None
        ((change, bits),) = changes
        if bits < 0:
            return None
        varying = {self._variable_of(loop, "t"), self._variable_of(loop, "i")}
        for part in subterms(change):
            if part in varying or (part.operation == "app" and str(part.data[0]).startswith("carried ")):
                return None
        return change, bits

    def _carried_value(self, argument: BlockArgument, loop: Operation, indices: Indices) -> Term:
        if argument in self._carried:
            # Another element of the value whose change is computed.
            position = argument.index - (loop.declaration is ops.FOR)
            return terms.app(f"carried {self.numbers[loop]}.{position}", indices)
        found = self._after(argument, loop, indices, self.iteration(loop))
        return found if found is not None else self._opaque_carried(argument, loop, indices)

    def _opaque_carried(self, argument: BlockArgument, loop: Operation, indices: Indices) -> Term:
        scope = self.scope(loop, True)
        name = self.name(argument)
        found = self.unknown(self._function(argument, loop), (*scope, *indices), argument.type, argument)
        self.followed.setdefault(
            found.data[0], Unfollowed(loop, f"'{name}' is carried by a loop and has no closed form")
        )
        return found

    def _after(self, argument: BlockArgument, loop: Operation, indices: Indices, count: Term) -> Term | None:
        """A carried value after so many iterations, in closed form."""
        if not isinstance(argument.type, TileType):
            return None
        element = argument.type.element
        if not isinstance(element, (IntegerType, PointerType)) or element is I1:
            position = argument.index - (loop.declaration is ops.FOR)
            same = all(end.operands[position] is argument for end in ends_of(loop, ops.CONTINUE))
            return self.element(_initial(loop, position), indices) if same else None
        change = self._increment(argument, loop, indices)
        if change is None:
            return None
        position = argument.index - (loop.declaration is ops.FOR)
        initial = self.element(_initial(loop, position), indices)
        total = terms.add(initial, terms.mul(change[0], count))
        if isinstance(element, IntegerType):
            if change[1] not in (element.width, 0) or (change[0] is not ZERO and not change[1]):
                # It wraps in other bits than those of its type.
                return None
            total = terms.wrap(total, element.width)
            if total.operation == "wrap":
                self.wrapped.setdefault(total, loop)
        return total

    def _for_result(self, loop: Operation, position: int, indices: Indices) -> Term:
        argument = carried_values(loop)[position]
        found = self._after(argument, loop, indices, self.trip_count(loop))
        result = loop.results[position]
        return found if found is not None else self.opaque(result, indices, "is the result of a loop")

    def _loop_result(self, loop: Operation, result: OperationResult, indices: Indices) -> Term:
        breaks = ends_of(loop, ops.BREAK)
        if len(breaks) != 1 or self._carried:
            return self.opaque(result, indices, "is the result of a loop")
        last = terms.app(f"last iteration {self.numbers[loop]}", self.scope(loop), INTEGER, 0, None)
        inside = self.element(breaks[0].operands[result.index], indices)
        return substitute(inside, {self.iteration(loop): last})

    def _if_result(self, operation: Operation, result: OperationResult, indices: Indices) -> Term:
        ends = if_yields(operation)
        values = [self.element(end.operands[result.index], indices) for end in ends]
        if len(values) == 2:
            return terms.choose(self.scalar(operation.operands[0]), values[0], values[1])
        if len(values) == 1 and any(leaves(block) for region in operation.regions for block in region.blocks):
            return values[0]
        return self.opaque(result, indices, "is the result of an 'if'")

    # --- views ---

    def view(self, value: Value) -> View | None:
        """The view that a value is; None if it is not made directly from a tensor."""
        if len(self._known) > 1:
            # A carried value has another name while its change is computed.
            return view_of(self, value)
        if value not in self._views:
            self._views[value] = view_of(self, value)
        return self._views[value]

    def tensor(self, value: Value) -> Tensor | None:
        return tensor_of(self, value)

    def unsigned(self, value: Value) -> Term:
        """A scalar integer, read as unsigned."""
        width = cast(IntegerType, cast(TileType, value.type).element).width
        return terms.wrap(self.scalar(value), width, False)

    # --- memory ---

    def written(self) -> set[Term]:
        """The addresses of the arrays that the kernel may write; all of them if it is not known of one."""
        if self._written is None:
            self._written = set()
            everything = {term for term in self.parameters.values() if is_base(term)}
            for operation in self.entry.walk():
                if operation.declaration.writes is None:
                    continue
                target = operation.operand(operation.declaration.writes)
                if target is None:
                    continue
                if isinstance(target.type, TileViewType):
                    view = self.view(target)
                    address = view.tensor.address if view is not None else None
                else:
                    shape = shape_of(target.type)
                    address = self.element(target, tuple([ZERO for _ in shape]))
                base = base_of(address)[0] if address is not None else None
                self._written |= {base} if base is not None else everything
        return self._written

    def load(self, operation: Operation, value: Value, address: Term, indices: Indices) -> Term:
        """What is read at an address; of an array that the kernel does not write one function of the address."""
        base, offset = base_of(address)
        type = cast(TileType, value.type)
        name = self.name(value)
        if base is None or base in self.written():
            found = self.opaque(value, indices, "is loaded from memory that the kernel writes")
        else:
            size = bytes_of(type.element) or 1
            position = offset
            name = f"{str(base.data[0]).removeprefix('&')}[]"
            if all(factor % size == 0 for _, factor in terms.polynomial(offset)):
                position = terms.floor_div(offset, terms.number(size))
            else:
                name = f"{name} by bytes"
            if size != self._pointee_bytes(base) or not isinstance(type.element, IntegerType):
                name = f"{name} as {type.element.spelling}"
            found = self.unknown(name, (position,), type)
            self.followed.setdefault(
                found.data[0], Unfollowed(operation, f"'{self.name(value)}' is loaded from {name.partition('[]')[0]}")
            )
        return found

    def is_input(self, term: Term) -> bool:
        """Whether a term is what was loaded from an array that the kernel only reads, where it was not padded."""
        while term.operation in ("choose", "wrap"):
            term = term.arguments[1 if term.operation == "choose" else 0]
        return term.operation == "app" and "[]" in str(term.data[0]) and term.data[0] in self.followed

    def _pointee_bytes(self, base: Term) -> int:
        """The bytes of an element of a parameter's array; 0 if it is none."""
        for value, term in self.parameters.items():
            if term is base and isinstance(value.type, TileType) and isinstance(value.type.element, PointerType):
                return bytes_of(value.type.element.pointee)
        return 0

    def promise(self, term: Term, fact: Term) -> None:
        facts = self.assumed.setdefault(term, [])
        if fact not in facts:
            facts.append(fact)


def _initial(loop: Operation, position: int) -> Value:
    return loop.operands[position + (3 if loop.declaration is ops.FOR else 0)]

"""What launches a proof is about.

    contract = contract_of(module, entry, ["n > 0"], ["cdiv(n, 128)"])
    contract.assumptions        # each with its source; printed with every proof
    contract.hypotheses         # the same as terms
    contract.elements           # the values of the kernel, under the contract

What is stated comes first, then what the program assumes, then what is inferred from how the kernel uses its values:

    extents     are at least 1 and equal where one tile index is used for both, never two extents of one array;
                at most a tile where only tile 0 is stored to
    grid        along each axis as many blocks as there are tiles where its id is the index; 1 where the id is not used
    arrays      have the elements of the tensors at their pointers, or up to the bound that masks compare with;
                different ones share no memory
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.types import I1, IntegerType
from tileir.ir.values import Value
from tileir.proofs.contract import stated
from tileir.proofs.contract.inference import Uses, unwrapped
from tileir.proofs.records import Assumption, Source
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.element_rules import is_on_every_path, promised
from tileir.proofs.symbolic.elements import GRID_LIMITS, Elements
from tileir.proofs.symbolic.integer_rules import range_of
from tileir.proofs.symbolic.memory import Access, accesses, is_local, primed
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import ONE, ZERO, Term
from tileir.proofs.symbolic.traversal import substitute, subterms, variables
from tileir.proofs.symbolic.views import Tensor, bytes_of, is_base
from tileir.rewrite.fact import shape_of

_AXES: Final = "xyz"


@dataclass
class Contract:
    """The launches that a proof is about."""

    elements: Elements
    accesses: list[Access]
    missing: list[tuple[Operation, str]]
    """Operations whose access has no terms, and why."""
    uses: Uses
    assumptions: list[Assumption] = field(default_factory=list)
    hypotheses: list[Term] = field(default_factory=list)
    counts: dict[Term, Term] = field(default_factory=dict)
    """By base address: how many elements the array has at least."""
    needed: dict[Term, Term] = field(default_factory=dict)
    """By the size of an array that is inferred: the fewest elements that it has."""
    guessed: set[Term] = field(default_factory=set)
    """Arrays whose size follows from no mask: what is not written of them may not be theirs."""
    apart: list[Term] = field(default_factory=list)
    """That tensors do not overlap themselves, where strides that are parameters decide it."""
    contents: list[Term] = field(default_factory=list)
    """What is stated about every element of an array, with `stated.EVERY` as its position."""
    grid: tuple[Term, ...] = ()
    """The number of tile blocks along each axis: a rule, or the variable of the axis where there is none."""
    is_grid_inferred: bool = False

    def assume(self, fact: Term, text: str, source: Source) -> None:
        if fact is not terms.TRUE:
            self.hypotheses.append(fact)
        self.note(text, source)

    def promised(self, term: Term) -> Iterator[Term]:
        """What holds wherever a term occurs: by an `assume`, or stated about every element of an array."""
        yield from self.elements.assumed.get(term, ())
        if term.operation == "app" and self.contents and len(term.arguments) == 1:
            for fact in self.contents:
                elements = [part for part in subterms(fact) if part.operation == "app" and part.data == term.data]
                if any(part.arguments == (stated.EVERY,) for part in elements):
                    yield substitute(fact, {stated.EVERY: term.arguments[0]})

    def is_free(self, stride: Term) -> bool:
        """Whether a stride is a parameter of its own: nothing relates it to others.

        How far apart rows are is then up to who has made the array.
        """
        parts = terms.polynomial(unwrapped(stride))
        own = {atom for atoms, _ in parts for atom in atoms}
        if len(parts) != 1 or not own or not own <= set(self.elements.parameters.values()):
            return False
        shapes = [extent for tensor in tensors(self.elements) for extent in tensor.shape]
        paths = [fact for access in self.accesses for fact in (*access.facts, access.mask) if access.view is None]
        facts = [fact for fact in self.hypotheses if not any(_is_size(part) for part in variables(fact))]
        if own & set(variables(*shapes)):
            return False
        return all(own.isdisjoint(named) or own >= named for named in [set(variables(f)) for f in (*paths, *facts)])

    def has_size(self, size: Term) -> bool:
        """Whether the contract bounds the number of elements of an array."""
        return size in self.needed or any(size in variables(fact) for fact in self.hypotheses)

    def index_bounds(self, access: Access) -> dict[Term, Term]:
        """What the indices in the offset of a pointer stay below: by a mask, or as there are so many blocks."""
        found = dict(zip(self.elements.block, self.elements.grid, strict=True))
        return found | self.uses.bounds_of(access)

    def promised_of_parameters(self, term: Term) -> Iterator[Term]:
        if not is_local(term):
            yield from self.promised(term)

    def note(self, text: str, source: Source) -> None:
        assumption = Assumption(text, source)
        if assumption not in self.assumptions:
            self.assumptions.append(assumption)


def contract_of(
    module: Operation, entry: Operation, given: Sequence[str] = (), grid: Sequence[str] | None = None
) -> Contract:
    """The contract of a kernel: `given` and `grid` are stated (`prove.stated`)."""
    limits = _Limits(entry, given)
    elements = Elements(entry, limits.terms)
    found, _ = accesses(elements)
    uses = Uses(elements, found)
    # An assumption that names two parameters states how they differ.
    related = [variables(stated.parse(text, _names(elements))) for text in given]
    shapes = [*[tensor.shape for tensor in tensors(elements)], *related]
    known, equalities = limits.with_equal(uses.equal_extents(), shapes)
    elements = Elements(entry, known)
    found, missing = accesses(elements)
    contract = Contract(elements, found, missing, Uses(elements, found))
    names = _names(elements)
    for text in given:
        fact = stated.parse(text, names)
        if stated.EVERY in variables(fact):
            contract.contents.append(fact)
            contract.note(text, "stated")
        else:
            contract.assume(fact, text, "stated")
    for text in limits.assumed:
        contract.note(text, "assume")
    for text in limits.inferred:
        contract.note(text, "inferred")
    for text in equalities:
        contract.note(text, "inferred")
    uses = contract.uses
    _add_grid(contract, uses, grid, names)
    for extent in dict.fromkeys(uses.extents()):
        fact = terms.at_least(extent, ONE)
        if not is_local(extent) and fact not in (terms.TRUE, terms.FALSE):
            contract.assume(fact, f"{term_text(extent)} >= 1", "inferred")
    for fact, text in uses.constant_indices():
        contract.assume(fact, text, "inferred")
    for fact, text in uses.equal_counts():
        named = set(variables(fact))
        together = [set(variables(*each)) for each in (*related, *[tensor.shape for tensor in tensors(elements)])]
        # A transposed index would be hidden.
        if not any(len(named & each) > 1 for each in together):
            contract.assume(fact, text, "inferred")
    if grid is None:
        for fact, text in uses.row_limits():
            contract.assume(fact, text, "inferred")
    decided = variables(*contract.grid)
    for fact, text in uses.single_tiles():
        # A limit of what the grid counts would leave one tile block.
        if not any(part in decided for part in variables(fact)):
            contract.assume(fact, text, "inferred")
    _add_sizes(contract, uses)
    return contract


# --- numbers of parameters ---


class _Limits:
    """What is known of integer parameters alone: their ranges, and what divides them."""

    def __init__(self, entry: Operation, given: Sequence[str]) -> None:
        self._plain: Elements = Elements(entry)
        self.assumed: list[str] = []
        self.inferred: list[str] = []
        self._low: dict[Term, int] = {}
        self._high: dict[Term, int] = {}
        self._read_operations(entry)
        names = _names(self._plain)
        for text in given:
            for fact in _conjuncts(stated.parse(text, names)):
                self._read(fact)
        self._read_extents(entry)
        self.terms: dict[Value, Term] = {}
        for value, term in self._plain.parameters.items():
            if term in self._low or term in self._high:
                name, low, high, local = term.data
                self.terms[value] = terms.variable(name, self._low.get(term, low), self._high.get(term, high), local)

    def _read(self, fact: Term) -> None:
        """a*x + b <= 0"""
        if fact.operation != "not_positive":
            return
        parts = dict(terms.polynomial(fact.arguments[0]))
        offset = parts.pop((), 0)
        if len(parts) != 1:
            return
        (((term, *others), factor),) = parts.items()
        if others or term.operation != "variable":
            return
        if factor > 0:
            high = -offset // factor
            self._high[term] = min(high, self._high.get(term, term.data[2] if term.data[2] is not None else high))
        else:
            low = -(-offset // -factor)
            self._low[term] = max(low, self._low.get(term, term.data[1] if term.data[1] is not None else low))

    def _read_operations(self, entry: Operation) -> None:
        """`assume` of a parameter, or of one that was assumed."""
        parameters = set(self._plain.parameters.values())
        for operation in entry.walk():
            if operation.declaration is not ops.ASSUME or not isinstance(operation.operands[0].type, TileType):
                continue
            if not is_on_every_path(operation):
                continue
            if operation.operands[0].type.shape:
                continue
            term = self._plain.scalar(operation.operands[0])
            fact = promised(operation, term) if term in parameters else None
            if fact is None or fact is terms.TRUE:
                continue
            text = term_text(fact).replace("&", "")
            if is_base(term):
                divisor = terms.constant(fact.arguments[0].arguments[1]) if fact.arguments[0].arguments[1:] else None
                text = f"{text.split(' %')[0]} is aligned to {divisor} bytes"
            for part in _conjuncts(fact):
                self._read(part)
            if text not in self.assumed:
                self.assumed.append(text)

    def _read_extents(self, entry: Operation) -> None:
        """Extents are at least 1, strides not negative: both are read as unsigned."""
        for operation in entry.walk():
            if operation.declaration is not ops.MAKE_TENSOR_VIEW:
                continue
            for values, least in ((operation.dynamic_shape, 1), (operation.dynamic_strides, 0)):
                for value in values:
                    term = self._plain.scalar(value)
                    if term.operation == "variable" and not term.data[3]:
                        low = self._low.get(term, term.data[1])
                        if low is None or low < least:
                            self._low[term] = least
                            self.inferred.append(f"{term_text(term)} >= {least}")

    def with_equal(
        self, groups: Iterable[tuple[Term, Term]], shapes: Sequence[Sequence[Term]]
    ) -> tuple[dict[Value, Term], list[str]]:
        """The terms of parameters, where those that are equal have one; and the equalities as text.

        Different extents of one tensor do not become equal: a transposed index would be hidden.
        """
        leader: dict[Term, Term] = {}

        def find(term: Term) -> Term:
            while term in leader:
                term = leader[term]
            return term

        texts = []
        for left, right in groups:
            a, b = find(left), find(right)
            if a is b or any({a, b} <= {find(extent) for extent in shape} for shape in shapes):
                continue
            if terms.constant(a) is not None or (a.number > b.number and terms.constant(b) is None):
                a, b = b, a
            if terms.constant(a) is not None or a.operation != "variable":
                continue
            if terms.constant(b) is None and b.operation != "variable":
                continue
            low, high = terms.interval(a)
            number = terms.constant(b)
            if number is not None and ((low is not None and number < low) or (high is not None and number > high)):
                continue
            leader[b if number is None else a] = a if number is None else b
            texts.append(f"{term_text(b if number is None else a)} == {term_text(a if number is None else b)}")
        known = {}
        for value, term in self._plain.parameters.items():
            term = self.terms.get(value, term)
            known[value] = find(term)
        # Of equal parameters the tightest bounds hold.
        tight: dict[Term, list[Term]] = {}
        for value, term in self._plain.parameters.items():
            tight.setdefault(known[value], []).append(self.terms.get(value, term))
        for representative, members in tight.items():
            if representative.operation == "variable" and len(members) > 1:
                lows = [member.data[1] for member in members if member.data[1] is not None]
                highs = [member.data[2] for member in members if member.data[2] is not None]
                name, _, _, local = representative.data
                bounded = terms.variable(name, max(lows, default=None), min(highs, default=None), local)
                for value in known:
                    if known[value] is representative:
                        known[value] = bounded
        return known, texts


def _conjuncts(term: Term) -> tuple[Term, ...]:
    return term.arguments if term.operation == "conjunction" else (term,)


# --- names in what is stated ---


def _names(elements: Elements) -> stated.Names:
    scalars: dict[str, Term] = {f"grid.{axis}": term for axis, term in zip(_AXES, elements.grid, strict=True)}
    shapes: dict[str, tuple[Term, ...]] = {}
    sizes: dict[str, Term] = {}
    arrays = {}
    for number, (value, term) in enumerate(elements.parameters.items()):
        type = value.type.element if isinstance(value.type, TileType) else value.type
        for name in dict.fromkeys((elements.name(value), f"arg{number}")):
            if isinstance(type, PointerType):
                sizes[name] = size_variable(term)
                if isinstance(type.pointee, IntegerType) and type.pointee is not I1:
                    arrays[name] = _element_of(term, type.pointee)
                for tensor in tensors(elements):
                    if tensor.address is term:
                        shapes.setdefault(name, tensor.shape)
            elif isinstance(type, IntegerType) and type is not I1:
                scalars[name] = term
    return stated.Names(scalars, shapes, sizes, arrays)


def _element_of(base: Term, type: IntegerType) -> Callable[[Term], Term]:
    def element(position: Term) -> Term:
        return terms.app(f"{str(base.data[0]).removeprefix('&')}[]", (position,), terms.INTEGER, *range_of(type))

    return element


def size_variable(base: Term) -> Term:
    """How many elements the array at a base address has."""
    return terms.variable(f"{str(base.data[0]).removeprefix('&')}.size", 1)


def _is_size(variable: Term) -> bool:
    return str(variable.data[0]).endswith(".size")


def tensors(elements: Elements) -> Iterator[Tensor]:
    for operation in elements.entry.walk():
        if operation.declaration is ops.MAKE_TENSOR_VIEW:
            tensor = elements.tensor(operation.results[0])
            if tensor is not None:
                yield tensor


# --- grid and sizes ---


def _add_grid(contract: Contract, uses: Uses, rules: Sequence[str] | None, names: stated.Names) -> None:
    elements = contract.elements
    grid = list(elements.grid)
    if rules is not None:
        for axis, limit in enumerate(GRID_LIMITS):
            text = str(rules[axis]) if axis < len(rules) else "1"
            count = stated.parse_integer(text, names)
            contract.assume(terms.equal(elements.grid[axis], count), f"grid.{_AXES[axis]} == {text}", "stated")
            contract.hypotheses.append(terms.at_most(count, terms.number(limit)))
            grid[axis] = count
    else:
        given = {part for fact in contract.hypotheses for part in variables(fact)}
        for axis, rule in enumerate(uses.grid_rules()):
            if rule is None or elements.grid[axis] in given:
                continue
            contract.assume(
                terms.equal(elements.grid[axis], rule), f"grid.{_AXES[axis]} == {term_text(rule)}", "inferred"
            )
            grid[axis] = rule
            contract.is_grid_inferred |= rule is not ONE
    contract.grid = tuple(grid)
    for block, count in zip(elements.block, elements.grid, strict=True):
        contract.hypotheses.append(terms.less(block, count))
        contract.hypotheses.append(terms.less(block, contract.grid[elements.grid.index(count)]))
        contract.hypotheses.append(terms.less(primed(block), contract.grid[elements.grid.index(count)]))
        contract.hypotheses.append(terms.less(primed(block), count))


def _add_sizes(contract: Contract, uses: Uses) -> None:
    """Arrays have what their tensors need; those at other pointers have what masks compare with."""
    elements = contract.elements
    found: dict[Term, list[tuple[Term, str]]] = {}
    counted: dict[Term, list[tuple[Term, str]]] = {}
    for tensor in tensors(elements):
        last = ZERO
        for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
            last = terms.add(last, terms.mul(terms.sub(extent, ONE), stride))
        shape = " x ".join([term_text(extent) for extent in tensor.shape])
        if is_base(tensor.address):
            found.setdefault(tensor.address, []).append((terms.add(last, ONE), f"has {shape} elements"))
    for base, count in uses.pointer_counts():
        if base not in found:
            words = "1 element" if count is ONE else f"{term_text(count)} elements"
            counted.setdefault(base, []).append((count, f"has {words}"))
    found.update(counted)
    contract.guessed = uses.guessed & counted.keys()
    known = {part for fact in contract.hypotheses for part in variables(fact)}
    own = _own_memory(elements)
    for base, counts in found.items():
        name = str(base.data[0]).removeprefix("&")
        size = size_variable(base)
        if size in known or base in own:
            # What is stated is not adjusted to what the kernel does.
            contract.guessed.discard(base)
            if size in known:
                contract.note("arrays have at least one element", "inferred")
            continue
        for count, text in dict.fromkeys(counts):
            contract.assume(terms.at_least(size, count), f"{name} {text}", "inferred")
            contract.needed[size] = terms.maximum(contract.needed.get(size, count), count)
    arrays = {access.array for access in contract.accesses if access.array is not None}
    for base in arrays:
        contract.counts[base] = terms.number(own[base]) if base in own else size_variable(base)
    if len(arrays) > 1 and any(access.kind != "read" for access in contract.accesses):
        contract.note("different arrays share no memory", "inferred")


def _own_memory(elements: Elements) -> dict[Term, int]:
    """How many elements the memory has that the program itself declares: globals and what it allocates."""
    module = elements.entry.parent_operation or elements.entry
    declared = {each.symbol_name: each for each in module.walk() if each.declaration is ops.GLOBAL}
    found: dict[Term, int] = {}
    for operation in elements.entry.walk():
        if operation.declaration is ops.ALLOCA:
            found[elements.scalar(operation.results[0])] = operation.num_elem
        elif operation.declaration is ops.GET_GLOBAL:
            named = declared.get(operation.attributes["name"].text.removeprefix("@"))
            if named is not None:
                found[elements.scalar(operation.results[0])] = prod(
                    shape_of(cast(DenseAttribute, named.attributes["value"]).type)
                )
    return found


def element_bytes(contract: Contract, base: Term) -> int:
    """The bytes of an element of the memory at a base address: of a parameter's, a global's or an allocated one."""
    elements = contract.elements
    pointers = [value for value, term in elements.parameters.items() if term is base]
    for operation in elements.entry.walk():
        if operation.declaration in (ops.ALLOCA, ops.GET_GLOBAL) and elements.scalar(operation.results[0]) is base:
            pointers.append(operation.results[0])
    for value in pointers:
        if isinstance(value.type, TileType) and isinstance(value.type.element, PointerType):
            return bytes_of(value.type.element.pointee)
    return 0

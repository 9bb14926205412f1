"""What a kernel's accesses imply about the launches that its author has in mind: the inferred part of a contract.

A dimension of an access is an index, the step between its tiles and the extent that it runs over.  Through a view that
is what the view has; at pointers it is what a mask compares: `index < bound`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileir.dialect import ops
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.elements import Elements
from tileir.proofs.symbolic.memory import ATOMIC, READ, Access, conjuncts, is_local
from tileir.proofs.symbolic.term_text import term_text
from tileir.proofs.symbolic.terms import ONE, ZERO, Monomial, Term
from tileir.proofs.symbolic.traversal import substitute, subterms, transformed, variables


@dataclass(frozen=True)
class Dimension:
    """`array` is the base address of the array whose extent it is."""

    index: Term
    step: int
    extent: Term
    array: Term | None

    @property
    def count(self) -> Term:
        return terms.ceil_div(self.extent, terms.number(self.step))


class Uses:
    """How a kernel uses tile indices and extents."""

    def __init__(self, elements: Elements, accesses: list[Access]) -> None:
        self._elements, self._accesses = elements, accesses
        self.guessed: set[Term] = set()
        """Arrays whose size `pointer_counts` has from no mask of their own index."""
        self._dimensions: dict[Access, list[Dimension]] = {access: list(_dimensions(access)) for access in accesses}

    # --- equal extents ---

    def equal_extents(self) -> Iterator[tuple[Term, Term]]:
        """Extents that are equal because one tile index is used for both."""
        groups: dict[tuple[Term, int], list[Dimension]] = {}
        for access in self._accesses:
            # Masks of loads and stores do their work; that of an atomic may be the one of a lock.
            for dimension in self._dimensions[access] if access.view is not None or access.kind == ATOMIC else ():
                if not is_local(dimension.index):
                    continue
                for key in self._keys(dimension.index):
                    groups.setdefault((key, dimension.step), []).append(dimension)
        for (key, step), members in groups.items():
            over = self._counted(key)
            if over is not None and over[1] == step:
                members.insert(0, Dimension(key, step, over[0], None))
            first = members[0]
            for other in members[1:]:
                # Two extents of one array may differ: a transposed index would be hidden.
                if other.extent is not first.extent and (first.array is None or other.array is not first.array):
                    yield first.extent, other.extent

    def _keys(self, index: Term) -> list[Term]:
        """The index, or the number that it stays below because of a loop or a remainder."""
        upper = self._upper(index)
        return [index] if upper is None else [upper]

    def _upper(self, index: Term) -> Term | None:
        if index.operation == "modulo":
            return index.arguments[1]
        for loop in self._elements.numbers:
            if loop.declaration is ops.FOR and index is self._elements.counter_value(loop):
                return unwrapped(self._elements.bounds(loop)[1])
        return None

    @staticmethod
    def _counted(key: Term) -> tuple[Term, int] | None:
        """The extent and the step of a number of tiles, `cdiv(extent, step)`."""
        parts = terms.polynomial(key)
        if len(parts) == 1 and len(parts[0][0]) == 1 and parts[0][1] == -1:
            quotient = parts[0][0][0]
            if quotient.operation == "floor_div":
                step = terms.constant(quotient.arguments[1])
                if step is not None and step > 0:
                    return terms.scale(quotient.arguments[0], -1), step
        return (key, 1) if key.operation == "number" or (key.operation == "variable" and not is_local(key)) else None

    def extents(self) -> Iterator[Term]:
        """Parameters that the indices of pointers stay below."""
        for access in self._accesses:
            for dimension in self._dimensions[access] if access.view is None else ():
                if dimension.extent.operation == "variable":
                    yield dimension.extent

    def all_extents(self) -> Iterator[Term]:
        """What the indices of views and pointers stay below."""
        for access in self._accesses:
            yield from [dimension.extent for dimension in self._dimensions[access]]

    def indexed_by_block(self, access: Access) -> Iterator[Term]:
        """The extents that an access goes over by the ids of tile blocks."""
        for dimension in self._dimensions[access]:
            if any(part in self._elements.block for part in variables(dimension.index)):
                yield dimension.extent

    def constant_indices(self) -> Iterator[tuple[Term, str]]:
        """Extents that have the tiles of constant indices other than 0, and of remainders and their quotients:
        `block % 16 // 4` is 3 at most."""
        for access in self._accesses:
            for dimension in self._dimensions[access] if access.view is not None else ():
                number = terms.constant(dimension.index)
                if any(_is_rest(part) for part in subterms(dimension.index)):
                    number = terms.interval(dimension.index)[1] if _is_of_rests(dimension.index) else None
                if number is not None and number > 0 and terms.constant(dimension.extent) is None:
                    least = number * dimension.step + 1
                    yield (
                        terms.at_least(dimension.extent, terms.number(least)),
                        f"{term_text(dimension.extent)} >= {least}",
                    )

    # --- equally many tiles ---

    def equal_counts(self) -> Iterator[tuple[Term, str]]:
        """Extents in equally many tiles of different sizes, because one index goes over them."""
        groups: dict[Term, list[Dimension]] = {}
        for access in sorted(self._accesses, key=lambda access: access.kind == READ):
            for dimension in self._dimensions[access] if access.view is not None else ():
                if is_local(dimension.index):
                    for key in self._keys(dimension.index):
                        groups.setdefault(key, []).append(dimension)
        for key, members in groups.items():
            over = self._counted(key)
            if over is not None:
                members.insert(0, Dimension(key, over[1], over[0], None))
            first = members[0]
            for other in members[1:]:
                names = [set(variables(each.extent)) for each in (first, other)]
                if (
                    other.step != first.step
                    and other.array is not first.array
                    and all(names)
                    and not names[0] & names[1]
                ):
                    left, right = first.count, other.count
                    yield terms.equal(left, right), f"{term_text(left)} == {term_text(right)}"

    # --- rows of a constant length ---

    def row_limits(self) -> Iterator[tuple[Term, str]]:
        """How many tile blocks go over a row, where stores at pointers have rows of a constant length:
        2 for `64*block.x + lane` in rows of 128."""
        for access in self._accesses:
            groups = strided(unwrapped(access.offset), access.size) if access.view is None else None
            if access.kind == READ or groups is None or list(groups) != [ONE]:
                continue
            factors = {atoms: factor for atoms, factor in terms.polynomial(groups[ONE]) if atoms}
            for block, count in zip(self._elements.block, self._elements.grid, strict=True):
                tile = factors.get((block,), 0)
                if tile <= 0:
                    continue
                lanes = [(lane, factors.get((lane,), 0)) for lane in access.lanes if lane is not ZERO]
                longer = [factor for atoms, factor in factors.items() if _is_of_other_block(atoms, block)]
                is_whole = sum([lane.data[2] * max(factor, 0) for lane, factor in lanes]) < tile
                if is_whole and longer and min(longer) >= tile and min(longer) % tile == 0:
                    limit = min(longer) // tile
                    yield terms.at_most(count, terms.number(limit)), f"{term_text(count)} <= {limit}"

    # --- one tile ---

    def single_tiles(self) -> Iterator[tuple[Term, str]]:
        """Extents of at most a tile: those of dimensions where only tile 0 is stored to."""
        largest: dict[Term, int] = {}
        moving: set[Term] = set()
        for access in self._accesses:
            for dimension in self._dimensions[access]:
                # At pointers the index of a tile that does not move has lanes alone.
                lanes = [part for part in variables(dimension.index) if part in access.lanes]
                is_still = dimension.index is ZERO if access.view is not None else _is_of(dimension.index, lanes)
                step = dimension.step if access.view is not None else (terms.interval(dimension.index)[1] or 0) + 1
                if not is_still:
                    moving.add(dimension.extent)
                elif access.kind != READ and terms.constant(dimension.extent) is None:
                    largest[dimension.extent] = min(step, largest.get(dimension.extent, step))
        for extent, step in largest.items():
            if extent not in moving:
                yield terms.at_most(extent, terms.number(step)), f"{term_text(extent)} <= {step}"
                if terms.at_least(extent, ONE) is not terms.TRUE:
                    yield terms.at_least(extent, ONE), f"{term_text(extent)} >= 1"

    # --- grid ---

    def grid_rules(self) -> list[Term | None]:
        """The number of tile blocks along each axis; None where the kernel does not determine it."""
        blocks = self._elements.block
        used = [False] * 3
        for operation in self._elements.entry.walk():
            if operation.declaration is ops.GET_TILE_BLOCK_ID:
                for axis, result in enumerate(operation.results):
                    used[axis] |= result.has_uses
        if not any(used):
            return [None] * 3
        return [self._grid_rule(block) if is_used else ONE for block, is_used in zip(blocks, used, strict=True)]

    def _grid_rule(self, block: Term) -> Term | None:
        others = [each for each in self._elements.block if each is not block]
        # An index of a view must be one of its tiles; what a mask leaves out may be beyond the array.
        for access in sorted(self._accesses, key=lambda access: (access.view is None, access.kind == READ)):
            counts = self._counts(access, block, others)
            if counts:
                total = ONE
                for count in counts:
                    total = terms.mul(total, count)
                return total
        return None

    def _counts(self, access: Access, block: Term, others: list[Term]) -> list[Term]:
        """The numbers of tiles whose product is the number of blocks; none if an access does not determine them."""
        counts: list[Term] = []
        linear = False
        for dimension in self._dimensions[access]:
            parts = variables(dimension.index)
            if block not in parts or any(part.operation == "app" for part in subterms(dimension.index)):
                continue
            # An index that a loop of an unknown step goes through does not determine the grid.
            strides = [part for part in parts if part.data[0].startswith("i") and part.data[3]]
            if strides or any(other in parts for other in others):
                return []
            factor = _factor(dimension.index, block)
            if factor is None:
                counts.append(_count_of_rows(dimension, block) or dimension.count)
                continue
            if factor <= 0:
                return []
            repeated = self._repeated(dimension.index, block)
            rule = terms.number(repeated) if repeated else terms.ceil_div(dimension.count, terms.number(factor))
            if not linear:
                counts.append(rule)
            linear = True
        return counts

    def _repeated(self, index: Term, block: Term) -> int:
        """The step of a loop from the block's id on, `block + t*step`; 0 if the index is none."""
        for loop in self._elements.numbers:
            if loop.declaration is ops.FOR:
                lower, _, step = self._elements.bounds(loop)
                if lower is block and index is self._elements.counter_value(loop):
                    return terms.constant(step) or 0
        return 0

    # --- arrays at pointers ---

    def pointer_counts(self) -> Iterator[tuple[Term, Term]]:
        """The number of elements of arrays that are accessed through pointers.

        What a mask compares with an index counts first, that of another array with the same index next; then what a
        mask compares with an index some elements away, and the largest index of one without a mask.
        """
        masked: dict[Term, Term] = {}
        for access in self._accesses:
            if access.view is None:
                for dimension in self._dimensions[access]:
                    masked.setdefault(_any_lanes(access, dimension.index), dimension.extent)
        counted: dict[Term, list[Access]] = {}
        for access in self._accesses:
            if access.view is None and access.array is not None:
                counted.setdefault(access.array, []).append(access)
        for array, members in counted.items():
            for near in (False, True):
                found = [self._count(access, masked, near) for access in members]
                counts = list(dict.fromkeys([count for count in found if count is not None]))
                if counts:
                    if near:
                        self.guessed.add(array)
                    yield from [(array, count) for count in counts]
                    break

    def unmasked_count(self, access: Access) -> Term | None:
        """How many elements an array has if an access is within it, whatever its mask is.

        It is not inferred, as a loop may be one iteration too long.
        """
        count = ONE
        for stride, index in (strided(unwrapped(access.offset), access.size) or {}).items():
            for monomial, factor in terms.polynomial(index):
                largest = self._largest(monomial[0]) if len(monomial) == 1 else ONE if not monomial else None
                if largest is None or factor < 0:
                    return None
                count = terms.add(count, terms.mul(stride, terms.scale(largest, factor)))
        return None if is_local(count) else count

    def _largest(self, atom: Term) -> Term | None:
        """The largest value of a part of an index; None if it is of no known kind."""
        if atom in self._elements.block:
            return terms.sub(self._elements.grid[self._elements.block.index(atom)], ONE)
        if atom.operation == "modulo":
            return terms.sub(atom.arguments[1], ONE)
        if atom.operation == "floor_div":
            largest = self._largest(atom.arguments[0])
            return None if largest is None else terms.floor_div(largest, atom.arguments[1])
        for loop in self._elements.numbers:
            if loop.declaration is ops.FOR and atom is self._elements.iteration(loop):
                return terms.sub(unwrapped(self._elements.trip_count(loop)), ONE)
        is_lane = atom.operation == "variable" and atom.data[0].startswith("e") and atom.data[2] is not None
        return terms.number(atom.data[2]) if is_lane else None

    def bounds_of(self, access: Access) -> dict[Term, Term]:
        """By index, the bound that the mask of an access through pointers compares it with."""
        return {dimension.index: dimension.extent for dimension in self._dimensions[access]}

    def _count(self, access: Access, masked: dict[Term, Term], near: bool) -> Term | None:
        """One more than the largest offset in elements, of an offset that is a sum of bounded indices times strides."""
        groups = strided(unwrapped(access.offset), access.size)
        if groups is None:
            return None
        own = self.bounds_of(access)
        last = ZERO
        for stride, index in groups.items():
            if not is_local(index):
                last = terms.add(last, terms.mul(stride, index))
                continue
            bound = own.get(index) or masked.get(_any_lanes(access, index))
            if bound is None and index in self._elements.block:
                bound = self._elements.grid[self._elements.block.index(index)]
            if bound is None and near:
                away = dict(terms.polynomial(index)).get((), 0)
                plain = terms.sub(index, terms.number(away))
                bound = own.get(plain) or masked.get(_any_lanes(access, plain))
                bound = terms.add(bound, terms.number(away)) if bound is not None else self._unmasked(index)
            if bound is None:
                return None
            last = terms.add(last, terms.mul(stride, terms.sub(bound, ONE)))
        return terms.add(last, ONE)

    def _unmasked(self, index: Term) -> Term | None:
        """The number that an index without a mask stays below: of tile blocks, of iterations, of lanes alone."""
        total = ONE
        for monomial, factor in terms.polynomial(index):
            if not monomial:
                total = terms.add(total, terms.number(factor))
                continue
            if len(monomial) != 1 or factor < 0:
                return None
            atom = monomial[0]
            if atom in self._elements.block:
                largest = terms.sub(self._elements.grid[self._elements.block.index(atom)], ONE)
            elif atom.operation == "variable" and atom.data[2] is not None and atom.data[0].startswith("e"):
                largest = terms.number(atom.data[2])
            else:
                return None
            total = terms.add(total, terms.scale(largest, factor))
        return total


def _dimensions(access: Access) -> Iterator[Dimension]:
    if access.view is not None:
        for index, step, extent in zip(access.indices, access.view.steps, access.view.extents, strict=True):
            if index is not None:
                yield Dimension(unwrapped(index), step, extent, access.array)
        return
    for part in conjuncts(unwrapped(access.mask)):
        # index - bound + 1 <= 0
        if part.operation != "not_positive":
            continue
        local: dict[Monomial, int] = {}
        fixed: dict[Monomial, int] = {}
        for monomial, factor in terms.polynomial(part.arguments[0]):
            (local if any(is_local(atom) for atom in monomial) else fixed)[monomial] = factor
        fixed[()] = fixed.get((), 0) - 1
        index, bound = terms.from_polynomial(local), terms.scale(terms.from_polynomial(fixed), -1)
        if local and not is_local(bound):
            # `index <= n` and `index + 1 < n` are taken for errors, not for arrays of n + 1 and n - 1 elements.
            number = terms.number(fixed[()]) if len(fixed) > 1 else ZERO
            yield Dimension(index, 1, terms.add(bound, number), access.array)


def _is_of_other_block(atoms: Monomial, block: Term) -> bool:
    parts = variables(*atoms)
    return any(part.data[0].startswith("block.") for part in parts) and block not in parts


def _is_rest(term: Term) -> bool:
    return term.operation == "modulo" and terms.constant(term.arguments[1]) is not None


def _is_of_rests(index: Term) -> bool:
    """Whether an index depends on nothing but remainders by numbers and counters of loops."""
    if index.operation in ("sum", "floor_div"):
        return all(_is_of_rests(part) for part in index.arguments)
    return index.operation == "number" or _is_rest(index) or (index.operation == "variable" and index.data[0][0] == "t")


def _is_of(index: Term, lanes: list[Term]) -> bool:
    """Whether an index depends on some of the lanes of a tile and on nothing else."""
    return bool(lanes) and variables(index) == lanes and all(part in lanes for part in index.arguments or (index,))


def _any_lanes(access: Access, index: Term) -> Term:
    """An index with the same names for the elements of a tile in every access."""
    named = {}
    for axis, lane in enumerate(access.lanes):
        if lane is not ZERO:
            named[lane] = terms.variable(f"lane {axis}", 0, lane.data[2], True)
    return substitute(index, named)


def unwrapped(term: Term) -> Term:
    """A term as if no machine integer wrapped: what its author has in mind."""
    return transformed(term, lambda part: part.arguments[0] if part.operation == "wrap" else None)


def _factor(index: Term, block: Term) -> int | None:
    """What the id of the block is multiplied with in an index; None if it is more than that."""
    found = None
    for monomial, factor in terms.polynomial(index):
        if monomial == (block,):
            found = factor
        elif any(block in variables(atom) for atom in monomial):
            return None
    return found


def _count_of_rows(dimension: Dimension, block: Term) -> Term | None:
    """The number of blocks whose elements go over rows one after the other, `p // n * stride + p % n` for `p` that is
    `block*tile + lane`; None for other indices.  With a stride of 0 there is one row."""
    parts = {atom: factor for atoms, factor in terms.polynomial(dimension.index) for atom in atoms if len(atoms) == 1}
    columns = [atom for atom, factor in parts.items() if atom.operation == "modulo" and factor == 1]
    rest = [atom for atom in parts if atom not in columns]
    if len(columns) != 1 or len(rest) > 1 or len(terms.polynomial(dimension.index)) != len(parts):
        return None
    position, width = columns[0].arguments
    tile, length = _factor(position, block), terms.constant(width)
    if not tile or tile < 0 or not length or length < 0 or dimension.step != 1:
        return None
    if not rest:
        return terms.number(-(-length // tile))
    if rest[0] is not terms.floor_div(position, width) or parts[rest[0]] < length:
        return None
    rows = terms.ceil_div(dimension.extent, terms.number(parts[rest[0]]))
    return terms.ceil_div(terms.scale(rows, length), terms.number(tile))


def strided(offset: Term, size: int) -> dict[Term, Term] | None:
    """An offset in bytes as a sum of indices times strides, by stride; None if it is no such sum.

    A stride is a product of parameters, an index whatever else the elements are multiplied with.
    """
    groups: dict[Term, Term] = {}
    for monomial, factor in terms.polynomial(offset):
        if factor % size:
            return None
        stride, index = ONE, terms.number(factor // size)
        for atom in monomial:
            if is_local(atom):
                index = terms.mul(index, atom)
            else:
                stride = terms.mul(stride, atom)
        groups[stride] = terms.add(groups.get(stride, ZERO), index)
    return groups

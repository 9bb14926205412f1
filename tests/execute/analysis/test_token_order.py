"""What tokens order, compared with walks along random paths of random programs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random

import pytest
from tests.sampling import one_in

import tileir
from tileir.dialect.ops import BREAK, CONTINUE, FOR, IF, LOAD_PTR_TKO, LOOP, RETURN, STORE_PTR_TKO
from tileir.dialect.types import TOKEN
from tileir.execute.analysis.token_order import OTHERS, READS, TokenOrder
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value

MOST_STEPS = 300
FEWEST_WALKS = 50
MOST_WALKS = 10_000


class Writer:
    """Writes a kernel of accesses, joined tokens, branches and loops."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.body(["%first"], 3, None)

    @property
    def text(self) -> str:
        body = "\n".join(self.lines)
        return f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>, %v: tile<f32>, %c: tile<i1>, %n: tile<i32>) {{
          %first = make_token : token
          {body}
          return }} }}"""

    def names(self, count: int = 1) -> list[str]:
        self.count += count
        return [f"%t{self.count - number}" for number in range(count)]

    def chosen(self, scope: list[str], count: int) -> str:
        names = ", ".join(self.random.choices(scope[-6:], k=count))
        return f"{names} : {', '.join(['token'] * count)}" if count else ""

    def body(self, scope: list[str], depth: int, loop: tuple[str, int, int] | None) -> list[str]:
        """Write a block without its terminator; returns the tokens that there are at its end.

        `loop` is the loop around it: its kind, how many tokens it carries and how many results it has.
        """
        scope = list(scope)
        for _ in range(self.random.randint(1, 4)):
            kinds = ["load", "store", "join", "make", *(["if", "for", "loop"] if depth else [])]
            if loop is not None and depth:
                kinds.append("leave")
            getattr(self, f"_{self.random.choice(kinds)}")(scope, depth, loop)
        return scope

    def _load(self, scope: list[str], depth: int, loop: object) -> None:
        (name,) = self.names()
        token = self.random.choice(["", f" token = {self.random.choice(scope)}"])
        self.lines.append(f"%x{self.count}, {name} = load_ptr_tko weak %p{token} : tile<ptr<f32>> -> tile<f32>, token")
        scope.append(name)

    def _store(self, scope: list[str], depth: int, loop: object) -> None:
        (name,) = self.names()
        token = self.random.choice(["", f" token = {self.random.choice(scope)}"])
        self.lines.append(f"{name} = store_ptr_tko weak %p, %v{token} : tile<ptr<f32>>, tile<f32> -> token")
        scope.append(name)

    def _join(self, scope: list[str], depth: int, loop: object) -> None:
        (name,) = self.names()
        self.lines.append(f"{name} = join_tokens {', '.join(self.random.choices(scope, k=2))} : token")
        scope.append(name)

    def _make(self, scope: list[str], depth: int, loop: object) -> None:
        (name,) = self.names()
        self.lines.append(f"{name} = make_token : token")
        scope.append(name)

    def _terminator(self, scope: list[str], loop: tuple[str, int, int]) -> str:
        kind, carried, results = loop
        if kind == "loop" and self.random.random() < 0.5:
            return f"break {self.chosen(scope, results)}"
        return f"continue {self.chosen(scope, carried)}"

    def _leave(self, scope: list[str], depth: int, loop: tuple[str, int, int]) -> None:
        self.lines.append("if %c {")
        inner = self.body(scope, depth - 1, loop)
        self.lines.append(f"{self._terminator(inner, loop)} }}")

    def _if(self, scope: list[str], depth: int, loop: tuple[str, int, int] | None) -> None:
        results = self.names(self.random.randint(1, 2))
        types = ", ".join(["token"] * len(results))
        leaving = self.random.choice([None, None, 0, 1]) if loop is not None else None
        self.lines.append(f"{', '.join(results)} = if %c -> ({types}) {{")
        for branch in range(2):
            inner = self.body(scope, depth - 1, loop)
            if loop is not None and branch == leaving:
                self.lines.append(self._terminator(inner, loop))
            else:
                self.lines.append(f"yield {self.chosen(inner, len(results))}")
            self.lines.append("} else {" if branch == 0 else "}")
        scope.extend(results)

    def _for(self, scope: list[str], depth: int, loop: object) -> None:
        count = self.random.randint(1, 3)
        results, carried = self.names(count), self.names(count)
        (index,) = self.names()
        pairs = ", ".join([f"{name} = {self.random.choice(scope)}" for name in carried])
        types = ", ".join(["token"] * count)
        self.lines.append(
            f"{', '.join(results)} = for {index} in (%n to %n, step %n) : tile<i32> iter_values({pairs}) -> ({types}) {{"
        )
        inner = self.body([*scope, *carried], depth - 1, ("for", count, count))
        self.lines.append(f"continue {self.chosen(inner, count)} }}")
        scope.extend(results)

    def _loop(self, scope: list[str], depth: int, loop: object) -> None:
        count = self.random.randint(1, 3)
        results, carried = self.names(self.random.randint(1, 2)), self.names(count)
        pairs = ", ".join([f"{name} = {self.random.choice(scope)}" for name in carried])
        types, given = (", ".join(["token"] * number) for number in (count, len(results)))
        self.lines.append(f"{', '.join(results)} = loop iter_values({pairs}) : {types} -> {given} {{")
        inner = self.body([*scope, *carried], depth - 1, ("loop", count, len(results)))
        self.lines.append(f"if %c {{ break {self.chosen(inner, len(results))} }}")
        self.lines.append(f"continue {self.chosen(inner, count)} }}")
        scope.extend(results)


Event = tuple[Operation, tuple[tuple[Block, int], ...]]
"""An operation, and the blocks around it, each with how many times it was entered before."""


class Enough(Exception):
    """The walk is long enough: a random loop need not end."""


class Walks:
    """Random paths through a kernel; a token is the set of the events before it."""

    def __init__(self, entry: Operation, seed: int) -> None:
        self.entry = entry
        self.random = Random(seed)
        self.pairs: set[tuple[Operation, Operation]] = set()
        """Operations, and those that they come after."""
        self.pairs_in: set[tuple[Operation, Operation, Block]] = set()
        """The same of one run of a block."""
        self.tokens: dict[Value, frozenset[Event]] = {}
        self.runs: list[tuple[Block, int]] = []
        self.steps = 0

    def walk(self) -> None:
        self.steps = 0
        with suppress(Enough):
            self.block(self.entry.regions[0].block)

    def assign(self, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        found = [self.tokens[source] for source in sources if source.type is TOKEN]
        self.tokens.update(zip([target for target in targets if target.type is TOKEN], found, strict=True))

    def block(self, block: Block) -> Operation:
        """Walk through a block; returns what ended it, or a block around it."""
        self.runs.append((block, self.steps))
        try:
            for operation in block:
                self.steps += 1
                if self.steps > MOST_STEPS:
                    raise Enough
                end = self.operation(operation)
                if end is not None:
                    return end
        finally:
            self.runs.pop()
        raise AssertionError("a block ends in a terminator")

    def operation(self, operation: Operation) -> Operation | None:
        declaration = operation.declaration
        if declaration.is_terminator:
            return operation
        if declaration is IF:
            branch = self.random.choice(operation.regions)
            end = self.block(branch.block) if branch.blocks else None
            if end is None:
                return None
            if end.declaration in (BREAK, CONTINUE, RETURN):
                return end
            self.assign(operation.results, end.operands)
        elif declaration is FOR:
            carried = operation.regions[0].block.arguments
            self.assign(carried, operation.operands)
            for _ in range(self.random.choice([0, 1, 2, 5])):
                self.assign(carried, self.block(operation.regions[0].block).operands)
            self.assign(operation.results, carried)
        elif declaration is LOOP:
            carried = operation.regions[0].block.arguments
            self.assign(carried, operation.operands)
            while (end := self.block(operation.regions[0].block)).declaration is not BREAK:
                self.assign(carried, end.operands)
            self.assign(operation.results, end.operands)
        else:
            self.event(operation)
        return None

    def event(self, operation: Operation) -> None:
        before = frozenset().union(*[self.tokens[value] for value in operation.operands if value.type is TOKEN])
        now = (operation, tuple(self.runs))
        for earlier, runs in before:
            self.pairs.add((operation, earlier))
            shared = set(runs)
            self.pairs_in.update([(operation, earlier, run[0]) for run in self.runs if run in shared])
        for result in operation.results:
            if result.type is TOKEN:
                self.tokens[result] = before | {now}


@pytest.mark.parametrize("seed", one_in(4, range(160)))
def test_order_is_that_of_all_paths(seed: int) -> None:
    text = Writer(seed).text
    (entry,) = [each for each in tileir.parse(text).walk() if each.name == "cuda_tile.entry"]
    order = TokenOrder(entry)
    events = [each for each in entry.walk() if not each.regions and any(r.type is TOKEN for r in each.results)]
    ordered = {(later, earlier) for later in events for earlier in events if order.comes_after(later, earlier)}
    blocks = [block for each in entry.walk() for region in each.regions for block in region.blocks]
    ordered_in = {
        (later, token.defining_operation, block)
        for block in blocks
        for later in events
        if block in _around(later)
        for token in order.all_before(later, since=block)
        if token.defining_operation in events
    }
    walks = Walks(entry, seed)
    for number in range(MOST_WALKS):
        # Rare paths take many walks.
        if number > FEWEST_WALKS and walks.pairs == ordered and walks.pairs_in == ordered_in:
            break
        walks.walk()
    pairs = walks.pairs
    assert ordered == pairs
    assert ordered_in == walks.pairs_in

    bits = {operation: 1 << number for number, operation in enumerate(events)}
    gathered = order.gathered(bits)
    for later in events:
        before = sum(bits[earlier] for earlier in events if (later, earlier) in pairs)
        found = 0
        for token in [value for value in later.operands if value.type is TOKEN]:
            found |= gathered.get(token, 0)
        assert found == before
        if later.declaration in (LOAD_PTR_TKO, STORE_PTR_TKO) and later.token is not None:
            kinds = {each.declaration.mnemonic for each in events if (later, each) in pairs}
            reads, writes = "load_ptr_tko" in kinds, "store_ptr_tko" in kinds
            assert order.after(later.token) == reads * READS + writes * OTHERS


def _around(operation: Operation) -> list[Block]:
    found = []
    block = operation.parent
    while block is not None:
        found.append(block)
        block = block.parent_operation.parent if block.parent_operation is not None else None
    return found

"""What all tile blocks of a grid do alike, though each could have a part of it."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import ALLOCA, FOR, GET_TILE_BLOCK_ID, IF, LOOP, STORE_PTR_TKO, STORE_VIEW_TKO
from tileir.ir.core import Operation
from tileir.ir.declaration import ATOMIC
from tileir.ir.values import Value

_PLACES: Final = ("destination", "view", "index", "mask")
_MOST_ROUNDS: Final = 8


def _same_stores(subject: Subject) -> Iterable[LintFinding]:
    if not subject.operations(GET_TILE_BLOCK_ID):
        # A kernel that does not ask which tile block it is, is launched as one.
        return
    own = _OwnValues(subject.all_operations)
    for store in subject.operations(STORE_PTR_TKO, STORE_VIEW_TKO):
        places = [value for name in _PLACES if _has(store, name) for value in store.operand_group(name)]
        if not any(value in own.values for value in places) and store not in own.decided:
            words = "every tile block writes to the same place: nothing of it depends on the block's id"
            yield LintFinding(store, words)


class _OwnValues:
    """What may differ from one tile block to another: values, and operations that not all reach, or not as often."""

    def __init__(self, operations: list[Operation]) -> None:
        self.values: set[Value] = set()
        self.decided: set[Operation] = set()
        self._branches: set[Operation] = set()
        for _ in range(_MOST_ROUNDS):
            before = len(self.values) + len(self._branches)
            for operation in operations:
                self._visit(operation)
            if before == len(self.values) + len(self._branches):
                return
        # Loops pass values on too often to be followed: each may be a block's own.
        self.decided.update(operations)

    def _visit(self, operation: Operation) -> None:
        declaration, parent = operation.declaration, operation.parent_operation
        if parent is not None and (parent in self._branches or parent in self.decided):
            self.decided.add(operation)
        differs = declaration in (GET_TILE_BLOCK_ID, ALLOCA) or bool(declaration.traits & ATOMIC)
        differs = differs or any(operand in self.values for operand in operation.operands)
        if differs:
            self.values.update(operation.results)
            for region in operation.regions:
                for block in region.blocks:
                    self.values.update(block.arguments)
            if declaration in (IF, FOR):
                self._branches.add(operation)
        if declaration.is_terminator and parent is not None and (differs or operation in self.decided):
            self._pass_on(operation, parent)

    def _pass_on(self, terminator: Operation, parent: Operation) -> None:
        self.values.update(parent.results)
        loop: Operation | None = parent
        while loop is not None and loop.declaration is IF:
            loop = loop.parent_operation
        if loop is not None and loop.declaration in (FOR, LOOP):
            self.values.update([*loop.results, *loop.regions[0].block.arguments])
            if terminator in self.decided:
                self._branches.add(loop)


def _has(operation: Operation, name: str) -> bool:
    return any(operand.name == name for operand in operation.declaration.operands)


SAME_STORE: Final = Rule(
    "same-store-in-every-block",
    "suspicious",
    "Every tile block of the grid writes to the same place",
    reason="The kernel asks which tile block it is, but this store does not depend on it: all write over each other, "
    "and which one is last is chance.",
    remedy="Let the place depend on the block's id, add up with `atomic_rmw_tko`, or let one tile block write.",
    positive="""\
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %from = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
  %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token // here
  return
}
""",
    negative="""\
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %from = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %from : tile<ptr<f32>> -> tile<f32>, token
  %0 = constant <i32: 0> : tile<i32>
  %first = cmpi equal %x, %0, signed : tile<i32> -> tile<i1>
  if %first {
    %u = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  }
  return
}
""",
    check=_same_stores,
)

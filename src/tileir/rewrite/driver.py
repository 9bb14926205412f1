"""Applies folds and patterns until none fires.

The driver works as MLIR's greedy one, so that what comes out has the form NVIDIA's tools give it:

* What nothing needs is removed.
* A sweep visits the operations in program order and notes those that a fold or a pattern is written for.  On its way it
  merges equal constants and moves them to the start of the kernel.
* Then the noted ones are taken, the one noted last first.  What nothing needs is erased, else a fold is tried, else the
  patterns in their order.  What a change may have an effect on is noted again.
* All that repeats until nothing changes.

A fold replaces an operation by values that are there, or by attributes, which become constants, or changes it in
place; it makes no operations.  Everything else is a pattern.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import CONSTANT_LIKE, OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import PassError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_words
from tileir.ir.values import Value
from tileir.rewrite.constants import ConstantPool
from tileir.rewrite.dead import DeadCode, is_removable, remove_dead
from tileir.rewrite.rewriter import Rewriter, Worklist
from tileir.rewrite.trace import Step

# What a fold answers: None for no change, an empty list for a change in place, else one entry per result.
FoldResult = list["Value | Attribute"] | None

# More rewrites than this per operation do not happen unless patterns undo each other.
_REWRITES_PER_OPERATION: Final = 64
_LEAST_LIMIT: Final = 4096
# So many of the last rewrites are named when a set does not converge.
_REMEMBERED: Final = 64


class Fold:
    """A rule that makes no operations.  `root` is the operation it is for."""

    __slots__ = ("fold", "name", "root")

    def __init__(self, name: str, root: OperationDeclaration, fold: Callable[[Operation], FoldResult]) -> None:
        if not isinstance(root, OperationDeclaration):
            raise TypeError(f"a fold is for a declaration, as tileir.declarations.ADDI, not for {root!r}")
        self.name: str = name
        self.root: OperationDeclaration = root
        self.fold: Callable[[Operation], FoldResult] = fold


class Pattern:
    """A rule that changes the program through a `Rewriter` and tells whether it did.

    `roots` are the operations it is tried on; none means all.  A pattern that answers False must have
    changed nothing.
    """

    __slots__ = ("name", "rewrite", "roots")

    def __init__(
        self,
        name: str,
        roots: OperationDeclaration | tuple[OperationDeclaration, ...],
        rewrite: Callable[[Operation, Rewriter], bool],
    ) -> None:
        given: tuple[object, ...] = roots if isinstance(roots, tuple) else (roots,)
        for root in given:
            if not isinstance(root, OperationDeclaration):
                raise TypeError(f"a pattern is for declarations, as tileir.declarations.ADDI, not for {root!r}")
        self.name: str = name
        self.roots: tuple[OperationDeclaration, ...] = roots if isinstance(roots, tuple) else (roots,)
        self.rewrite: Callable[[Operation, Rewriter], bool] = rewrite


class RewriteError(PassError):
    """A set of patterns does not come to an end; the message names those that fired last."""

    def __init__(self, message: str) -> None:
        super().__init__(message, UNKNOWN)


class Statistics:
    """How often each rule fired, by name."""

    __slots__ = ("fired",)

    def __init__(self) -> None:
        self.fired: dict[str, int] = {}

    def count(self, name: str, times: int = 1) -> None:
        self.fired[name] = self.fired.get(name, 0) + times

    def lines(self) -> list[str]:
        """One line per rule, the busiest first."""
        order = sorted(self.fired.items(), key=_by_count)
        return [f"{times:8}  {name}" for name, times in order]


def _by_count(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]


# The names of what the driver does by itself, in statistics and traces.
DEAD_CODE: Final = "dead-code"
EQUAL_CONSTANTS: Final = "equal-constants"
HOISTED_CONSTANTS: Final = "hoisted-constants"


class _Rules:
    """The folds and patterns for one kind of operation."""

    __slots__ = ("folds", "is_constant", "is_removable", "patterns")

    def __init__(self, declaration: OperationDeclaration, folds: list[Fold], patterns: list[Pattern]) -> None:
        self.folds: list[Fold] = folds
        self.patterns: list[Pattern] = patterns
        self.is_constant: bool = bool(declaration.traits & CONSTANT_LIKE)
        self.is_removable: bool = is_removable(declaration)


def apply_greedily(
    root: Operation,
    patterns: list[Pattern],
    folds: list[Fold] | None = None,
    limit: int | None = None,
    *,
    statistics: Statistics | None = None,
    trace: Callable[[str], None] | None = None,
    keep_locations: bool = False,
) -> bool:
    """Rewrite what is inside `root` until no rule fires; whether anything changed.

    After `limit` rewrites (by default many per operation) the rules are taken not to converge: `RewriteError`.
    `trace` gets a text for each step, the program before and after it.  `keep_locations` gives an operation that stands
    for several the locations of all of them, where MLIR keeps one or none.
    """
    if not isinstance(root, Operation):
        raise TypeError(f"patterns are applied to an operation, not to {type_words(root)}")
    rules: list[object] = [*patterns, *(folds if folds is not None else [])]
    for rule in rules:
        if not isinstance(rule, (Pattern, Fold)):
            raise TypeError(f"the rules are tileir.Pattern and tileir.Fold objects, not {type_words(rule)}")
    driver = _Driver(root, patterns, folds if folds is not None else [], limit, statistics, trace, keep_locations)
    return driver.run()


class _Driver:
    __slots__ = (
        "dead",
        "folds",
        "keep_locations",
        "last",
        "limit",
        "patterns",
        "rewriter",
        "rewrites",
        "root",
        "rules",
        "statistics",
        "trace",
        "worklist",
    )

    def __init__(
        self,
        root: Operation,
        patterns: list[Pattern],
        folds: list[Fold],
        limit: int | None,
        statistics: Statistics | None,
        trace: Callable[[str], None] | None,
        keep_locations: bool,
    ) -> None:
        self.root: Operation = root
        self.keep_locations: bool = keep_locations
        self.patterns: list[Pattern] = patterns
        self.folds: list[Fold] = folds
        self.limit: int = limit if limit is not None else -1
        self.statistics: Statistics = statistics if statistics is not None else Statistics()
        self.trace: Callable[[str], None] | None = trace
        self.worklist: Worklist = Worklist()
        self.rewriter: Rewriter = Rewriter(self.worklist, keep_locations)
        self.rules: dict[OperationDeclaration, _Rules] = {}
        self.dead: DeadCode = DeadCode()
        self.rewrites: int = 0
        self.last: list[str] = []

    def run(self) -> bool:
        changed = False
        while True:
            self.dead.forget()
            removed = remove_dead(self.root, self.dead, self._erase_traced if self.trace is not None else None)
            if removed:
                self.statistics.count(DEAD_CODE, removed)
            moved = self._sweep()
            rewritten = self._drain()
            if not (removed or moved or rewritten):
                return changed
            changed = True

    def _erase_traced(self, operation: Operation) -> None:
        step = Step(operation)
        operation.erase()
        if self.trace is not None:
            self.trace(step.text(DEAD_CODE))

    # --- noting ---

    def _rules_for(self, declaration: OperationDeclaration) -> _Rules:
        found = self.rules.get(declaration)
        if found is None:
            folds = [fold for fold in self.folds if fold.root is declaration]
            patterns = [pattern for pattern in self.patterns if not pattern.roots or declaration in pattern.roots]
            found = self.rules[declaration] = _Rules(declaration, folds, patterns)
        return found

    def _sweep(self) -> bool:
        """Fill the worklist, in program order, and put constants in their place; whether one was erased or moved."""
        pool = ConstantPool(self.keep_locations)
        noted: list[Operation] = []
        rules = self.rules
        count = 0
        pending: list[Operation | None] = []
        for region in reversed(self.root.regions):
            for block in reversed(region.blocks):
                pending.append(block.first)
        while pending:
            cursor = pending.pop()
            while cursor is not None:
                following = cursor.next
                declaration = cursor.declaration
                known = rules.get(declaration)
                if known is None:
                    known = self._rules_for(declaration)
                count += 1
                if known.is_constant:
                    if not pool.place(cursor):
                        cursor = following
                        continue
                if known.folds or known.patterns:
                    noted.append(cursor)
                if cursor.regions:
                    pending.append(following)
                    for region in reversed(cursor.regions):
                        for block in reversed(region.blocks):
                            pending.append(block.first)
                    break
                cursor = following
        if pool.merged:
            self.statistics.count(EQUAL_CONSTANTS, pool.merged)
        if pool.moved:
            self.statistics.count(HOISTED_CONSTANTS, pool.moved)
        if self.limit < 0:
            self.limit = max(_LEAST_LIMIT, count * _REWRITES_PER_OPERATION)
        self.worklist.fill(noted)
        return pool.merged + pool.moved > 0

    # --- rewriting ---

    def _drain(self) -> bool:
        """Take operations until none is left; whether anything changed."""
        worklist = self.worklist
        rewriter = self.rewriter
        rewriter.changed = False
        rules = self.rules
        operation = worklist.pop()
        while operation is not None:
            known = rules.get(operation.declaration)
            if known is None:
                known = self._rules_for(operation.declaration)
            if operation.parent is None or operation is self.root:
                pass
            elif known.is_removable and self.dead.is_dead(operation):
                self._erase(operation)
            elif known.folds or known.patterns:
                self._rewrite(operation, known)
            operation = worklist.pop()
        return rewriter.changed

    def _erase(self, operation: Operation) -> None:
        step = Step(operation) if self.trace is not None else None
        self.statistics.count(DEAD_CODE)
        self.rewriter.erase(operation)
        if self.trace is not None and step is not None:
            self.trace(step.text(DEAD_CODE))

    def _rewrite(self, operation: Operation, rules: _Rules) -> None:
        rewriter = self.rewriter
        step = Step(operation) if self.trace is not None else None
        if not rules.is_constant:
            for fold in rules.folds:
                if self._fold(operation, fold):
                    self._count(fold.name, step)
                    return
        for pattern in rules.patterns:
            rewriter.insert_before(operation)
            rewriter.location = operation.location
            if pattern.rewrite(operation, rewriter):
                rewriter.changed = True
                self._count(pattern.name, step)
                return

    def _fold(self, operation: Operation, fold: Fold) -> bool:
        operands = list(operation.operands)
        found = fold.fold(operation)
        if found is None:
            return False
        rewriter = self.rewriter
        if not found:
            rewriter.modify(operation)
            for value in operands:
                rewriter.touch(value)
            return True
        rewriter.insert_before(operation)
        rewriter.location = operation.location
        values: list[Value] = []
        for result in found:
            if isinstance(result, Value):
                values.append(result)
            elif isinstance(result, DenseAttribute):
                values.append(rewriter.constant(result))
            else:
                raise ValueError(f"the fold '{fold.name}' gives an attribute that is no constant: {result}")
        rewriter.replace(operation, values)
        return True

    def _count(self, name: str, step: Step | None) -> None:
        self.statistics.count(name)
        if self.trace is not None and step is not None:
            self.trace(step.text(name))
        self.rewrites += 1
        if self.rewrites > self.limit - _REMEMBERED:
            self.last.append(name)
            if self.rewrites >= self.limit:
                raise RewriteError(
                    f"rewriting does not come to an end: stopped after {self.rewrites} rewrites, the last of them by "
                    + ", ".join([f"'{rule}'" for rule in sorted(set(self.last))])
                )

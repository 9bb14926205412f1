"""Applies folds and patterns until none applies.

The driver works as MLIR's greedy driver does, so that its output has the form of NVIDIA's tools:

1. Dead code is removed.
2. A sweep visits the operations in program order and puts those with a fold or a pattern on the worklist.  It merges
   equal constants and moves them to the start of the kernel.
3. The worklist is emptied, the operation added last first.  A dead operation is erased; otherwise folds are tried,
   then patterns in their order.  Operations that a change may affect are added again.
4. All of this repeats until nothing changes.

A fold replaces an operation by existing values or by attributes, which become constants, or changes it in place; it
creates no operations.  Everything else is a pattern.  A pattern that does not match may report why
(`Rewriter.no_match`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tileir.annotations import Final
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Diagnostic, PassError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_text
from tileir.ir.traits import CONSTANT_LIKE, ISOLATED
from tileir.ir.traversal import pre_order
from tileir.ir.values import Value
from tileir.rewrite.cleanup import ConstantPool, DeadCode, is_removable, remove_dead
from tileir.rewrite.rewriter import Rewriter, Worklist

# What a fold returns: None for no change, an empty list for a change in place, else one entry per result.
FoldResult = list["Value | Attribute"] | None

# Only patterns that undo each other need more rewrites per operation than this.
_REWRITES_PER_OPERATION: Final = 64
_MIN_LIMIT: Final = 4096
# When a set of patterns does not converge, the error names this many of the last rewrites.
_NAMED_REWRITES: Final = 64


class Fold:
    """A rule that creates no operations.  `root` is the operation it applies to."""

    __slots__ = ("fold", "name", "root")

    def __init__(self, name: str, root: OperationDeclaration, fold: Callable[[Operation], FoldResult]) -> None:
        if not isinstance(root, OperationDeclaration):
            raise TypeError(f"a fold is for a declaration, as tileir.declarations.ADDI, not for {root!r}")
        self.name: str = name
        self.root: OperationDeclaration = root
        self.fold: Callable[[Operation], FoldResult] = fold


class Pattern:
    """A rule that changes the program through a `Rewriter` and returns whether it did.

    `roots` are the operations it is tried on; none means all.  A pattern that returns False must have changed nothing;
    `return rewriter.no_match(operation, reason)` reports why.
    """

    __slots__ = ("name", "rewrite", "roots")

    def __init__(
        self,
        name: str,
        roots: OperationDeclaration | tuple[OperationDeclaration, ...],
        rewrite: Callable[[Operation, Rewriter], bool],
    ) -> None:
        self.name: str = name
        self.roots: tuple[OperationDeclaration, ...] = roots if isinstance(roots, tuple) else (roots,)
        for root in self.roots:
            if not isinstance(root, OperationDeclaration):
                raise TypeError(f"a pattern is for declarations, as tileir.declarations.ADDI, not for {root!r}")
        self.rewrite: Callable[[Operation, Rewriter], bool] = rewrite


class RewriteError(PassError):
    """A set of patterns does not converge; the message names those that fired last."""

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
        """One line per rule, the most frequent first."""
        order = sorted(self.fired.items(), key=lambda entry: (-entry[1], entry[0]))
        return [f"{times:8}  {name}" for name, times in order]


class Step:
    """One rewriting step for a trace.  It prints the whole function twice, so tracing is for small programs."""

    __slots__ = ("before", "container")

    def __init__(self, operation: Operation) -> None:
        container = operation
        while not container.declaration.traits & ISOLATED:
            around = container.parent_operation
            if around is None:
                break
            container = around
        self.container: Operation = container
        self.before: list[str] = container.text().splitlines()

    def text(self, name: str) -> str:
        """The name of the step, then removed lines with a minus and added ones with a plus."""
        import difflib

        after = self.container.text().splitlines()
        changes = difflib.unified_diff(self.before, after, n=0, lineterm="")
        lines = [line for line in changes if not line.startswith(("---", "+++", "@@"))]
        return "\n".join([f"--- {name}", *lines])


# The names of the driver's own steps, in statistics and traces.
DEAD_CODE: Final = "dead-code"
EQUAL_CONSTANTS: Final = "equal-constants"
HOISTED_CONSTANTS: Final = "hoisted-constants"


class _Rules:
    """The folds and patterns for one kind of operation."""

    def __init__(self, declaration: OperationDeclaration, folds: list[Fold], patterns: list[Pattern]) -> None:
        self.folds: list[Fold] = folds
        self.patterns: list[Pattern] = patterns
        self.is_constant: bool = bool(declaration.traits & CONSTANT_LIKE)
        self.is_removable: bool = is_removable(declaration)


class RuleSet:
    """Patterns and folds, and which of them apply to which declaration; many runs of a driver may share it."""

    def __init__(self, patterns: Iterable[Pattern], folds: Iterable[Fold]) -> None:
        self._patterns: list[Pattern] = list(patterns)
        self._folds: list[Fold] = list(folds)
        self._known: dict[OperationDeclaration, _Rules] = {}
        rules: list[object] = [*self._patterns, *self._folds]
        for rule in rules:
            if not isinstance(rule, (Pattern, Fold)):
                raise TypeError(
                    f"the rules are tileir.passes.Pattern and tileir.passes.Fold objects, not {type_text(rule)}"
                )

    def rules_for(self, declaration: OperationDeclaration) -> _Rules:
        found = self._known.get(declaration)
        if found is None:
            folds = [fold for fold in self._folds if fold.root is declaration]
            patterns = [pattern for pattern in self._patterns if not pattern.roots or declaration in pattern.roots]
            found = self._known[declaration] = _Rules(declaration, folds, patterns)
        return found


def apply_greedily(
    root: Operation,
    patterns: Iterable[Pattern],
    folds: Iterable[Fold] | None = None,
    limit: int | None = None,
    *,
    statistics: Statistics | None = None,
    trace: Callable[[str], None] | None = None,
    keep_locations: bool = False,
    trace_patterns: Callable[[str], None] | None = None,
) -> bool:
    """Rewrite the contents of `root` until no rule applies; return whether anything changed.

    A `RewriteError` reports rules that do not converge after `limit` rewrites (by default many per operation).  `trace`
    is called with each step, the program before and after it; `trace_patterns` with each pattern that did not match and
    the reason.  With `keep_locations`, an operation that replaces several has the locations of all of them; MLIR keeps
    one or none.
    """
    if not isinstance(root, Operation):
        raise TypeError(f"patterns are applied to an operation, not to {type_text(root)}")
    driver = Driver(root, RuleSet(patterns, folds or ()), statistics, trace, keep_locations, trace_patterns)
    if limit is not None:
        driver.limit = limit
    return driver.run()


class Driver:
    """One run of `apply_greedily`."""

    def __init__(
        self,
        root: Operation,
        rules: RuleSet,
        statistics: Statistics | None,
        trace: Callable[[str], None] | None,
        keep_locations: bool,
        trace_patterns: Callable[[str], None] | None,
    ) -> None:
        self.root: Operation = root
        self.rules: RuleSet = rules
        self.worklist: Worklist = Worklist()
        self.rewriter: Rewriter = Rewriter(self.worklist, keep_locations)
        self.limit: int = -1
        self.statistics: Statistics = statistics if statistics is not None else Statistics()
        self.trace: Callable[[str], None] | None = trace
        self.trace_patterns: Callable[[str], None] | None = trace_patterns
        self.dead: DeadCode = DeadCode()
        self.rewrites: int = 0
        self.last: list[str] = []

    def run(self) -> bool:
        changed = False
        while True:
            self.dead = DeadCode()
            removed = remove_dead(self.root, self.dead, self._erase)
            moved = self._sweep()
            rewritten = self._drain()
            if not (removed or moved or rewritten):
                return changed
            changed = True

    def _sweep(self) -> bool:
        """Fill the worklist in program order, and place constants; return whether one was erased or moved."""
        pool = ConstantPool(self.rewriter.keep_locations)
        operations = pre_order(self.root)[1:]
        found: list[Operation] = []
        for operation in operations:
            known = self.rules.rules_for(operation.declaration)
            if (not known.is_constant or pool.place(operation)) and (known.folds or known.patterns):
                found.append(operation)
        if pool.merged:
            self.statistics.count(EQUAL_CONSTANTS, pool.merged)
        if pool.moved:
            self.statistics.count(HOISTED_CONSTANTS, pool.moved)
        if self.limit < 0:
            self.limit = max(_MIN_LIMIT, len(operations) * _REWRITES_PER_OPERATION)
        self.worklist.fill(found)
        return pool.merged + pool.moved > 0

    def _drain(self) -> bool:
        """Take operations until none is left; return whether anything changed."""
        rewriter = self.rewriter
        rewriter.changed = False
        worklist = self.worklist
        operation = worklist.pop()
        while operation is not None:
            known = self.rules.rules_for(operation.declaration)
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
            rewriter.reason = ""
            rewriter.failed_at = operation.location
            if pattern.rewrite(operation, rewriter):
                rewriter.changed = True
                self._count(pattern.name, step)
                return
            if self.trace_patterns is not None:
                reason = rewriter.reason or "no reason is given"
                message = f"{pattern.name} does not match '{operation.name}': {reason}"
                self.trace_patterns(str(Diagnostic("remark", message, rewriter.failed_at)))

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
                raise ValueError(f"the fold '{fold.name}' returns an attribute that is no constant: {result}")
        rewriter.replace(operation, values)
        return True

    def _count(self, name: str, step: Step | None) -> None:
        self.statistics.count(name)
        if self.trace is not None and step is not None:
            self.trace(step.text(name))
        self.rewrites += 1
        if self.rewrites > self.limit - _NAMED_REWRITES:
            self.last.append(name)
            if self.rewrites >= self.limit:
                raise RewriteError(
                    f"rewriting does not come to an end: stopped after {self.rewrites} rewrites, the last of them by "
                    + ", ".join([f"'{rule}'" for rule in sorted(set(self.last))])
                )

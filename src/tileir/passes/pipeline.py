"""Runs passes: by name, as a pipeline text, or by optimization level.

    run_passes(module, ["canonicalize", "cse", "loop-split{split-threshold=2}"])
    run_pipeline(module, "builtin.module(cuda_tile.module(cuda_tile.entry(loop-split)))")
    optimize(module, level=3)

All of them change the module and return it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tileir.annotations import TYPE_CHECKING, Final
from tileir.collector import CollectorPaused
from tileir.dialect.ops import BUILTIN_MODULE, MODULE
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Diagnostic, OptionError, PassError, VerifyError, has_errors, note
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_text
from tileir.ir.symbols import Symbols
from tileir.ir.traits import SYMBOL
from tileir.ir.traversal import functions, is_function
from tileir.ir.verifier import verify_operation
from tileir.ir.versions import NEWEST_NAME, Version, version_named
from tileir.passes import registry
from tileir.passes.catalog import pass_named
from tileir.passes.registry import (
    FULL,
    FUNCTION,
    PARITY,
    Options,
    Pass,
    PassSession,
    PipelineError,
    Step,
    parse_pass,
    parse_pipeline,
)

if TYPE_CHECKING:
    from typing import TypeVar

    Program = TypeVar("Program", bound=Operation)

LEVELS: Final = (0, 1, 2, 3)
DEFAULT_LEVEL: Final = 3
# A bound far above what programs need.
_MAX_ROUNDS: Final = 16


class PassRun:
    """One run of a pass: its time, the number of operations before and after, its changes and rules that fired.

    `optimize` runs the passes on one function after the other: a run is then that on all functions.
    """

    __slots__ = ("changes", "fired", "name", "operations_after", "operations_before", "seconds")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.seconds: float = 0.0
        self.operations_before: int = 0
        self.operations_after: int = 0
        self.changes: int = 0
        self.fired: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<PassRun {self.name}: {self.changes} changes in {self.seconds:.4f} s>"


class PassReport:
    """Options of a run of passes, and its results in `runs`.

    `verify` checks the module after each pass, by the rules of `version`.  `after_each` is called with the name of each
    pass and the module; `trace` with each rewriting step; `trace_patterns` with each pattern that did not match and the
    reason.  With `keep_locations`, an operation that replaces others gets the locations of all of them, fused, where
    MLIR keeps one or none.  `diagnostics` are the warnings of the passes; `current` is the run under way, or the last.
    """

    # A misspelled setting is an error.
    __slots__ = (
        "after_each",
        "current",
        "diagnostics",
        "drop_in",
        "keep_locations",
        "runs",
        "statistics",
        "trace",
        "trace_patterns",
        "verify",
        "version",
    )

    def __init__(
        self,
        *,
        verify: bool = True,
        version: str = NEWEST_NAME,
        statistics: bool = False,
        after_each: Callable[[str, Operation], None] | None = None,
        trace: Callable[[str], None] | None = None,
        drop_in: bool = False,
        keep_locations: bool = False,
        trace_patterns: Callable[[str], None] | None = None,
    ) -> None:
        self.trace_patterns: Callable[[str], None] | None = trace_patterns
        self.drop_in: bool = drop_in
        self.keep_locations: bool = keep_locations
        self.verify: bool = verify
        self.version: Version = version_named(version)
        self.statistics: bool = statistics
        self.after_each: Callable[[str, Operation], None] | None = after_each
        self.trace: Callable[[str], None] | None = trace
        self.runs: list[PassRun] = []
        self.current: PassRun | None = None
        self.diagnostics: list[Diagnostic] = []

    def timing_lines(self) -> list[str]:
        """Seconds of each pass, and the total."""
        total = sum([run.seconds for run in self.runs])
        lines = [f"{run.seconds:10.4f} s  {run.name}" for run in self.runs]
        return [*lines, f"{total:10.4f} s  total"]

    def statistics_lines(self) -> list[str]:
        """Operations before and after each pass and how often each rule fired."""
        lines: list[str] = []
        for run in self.runs:
            lines.append(f"{run.name}: {run.operations_before} operations before, {run.operations_after} after")
            for name in sorted(run.fired):
                lines.append(f"{run.fired[name]:8}  {name}")
            if run.changes and not run.fired:
                # A pass without rules counts its changes as a whole.
                lines.append(f"{run.changes:8}  {run.name}")
        return lines


def optimize(
    module: Program,
    level: int = DEFAULT_LEVEL,
    *,
    rules: str = PARITY,
    fuse_fma: bool = False,
    report: PassReport | None = None,
    verify_each: bool = True,
) -> Program:
    """Optimize a module in place and return it.

    `level` is 0 (nothing) to 3.  `rules` is "parity", those of NVIDIA's public optimizer, or "full", those and the
    folds draft's.  `fuse_fma` also fuses multiplications with additions, which changes rounding.  The module is
    verified before and after each pass, unless `verify_each` is false.

    >>> tileir.optimize(module, level=3) is module
    True
    """
    steps = [parse_pass(text) for text in passes_of_level(level, rules, fuse_fma)]
    return run_until_stable(module, steps, rules, report=_begun(module, report, verify_each))


def passes_of_level(level: int, rules: str = PARITY, fuse_fma: bool = False) -> list[str]:
    """Return the passes of an optimization level, in order."""
    _check_rules(rules)
    if level not in LEVELS:
        raise OptionError(f"'{level}' is not an optimization level: use 0, 1, 2 or 3")
    names: list[str] = []
    if fuse_fma:
        names.append("fuse-fma")
    if level >= 1:
        names += ["canonicalize", "cse"]
    if level >= 2 and rules == FULL:
        # The public optimizer runs it too, but it moves nothing there: its loops do not implement the interface.
        names.append("loop-invariant-code-motion")
    if level >= 3:
        names += ["loop-split", "canonicalize"]
    return names


def run_passes(
    module: Program,
    passes: Sequence[str | Pass],
    *,
    rules: str = PARITY,
    report: PassReport | None = None,
    verify_each: bool = True,
) -> Program:
    """Run passes in order, each given as `name`, `name{option=value ...}` or a `Pass`.

    Changes the module and returns it.  The module is verified before the first pass and after each: `VerifyError` names
    the pass that broke it.  `verify_each=False` skips this.

    >>> tileir.run_passes(module, ["canonicalize", "cse"]) is module
    True
    """
    if not isinstance(passes, (list, tuple)) or not all(isinstance(each, (str, Pass)) for each in passes):
        raise TypeError(f"passes are a list of names, such as ['canonicalize', 'cse'], not {passes!r}")
    steps = [Step(each.name, {}, given=each) if isinstance(each, Pass) else parse_pass(each) for each in passes]
    check_steps(steps)
    return run_steps(module, steps, rules, report=_begun(module, report, verify_each))


def run_pipeline(
    module: Program, text: str, *, rules: str = PARITY, report: PassReport | None = None, verify_each: bool = True
) -> Program:
    """Run a pipeline as MLIR's tools write it, such as `builtin.module(cuda_tile.module(canonicalize,cse))`.

    It is verified as by `run_passes`.
    """
    if not isinstance(text, str):
        raise TypeError(f"a pipeline is a string such as 'builtin.module(canonicalize)', not {text!r}")
    steps = parse_pipeline(text)
    check_steps(steps)
    return run_steps(module, steps, rules, report=_begun(module, report, verify_each))


def _begun(module: Operation, report: PassReport | None, verify_each: bool) -> PassReport:
    """Return the report of a new run, after verifying the module: no pass is to blame for earlier errors."""
    if not isinstance(module, Operation):
        raise TypeError(f"passes run on a module, not on {type_text(module)}")
    if report is None:
        report = PassReport()
    if not verify_each:
        report.verify = False
    if report.verify:
        _verify(module, report, "before the first pass")
    return report


def _check_rules(rules: str) -> None:
    if rules not in (PARITY, FULL):
        raise OptionError(f"'{rules}' is not a family of rules: use parity or full")


def run_steps(module: Program, steps: list[Step], rules: str = PARITY, *, report: PassReport) -> Program:
    """Run passes that `check_steps` has accepted."""
    _check_rules(rules)
    with CollectorPaused():
        for step in steps:
            report.runs.append(PassRun(step.name))
            _run_step(module, step, rules, report, report.runs[-1], None)
    return module


def run_until_stable(module: Program, steps: list[Step], rules: str = PARITY, *, report: PassReport) -> Program:
    """Run the passes of a level, and repeat while they make work for each other.

    For example, equal conditions are combined only after `cse` has merged them.  The last round is the one in which no
    pass but the first changes anything: the first would change nothing again.

    A function goes through all rounds before the next one: it stays in the processor's caches, and gets no more rounds
    than it needs.
    """
    _check_rules(rules)
    start = len(report.runs)
    symbols = Symbols()
    with CollectorPaused():
        for root in _parts(module, report):
            _run_rounds(root, steps, rules, report, start, symbols)
    return module


def _run_rounds(
    root: Operation, steps: list[Step], rules: str, report: PassReport, start: int, symbols: Symbols
) -> None:
    """Run all rounds; their runs are those of the report from `start` on."""
    for number in range(_MAX_ROUNDS):
        changed = False
        for index, step in enumerate(steps, start + number * len(steps)):
            if index == len(report.runs):
                report.runs.append(PassRun(step.name))
            if _run_step(root, step, rules, report, report.runs[index], symbols) and step is not steps[0]:
                changed = True
        if not changed:
            return


def _parts(module: Operation, report: PassReport) -> list[Operation]:
    """Return the functions, if there is nothing else to optimize and nobody looks at the module between passes."""
    if report.statistics or report.after_each or report.trace or report.trace_patterns:
        return [module]
    found: list[Operation] = []
    pending: list[Operation] = [module]
    while pending:
        operation = pending.pop()
        if is_function(operation):
            found.append(operation)
        elif operation.declaration.is_symbol_table:
            pending += [child for region in operation.regions for block in region.blocks for child in block]
        elif not operation.declaration.traits & SYMBOL:
            return [module]
    return found[::-1] or [module]


def check_steps(steps: list[Step]) -> None:
    """Check that all passes and options exist, before anything changes."""
    for step in steps:
        known = _pass_of(step)
        for name in step.options:
            if name not in known.options:
                raise PipelineError(f"pass '{known.name}' has no option '{name}'")


def _pass_of(step: Step) -> Pass:
    return step.given if step.given is not None else pass_named(step.name)


def _run_step(
    module: Operation, step: Step, rules: str, report: PassReport, run: PassRun, symbols: Symbols | None
) -> int:
    """Run a pass, add what it did to `run` and return the number of changes."""
    found = _pass_of(step)
    session = PassSession(rules, report.trace, report.drop_in, report.keep_locations, report.trace_patterns)
    session.statistics.fired = run.fired
    report.current = run
    before = run.changes
    if report.statistics:
        run.operations_before = _count(module)
    roots = _roots(module, step, found.scope)
    start = time.perf_counter()
    # A pass may be untyped user code, so its result is checked.
    function: Callable[[Operation, Options, PassSession], object] = found.run
    for root in roots:
        changes = function(root, {**found.options, **step.options}, session)
        if not isinstance(changes, int):
            raise PassError(
                f"pass '{step.name}' returned {changes!r} instead of the number of changes it made", root.location
            )
        run.changes += changes
    run.seconds += time.perf_counter() - start
    found_diagnostics: list[object] = [*session.diagnostics]
    for finding in found_diagnostics:
        if not isinstance(finding, Diagnostic):
            raise PassError(
                f"pass '{step.name}' reports {finding!r}: session.diagnostics holds tileir.Diagnostic objects",
                module.location,
            )
    report.diagnostics += session.diagnostics
    if report.statistics:
        run.operations_after = _count(module)
    if report.after_each is not None:
        report.after_each(step.name, module)
    if report.verify:
        _verify(module, report, f"after pass '{step.name}'", symbols)
    return run.changes - before


def _roots(module: Operation, step: Step, scope: str) -> list[Operation]:
    """Return the operations a pass runs on: those that its anchors name, or those of its scope inside them."""
    found = [module]
    anchors = step.anchors
    if anchors and anchors[0] == BUILTIN_MODULE.name and module.declaration is not BUILTIN_MODULE:
        # The program has no builtin module around it.
        anchors = anchors[1:]
        if anchors and module.name == anchors[0]:
            anchors = anchors[1:]
    elif anchors:
        if anchors[0] not in (module.name, "any"):
            raise PipelineError(f"can't run '{anchors[0]}' pass manager on '{module.name}' op")
        anchors = anchors[1:]
    for anchor in anchors:
        blocks = [block for operation in found for region in operation.regions for block in region.blocks]
        found = [child for block in blocks for child in block if anchor in (child.name, "any")]
    if scope == FUNCTION:
        return [function for operation in found for function in functions(operation)]
    if scope == registry.MODULE:
        return [child for operation in found for child in operation.walk() if child.declaration is MODULE]
    return found


def _count(module: Operation) -> int:
    return sum(1 for _ in module.walk())


def _verify(module: Operation, report: PassReport, when: str, symbols: Symbols | None = None) -> None:
    context = VerifyContext(report.version, symbols=symbols)
    verify_operation(module, context)
    if has_errors(context.diagnostics):
        first = next(diagnostic for diagnostic in context.diagnostics if diagnostic.severity == "error")
        if not report.drop_in:
            first.notes.append(note(f"the program is wrong {when}", UNKNOWN))
        raise VerifyError(context.diagnostics)

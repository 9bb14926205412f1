"""tileir: the toolkit for CUDA Tile IR.

Read, write, check, optimize, explain and run tile programs anywhere.  docs/reference/api.md lists what is here, docs/
has a tour.

Every name below is there with nothing installed.  What runs programs needs NumPy and says so, with the line that
installs it, when it is called.
"""

from __future__ import annotations

# Before anything is imported in one thread while another forks.
from tileir import forking as _forking  # noqa: F401

__version__ = "0.1.0"

# Names are imported when they are first used: the command line passes through this file on its way to what it needs,
# and a small program is checked in the time a few imports take.  Type checkers read them in `__init__.pyi`, which
# `make docs` writes from these tables.
_HOMES = {
    "tileir.analyze.cost.occupancy": "Occupancy Waves",
    "tileir.analyze.cost.result": "ArrayCost Ceiling Cost Roofline",
    "tileir.analyze.difference.changes": "ChangeDetail ProgramChange",
    "tileir.analyze.difference.difference": "ProgramDifference diff",
    "tileir.analyze.forms.form": "Form Removed",
    "tileir.analyze.forms.forms": "FormTitle Forms",
    "tileir.analyze.lint.fixes": "LintFix",
    "tileir.analyze.lint.linting": "lint",
    "tileir.analyze.lint.rule": "LintFinding",
    "tileir.analyze.reducing.search": "NotInterestingError",
    "tileir.analyze.reducing.reduce": "Progress Reduction reduce",
    "tileir.bytecode.primitives": "BytecodeError",
    "tileir.dialect.attributes": "bounded div_by same_elements",
    "tileir.builder": "Builder",
    "tileir.dialect.scopes": "BodyScope BranchScope EntryScope LoopScope Scope",
    "tileir.execute.engine.interface": "DirectLaunches Engine EngineForm KernelSettings LaunchOptions LocatedText"
    " Measured PreparedKernel",
    "tileir.execute.engine.registry": "register_engine unregister_engine",
    "tileir.execute.errors": "AssemblerWarning AssertionFailedError ChoiceError CompilationError EmulationError"
    " ExecutionError HostCopyWarning InternalError LaunchError MissingDependencyError NestingError RecordingError"
    " WrongDeviceError",
    "tileir.execute.launching.release": "release_memory",
    "tileir.execute.gpu.cubin": "Cubin CubinError Resources",
    "tileir.execute.gpu.driver.library": "DriverError NoGpuError",
    "tileir.execute.gpu.gpus": "Peaks",
    "tileir.execute.gpu.errors": "AssemblerCrash AssemblerError AssemblerTimeout TritonCrash TritonError TritonTimeout",
    "tileir.execute.arguments.argument_text": "LaunchArguments LaunchWords WordError",
    "tileir.execute.gpu.triton.code": "Schedule Trial Tuning",
    "tileir.execute.launching.timing": "Timing",
    "tileir.execute.work.operations": "AccessTraffic ArrayTraffic Stops Work",
    "tileir.execute.sanitizer.report": "Finding Place SanitizerError SanitizerReport",
    "tileir.interface": "from_bytecode load losses parse to_bytecode verify",
    "tileir.ir.attributes": "Attribute",
    "tileir.ir.core": "Block InsertionPoint Operation Region",
    "tileir.ir.declaration": "OperationDeclaration",
    "tileir.ir.diagnostics": "BuildError Diagnostic OptionError ParseError PassError TileIRError VerifyError"
    " VersionError",
    "tileir.ir.location": "Location file_location",
    "tileir.ir.types": "Type",
    "tileir.ir.values": "BlockArgument OperationResult Value",
    "tileir.judge.errors": "ResultsError SweepError",
    "tileir.judge.inputs": "Seeds",
    "tileir.judge.model": "Item Limits Plan Step Verdict",
    "tileir.judge.executor.scheduler": "SweepProgress",
    "tileir.judge.report.comparison": "SweepChange SweepComparison",
    "tileir.judge.report.contents": "FailureKind KernelSpeed StepFailure SweepEntry",
    "tileir.judge.report.reporting": "SweepReport report",
    "tileir.judge.results.results": "Results Row",
    "tileir.judge.executor.sweep": "SweepResult judge_kernels sweep",
    "tileir.passes.catalog": "register_pass registered_passes",
    "tileir.passes.pipeline": "PassReport PassRun optimize run_passes run_pipeline",
    "tileir.passes.registry": "Pass PassSession PipelineError",
    "tileir.rewrite.driver": "Fold Pattern RewriteError Statistics apply_greedily",
    "tileir.rewrite.fact": "Fact",
    "tileir.rewrite.facts": "Facts",
    "tileir.rewrite.rewriter": "Rewriter",
    "tileir.serve.explorer.questions": "QuestionError",
}
# The same for what runs programs, which needs NumPy and ml_dtypes.
_RUNNING_HOMES = {
    "tileir.analyze.comparing.compare": "compare",
    "tileir.analyze.comparing.comparison": "ArrayDifference BlockComparison Comparison Moment",
    "tileir.execute.array_difference": "Difference",
    "tileir.analyze.cost.costs": "cost",
    "tileir.analyze.difference.semantic": "DifferentArray FirstValue KernelRuns SemanticDifference",
    "tileir.bridge.compiling": "compile",
    "tileir.bridge.emulate": "EmulationContext emulate",
    "tileir.bridge.launch": "launch",
    "tileir.bridge.operators": "op",
    "tileir.bridge.recording": "record",
    "tileir.bridge.specialized": "SpecializedKernel",
    "tileir.execute.arguments.binding": "Pointer pointer_to",
    "tileir.execute.bound": "BoundLaunch",
    "tileir.execute.observing.trace": "Trace",
    "tileir.execute.launching.kernel": "Kernel",
    "tileir.execute.memory": "Globals Memory",
    "tileir.execute.sanitizer.number_watch": "NumberWatch",
    "tileir.execute.observing.observer": "Access Callback Observer TileBlock",
    "tileir.execute.overlap": "overlap",
    "tileir.execute.recording.accesses": "AccessTable",
    "tileir.execute.recording.arrays": "RecordedArray",
    "tileir.execute.recording.program": "ValueHistory",
    "tileir.execute.recording.file_reader": "load_recording",
    "tileir.execute.recording.recording": "Recording",
    "tileir.execute.recording.script_variables": "FunctionVariables",
    "tileir.execute.sanitizer.coverage": "ArrayCoverage Coverage",
    "tileir.execute.sanitizer.sanitizer": "Sanitizer",
    "tileir.serve.debugger.scripts": "debug",
    "tileir.serve.explorer.exploring": "Exploration explore",
    "tileir.serve.explorer.export": "ExportedPage",
}
_MODULES = ("attributes", "declarations", "smith", "types")
_RUNNING = {name: home for home, names in _RUNNING_HOMES.items() for name in names.split()}
_HOME_OF = {**{name: home for home, names in _HOMES.items() for name in names.split()}, **_RUNNING}
__all__ = sorted([*_HOME_OF, *_MODULES])


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return __import__(f"tileir.{name}", fromlist=[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tileir' has no attribute '{name}'")
    # Operations get their text from here, whichever name was asked for first.
    __import__("tileir.interface")
    if name in _RUNNING:
        from tileir.execute.errors import MissingDependencyError, placeholder

        try:
            # The one that says what to install.
            __import__("tileir.execute.launching.kernel")
        except MissingDependencyError as missing:
            # Not kept: the package may be installed while this process goes on.
            return placeholder(name, missing)
    value: object = getattr(__import__(_HOME_OF[name], fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

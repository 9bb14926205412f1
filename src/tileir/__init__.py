"""tileir: the toolkit for CUDA Tile IR.

Read, write, check, optimize, explain and run tile programs anywhere.  docs/api.md lists what is here, docs/ has a tour.

Every name below is there with nothing installed.  What runs programs needs NumPy and says so, with the line that
installs it, when it is called.
"""

from __future__ import annotations

# Before anything is imported in one thread while another forks.
from tileir import forking as _forking  # noqa: F401

# Type checkers know the name; `typing` itself is not worth importing for it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tileir import attributes, declarations, smith, types
    from tileir.analyze.comparing.compare import compare
    from tileir.analyze.comparing.comparison import ArrayDifference, BlockComparison, Comparison, Moment
    from tileir.analyze.comparing.differences import Difference
    from tileir.analyze.cost.costs import cost
    from tileir.analyze.cost.occupancy import Occupancy, Waves
    from tileir.analyze.cost.result import ArrayCost, Ceiling, Cost, Roofline
    from tileir.analyze.difference.changes import ChangeDetail, ProgramChange
    from tileir.analyze.difference.difference import ProgramDifference, diff
    from tileir.analyze.difference.semantic import DifferentArray, KernelRuns, SemanticDifference
    from tileir.analyze.difference.tracking import FirstValue
    from tileir.analyze.forms.form import Form, Removed
    from tileir.analyze.forms.forms import Forms, FormTitle
    from tileir.analyze.lint.fixes import LintFix
    from tileir.analyze.lint.linting import lint
    from tileir.analyze.lint.rule import LintFinding
    from tileir.analyze.reducing.errors import NotInterestingError
    from tileir.analyze.reducing.reduce import Progress, Reduction, reduce
    from tileir.bridge.compiling import compile
    from tileir.bridge.emulate import EmulationContext, emulate
    from tileir.bridge.launch import launch
    from tileir.bridge.operators.op import op
    from tileir.bridge.recording import record
    from tileir.bridge.specialized import SpecializedKernel
    from tileir.builder import Builder
    from tileir.bytecode.primitives import BytecodeError
    from tileir.dialect.attributes import bounded, div_by, same_elements
    from tileir.dialect.scopes import BodyScope, BranchScope, EntryScope, LoopScope, Scope
    from tileir.execute.arguments.argument_text import LaunchArguments, LaunchWords, WordError
    from tileir.execute.arguments.binding import Pointer, pointer_to
    from tileir.execute.bound import BoundLaunch
    from tileir.execute.engine.interface import (
        DirectLaunches,
        Engine,
        EngineForm,
        KernelSettings,
        LaunchOptions,
        LocatedText,
        Measured,
        PreparedKernel,
    )
    from tileir.execute.engine.registry import register_engine, unregister_engine
    from tileir.execute.errors import (
        AssemblerWarning,
        AssertionFailedError,
        ChoiceError,
        CompilationError,
        EmulationError,
        ExecutionError,
        HostCopyWarning,
        InternalError,
        LaunchError,
        MissingDependencyError,
        NestingError,
        RecordingError,
        WrongDeviceError,
    )
    from tileir.execute.gpu.cubin import Cubin, CubinError, Resources
    from tileir.execute.gpu.driver.library import DriverError, NoGpuError
    from tileir.execute.gpu.errors import (
        AssemblerCrash,
        AssemblerError,
        AssemblerTimeout,
        TritonCrash,
        TritonError,
        TritonTimeout,
    )
    from tileir.execute.gpu.gpus import Peaks
    from tileir.execute.gpu.triton.code import Schedule, Trial, Tuning
    from tileir.execute.launching.kernel import Kernel
    from tileir.execute.launching.release import release_memory
    from tileir.execute.launching.timing import Timing
    from tileir.execute.memory import Globals, Memory
    from tileir.execute.observing.observer import Access, Callback, Observer, TileBlock
    from tileir.execute.observing.trace import Trace
    from tileir.execute.overlap import overlap
    from tileir.execute.recording.accesses import AccessTable
    from tileir.execute.recording.arrays import RecordedArray
    from tileir.execute.recording.file_reader import load_recording
    from tileir.execute.recording.program import ValueHistory
    from tileir.execute.recording.recording import Recording
    from tileir.execute.recording.script_variables import FunctionVariables
    from tileir.execute.sanitizer.coverage import ArrayCoverage, Coverage
    from tileir.execute.sanitizer.number_watch import NumberWatch
    from tileir.execute.sanitizer.report import Finding, Place, SanitizerError, SanitizerReport
    from tileir.execute.sanitizer.sanitizer import Sanitizer
    from tileir.execute.work.operations import AccessTraffic, ArrayTraffic, Stops, Work
    from tileir.interface import from_bytecode, load, losses, parse, to_bytecode, verify
    from tileir.ir.attributes import Attribute
    from tileir.ir.core import Block, InsertionPoint, Operation, Region
    from tileir.ir.declaration import OperationDeclaration
    from tileir.ir.diagnostics import (
        BuildError,
        Diagnostic,
        OptionError,
        ParseError,
        PassError,
        TileIRError,
        VerifyError,
        VersionError,
    )
    from tileir.ir.location import Location, file_location
    from tileir.ir.types import Type
    from tileir.ir.values import BlockArgument, OperationResult, Value
    from tileir.judge.errors import ResultsError, SweepError
    from tileir.judge.inputs import Seeds
    from tileir.judge.items import Item
    from tileir.judge.kernels.direct import judge_kernels
    from tileir.judge.plans import Limits, Plan
    from tileir.judge.progress import SweepProgress, SweepResult
    from tileir.judge.report.clusters import FailureKind
    from tileir.judge.report.comparison import SweepChange, SweepComparison
    from tileir.judge.report.entries import KernelSpeed, StepFailure, SweepEntry
    from tileir.judge.report.reporting import SweepReport, report
    from tileir.judge.results import Results, Row
    from tileir.judge.sweeping import sweep
    from tileir.judge.verdicts import Step, Verdict
    from tileir.passes.catalogue import register_pass, registered_passes
    from tileir.passes.pipeline import PassReport, PassRun, optimize, run_passes, run_pipeline
    from tileir.passes.registry import Pass, PassSession, PipelineError
    from tileir.rewrite.driver import Fold, Pattern, RewriteError, Statistics, apply_greedily
    from tileir.rewrite.fact import Fact
    from tileir.rewrite.facts import Facts
    from tileir.rewrite.rewriter import Rewriter
    from tileir.serve.debugger.scripts import debug
    from tileir.serve.explorer.exploring import Exploration, explore
    from tileir.serve.explorer.export import ExportedPage
    from tileir.serve.explorer.questions import QuestionError

__version__ = "0.1.0"

__all__ = [
    "Access",
    "AccessTable",
    "AccessTraffic",
    "ArrayCost",
    "ArrayCoverage",
    "ArrayDifference",
    "ArrayTraffic",
    "AssemblerCrash",
    "AssemblerError",
    "AssemblerTimeout",
    "AssemblerWarning",
    "AssertionFailedError",
    "Attribute",
    "Block",
    "BlockArgument",
    "BlockComparison",
    "BodyScope",
    "BoundLaunch",
    "BranchScope",
    "BuildError",
    "Builder",
    "BytecodeError",
    "Callback",
    "Ceiling",
    "ChangeDetail",
    "ChoiceError",
    "Comparison",
    "CompilationError",
    "Cost",
    "Coverage",
    "Cubin",
    "CubinError",
    "Diagnostic",
    "Difference",
    "DifferentArray",
    "DirectLaunches",
    "DriverError",
    "EmulationContext",
    "EmulationError",
    "Engine",
    "EngineForm",
    "EntryScope",
    "ExecutionError",
    "Exploration",
    "ExportedPage",
    "Fact",
    "Facts",
    "FailureKind",
    "Finding",
    "FirstValue",
    "Fold",
    "Form",
    "FormTitle",
    "Forms",
    "FunctionVariables",
    "Globals",
    "HostCopyWarning",
    "InsertionPoint",
    "InternalError",
    "Item",
    "Kernel",
    "KernelRuns",
    "KernelSettings",
    "KernelSpeed",
    "LaunchArguments",
    "LaunchError",
    "LaunchOptions",
    "LaunchWords",
    "Limits",
    "LocatedText",
    "LintFinding",
    "LintFix",
    "Location",
    "LoopScope",
    "Measured",
    "Memory",
    "MissingDependencyError",
    "Moment",
    "NestingError",
    "NoGpuError",
    "NotInterestingError",
    "NumberWatch",
    "Observer",
    "Occupancy",
    "Operation",
    "OperationDeclaration",
    "OperationResult",
    "OptionError",
    "ParseError",
    "Pass",
    "PassError",
    "PassReport",
    "PassRun",
    "PassSession",
    "Pattern",
    "Peaks",
    "PipelineError",
    "Place",
    "Plan",
    "Pointer",
    "PreparedKernel",
    "ProgramChange",
    "ProgramDifference",
    "Progress",
    "QuestionError",
    "RecordedArray",
    "Recording",
    "RecordingError",
    "Reduction",
    "Region",
    "Removed",
    "Resources",
    "Results",
    "ResultsError",
    "RewriteError",
    "Rewriter",
    "Roofline",
    "Row",
    "Sanitizer",
    "SanitizerError",
    "SanitizerReport",
    "Scope",
    "Seeds",
    "SemanticDifference",
    "SpecializedKernel",
    "Statistics",
    "Step",
    "StepFailure",
    "Stops",
    "SweepChange",
    "SweepComparison",
    "SweepEntry",
    "SweepError",
    "SweepProgress",
    "SweepReport",
    "SweepResult",
    "TileBlock",
    "TileIRError",
    "Schedule",
    "Timing",
    "Trial",
    "Tuning",
    "Trace",
    "TritonCrash",
    "TritonError",
    "TritonTimeout",
    "Type",
    "Value",
    "ValueHistory",
    "Verdict",
    "VerifyError",
    "VersionError",
    "Waves",
    "WordError",
    "Work",
    "WrongDeviceError",
    "apply_greedily",
    "attributes",
    "bounded",
    "compare",
    "compile",
    "cost",
    "declarations",
    "diff",
    "div_by",
    "emulate",
    "debug",
    "explore",
    "file_location",
    "from_bytecode",
    "judge_kernels",
    "launch",
    "lint",
    "load",
    "load_recording",
    "losses",
    "op",
    "optimize",
    "overlap",
    "parse",
    "pointer_to",
    "record",
    "reduce",
    "register_engine",
    "register_pass",
    "registered_passes",
    "release_memory",
    "report",
    "run_passes",
    "run_pipeline",
    "same_elements",
    "smith",
    "sweep",
    "to_bytecode",
    "types",
    "unregister_engine",
    "verify",
]

# Names are imported when they are first used: the command line passes through this file on its way to what it needs,
# and a small program is checked in the time a few imports take.
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
    "tileir.analyze.reducing.errors": "NotInterestingError",
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
    "tileir.judge.items": "Item",
    "tileir.judge.kernels.direct": "judge_kernels",
    "tileir.judge.plans": "Limits Plan",
    "tileir.judge.progress": "SweepProgress SweepResult",
    "tileir.judge.report.clusters": "FailureKind",
    "tileir.judge.report.comparison": "SweepChange SweepComparison",
    "tileir.judge.report.entries": "KernelSpeed StepFailure SweepEntry",
    "tileir.judge.report.reporting": "SweepReport report",
    "tileir.judge.results": "Results Row",
    "tileir.judge.sweeping": "sweep",
    "tileir.judge.verdicts": "Step Verdict",
    "tileir.passes.catalogue": "register_pass registered_passes",
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
    "tileir.analyze.comparing.differences": "Difference",
    "tileir.analyze.cost.costs": "cost",
    "tileir.analyze.difference.semantic": "DifferentArray KernelRuns SemanticDifference",
    "tileir.analyze.difference.tracking": "FirstValue",
    "tileir.bridge.compiling": "compile",
    "tileir.bridge.emulate": "EmulationContext emulate",
    "tileir.bridge.launch": "launch",
    "tileir.bridge.operators.op": "op",
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


# A type checker knows the names from above; told of this function, it would take every name to be one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in ("attributes", "declarations", "smith", "types"):
            return __import__(f"tileir.{name}", fromlist=[name])
        for homes in (_HOMES, _RUNNING_HOMES):
            for home, names in homes.items():
                if name in names.split():
                    return _imported(name, home, homes is _RUNNING_HOMES)
        raise AttributeError(f"module 'tileir' has no attribute '{name}'")


def _imported(name: str, home: str, runs_programs: bool) -> object:
    # Operations get their text from here, whichever name was asked for first.
    __import__("tileir.interface")
    if runs_programs:
        from tileir.execute.errors import MissingDependencyError, placeholder

        try:
            # The one that says what to install.
            __import__("tileir.execute.launching.kernel")
        except MissingDependencyError as missing:
            # Not kept: the package may be installed while this process goes on.
            return placeholder(name, missing)
    value: object = getattr(__import__(home, fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

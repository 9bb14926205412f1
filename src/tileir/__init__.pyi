# Written by `make docs` from the tables in `__init__.py`.
# ruff: noqa
# fmt: off
from tileir import attributes as attributes, declarations as declarations, smith as smith, types as types
from tileir.analyze.comparing.compare import compare as compare
from tileir.analyze.comparing.comparison import ArrayDifference as ArrayDifference, BlockComparison as BlockComparison, Comparison as Comparison, Moment as Moment
from tileir.analyze.cost.costs import cost as cost
from tileir.analyze.cost.occupancy import Occupancy as Occupancy, Waves as Waves
from tileir.analyze.cost.result import ArrayCost as ArrayCost, Ceiling as Ceiling, Cost as Cost, Roofline as Roofline
from tileir.analyze.difference.changes import ChangeDetail as ChangeDetail, ProgramChange as ProgramChange
from tileir.analyze.difference.difference import ProgramDifference as ProgramDifference, diff as diff
from tileir.analyze.difference.semantic import DifferentArray as DifferentArray, FirstValue as FirstValue, KernelRuns as KernelRuns, SemanticDifference as SemanticDifference
from tileir.analyze.forms.form import Form as Form, Removed as Removed
from tileir.analyze.forms.forms import FormTitle as FormTitle, Forms as Forms
from tileir.analyze.lint.fixes import LintFix as LintFix
from tileir.analyze.lint.linting import lint as lint
from tileir.analyze.lint.rule import LintFinding as LintFinding
from tileir.analyze.reducing.reduce import Progress as Progress, Reduction as Reduction, reduce as reduce
from tileir.analyze.reducing.search import NotInterestingError as NotInterestingError
from tileir.bridge.compiling import compile as compile
from tileir.bridge.emulate import EmulationContext as EmulationContext, emulate as emulate
from tileir.bridge.launch import launch as launch
from tileir.bridge.operators import op as op
from tileir.bridge.recording import record as record
from tileir.bridge.specialized import SpecializedKernel as SpecializedKernel
from tileir.builder import Builder as Builder
from tileir.bytecode.primitives import BytecodeError as BytecodeError
from tileir.dialect.attributes import bounded as bounded, div_by as div_by, same_elements as same_elements
from tileir.dialect.scopes import BodyScope as BodyScope, BranchScope as BranchScope, EntryScope as EntryScope, LoopScope as LoopScope, Scope as Scope
from tileir.execute.arguments.argument_text import LaunchArguments as LaunchArguments, LaunchWords as LaunchWords, WordError as WordError
from tileir.execute.arguments.binding import Pointer as Pointer, pointer_to as pointer_to
from tileir.execute.array_difference import Difference as Difference
from tileir.execute.bound import BoundLaunch as BoundLaunch
from tileir.execute.engine.interface import DirectLaunches as DirectLaunches, Engine as Engine, EngineForm as EngineForm, KernelSettings as KernelSettings, LaunchOptions as LaunchOptions, LocatedText as LocatedText, Measured as Measured, PreparedKernel as PreparedKernel
from tileir.execute.engine.registry import register_engine as register_engine, unregister_engine as unregister_engine
from tileir.execute.errors import AssemblerWarning as AssemblerWarning, AssertionFailedError as AssertionFailedError, ChoiceError as ChoiceError, CompilationError as CompilationError, EmulationError as EmulationError, ExecutionError as ExecutionError, HostCopyWarning as HostCopyWarning, InternalError as InternalError, LaunchError as LaunchError, MissingDependencyError as MissingDependencyError, NestingError as NestingError, RecordingError as RecordingError, WrongDeviceError as WrongDeviceError
from tileir.execute.gpu.cubin import Cubin as Cubin, CubinError as CubinError, Resources as Resources
from tileir.execute.gpu.driver.library import DriverError as DriverError, NoGpuError as NoGpuError
from tileir.execute.gpu.errors import AssemblerCrash as AssemblerCrash, AssemblerError as AssemblerError, AssemblerTimeout as AssemblerTimeout, TritonCrash as TritonCrash, TritonError as TritonError, TritonTimeout as TritonTimeout
from tileir.execute.gpu.peaks import Peaks as Peaks
from tileir.execute.gpu.triton.code import Schedule as Schedule, Trial as Trial, Tuning as Tuning
from tileir.execute.launching.kernel import Kernel as Kernel
from tileir.execute.launching.release import release_memory as release_memory
from tileir.execute.launching.timing import Timing as Timing
from tileir.execute.memory import Globals as Globals, Memory as Memory
from tileir.execute.observing.observer import Access as Access, Callback as Callback, Observer as Observer, TileBlock as TileBlock
from tileir.execute.observing.trace import Trace as Trace
from tileir.execute.overlap import overlap as overlap
from tileir.execute.recording.accesses import AccessTable as AccessTable
from tileir.execute.recording.arrays import RecordedArray as RecordedArray
from tileir.execute.recording.file_reader import load_recording as load_recording
from tileir.execute.recording.program import ValueHistory as ValueHistory
from tileir.execute.recording.recording import Recording as Recording
from tileir.execute.recording.script_variables import FunctionVariables as FunctionVariables
from tileir.execute.sanitizer.coverage import ArrayCoverage as ArrayCoverage, Coverage as Coverage
from tileir.execute.sanitizer.number_watch import NumberWatch as NumberWatch
from tileir.execute.sanitizer.report import Finding as Finding, Place as Place, SanitizerError as SanitizerError, SanitizerReport as SanitizerReport
from tileir.execute.sanitizer.sanitizer import Sanitizer as Sanitizer
from tileir.execute.work.operations import AccessTraffic as AccessTraffic, ArrayTraffic as ArrayTraffic, Stops as Stops, Work as Work
from tileir.interface import from_bytecode as from_bytecode, load as load, losses as losses, parse as parse, to_bytecode as to_bytecode, verify as verify
from tileir.ir.attributes import Attribute as Attribute
from tileir.ir.core import Block as Block, InsertionPoint as InsertionPoint, Operation as Operation, Region as Region
from tileir.ir.declaration import OperationDeclaration as OperationDeclaration
from tileir.ir.diagnostics import BuildError as BuildError, Diagnostic as Diagnostic, OptionError as OptionError, ParseError as ParseError, PassError as PassError, TileIRError as TileIRError, VerifyError as VerifyError, VersionError as VersionError
from tileir.ir.location import Location as Location, file_location as file_location
from tileir.ir.types import Type as Type
from tileir.ir.values import BlockArgument as BlockArgument, OperationResult as OperationResult, Value as Value
from tileir.judge.errors import ResultsError as ResultsError, SweepError as SweepError
from tileir.judge.executor.scheduler import SweepProgress as SweepProgress
from tileir.judge.executor.sweep import SweepResult as SweepResult, judge_kernels as judge_kernels, sweep as sweep
from tileir.judge.inputs import Seeds as Seeds
from tileir.judge.model import Item as Item, Limits as Limits, Plan as Plan, Step as Step, Verdict as Verdict
from tileir.judge.report.comparison import SweepChange as SweepChange, SweepComparison as SweepComparison
from tileir.judge.report.contents import FailureKind as FailureKind, KernelSpeed as KernelSpeed, StepFailure as StepFailure, SweepEntry as SweepEntry
from tileir.judge.report.reporting import SweepReport as SweepReport, report as report
from tileir.judge.results.results import Results as Results, Row as Row
from tileir.passes.catalog import register_pass as register_pass, registered_passes as registered_passes
from tileir.passes.pipeline import PassReport as PassReport, PassRun as PassRun, optimize as optimize, run_passes as run_passes, run_pipeline as run_pipeline
from tileir.passes.registry import Pass as Pass, PassSession as PassSession, PipelineError as PipelineError
from tileir.rewrite.driver import Fold as Fold, Pattern as Pattern, RewriteError as RewriteError, Statistics as Statistics, apply_greedily as apply_greedily
from tileir.rewrite.fact import Fact as Fact
from tileir.rewrite.facts import Facts as Facts
from tileir.rewrite.rewriter import Rewriter as Rewriter
from tileir.serve.debugger.scripts import debug as debug
from tileir.serve.explorer.exploring import Exploration as Exploration, explore as explore
from tileir.serve.explorer.export import ExportedPage as ExportedPage
from tileir.serve.explorer.questions import QuestionError as QuestionError

__version__: str
__all__: list[str]
_MODULES: tuple[str, ...]
_HOME_OF: dict[str, str]

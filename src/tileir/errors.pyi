# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.analyze.reducing.search import NotInterestingError as NotInterestingError
from tileir.bytecode.primitives import BytecodeError as BytecodeError
from tileir.cpp.errors import CppError as CppError
from tileir.execute.arguments.argument_text import LaunchDescriptionError as LaunchDescriptionError
from tileir.execute.errors import AssemblerWarning as AssemblerWarning, AssertionFailedError as AssertionFailedError, ChoiceError as ChoiceError, CompilationError as CompilationError, EmulationError as EmulationError, ExecutionError as ExecutionError, HostCopyWarning as HostCopyWarning, InternalError as InternalError, LaunchError as LaunchError, MissingDependencyError as MissingDependencyError, NestingError as NestingError, RecordingError as RecordingError, SearchTimeout as SearchTimeout, WrongDeviceError as WrongDeviceError
from tileir.execute.gpu.cubin import CubinError as CubinError
from tileir.execute.gpu.driver.library import DriverError as DriverError, NoGpuError as NoGpuError
from tileir.execute.gpu.errors import AssemblerCrash as AssemblerCrash, AssemblerError as AssemblerError, AssemblerTimeout as AssemblerTimeout, TritonCrash as TritonCrash, TritonError as TritonError, TritonTimeout as TritonTimeout
from tileir.execute.sanitizer.report import SanitizerError as SanitizerError
from tileir.ir.diagnostics import BuildError as BuildError, OptionError as OptionError, ParseError as ParseError, PassError as PassError, TileIRError as TileIRError, VerifyError as VerifyError, VersionError as VersionError
from tileir.judging.errors import ResultsError as ResultsError, SweepError as SweepError
from tileir.judging.tasks.settings import TaskError as TaskError
from tileir.passes.registry import PassOptionError as PassOptionError, PipelineError as PipelineError
from tileir.rewrite.driver import RewriteError as RewriteError
from tileir.serve.explorer.questions import QuestionError as QuestionError
from tileir.ttir.translation import TTIRError as TTIRError

__all__ = ["AssemblerCrash", "AssemblerError", "AssemblerTimeout", "AssemblerWarning", "AssertionFailedError", "BuildError", "BytecodeError", "ChoiceError", "CompilationError", "CppError", "CubinError", "DriverError", "EmulationError", "ExecutionError", "HostCopyWarning", "InternalError", "LaunchDescriptionError", "LaunchError", "MissingDependencyError", "NestingError", "NoGpuError", "NotInterestingError", "OptionError", "ParseError", "PassError", "PassOptionError", "PipelineError", "QuestionError", "RecordingError", "ResultsError", "RewriteError", "SanitizerError", "SearchTimeout", "SweepError", "TTIRError", "TaskError", "TileIRError", "TritonCrash", "TritonError", "TritonTimeout", "VerifyError", "VersionError", "WrongDeviceError"]

# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir import analysis as analysis, attributes as attributes, backends as backends, costs as costs, declarations as declarations, errors as errors, kernels as kernels, observers as observers, passes as passes, recording as recording, sanitizer as sanitizer, sweeps as sweeps, types as types
from tileir.analyze.cost.costs import cost as cost
from tileir.analyze.difference.difference import diff as diff
from tileir.analyze.lint.linting import lint as lint
from tileir.analyze.reducing.reduce import reduce as reduce
from tileir.analyze.smith.program import smith as smith
from tileir.bridge.compiling import compile as compile
from tileir.bridge.emulate import emulate as emulate
from tileir.bridge.launch import launch as launch
from tileir.bridge.operators import custom_op as custom_op
from tileir.bridge.recording import record as record
from tileir.builder import Builder as Builder
from tileir.errors import BuildError as BuildError, BytecodeError as BytecodeError, ExecutionError as ExecutionError, LaunchError as LaunchError, MissingDependencyError as MissingDependencyError, OptionError as OptionError, ParseError as ParseError, PassError as PassError, SanitizerError as SanitizerError, TileIRError as TileIRError, VerifyError as VerifyError
from tileir.execute.launching.kernel import Kernel as Kernel
from tileir.interface import from_bytecode as from_bytecode, load as load, losses as losses, parse as parse, to_bytecode as to_bytecode, verify as verify
from tileir.ir.core import Block as Block, Module as Module, Operation as Operation, Region as Region
from tileir.ir.diagnostics import Diagnostic as Diagnostic
from tileir.ir.values import BlockArgument as BlockArgument, OperationResult as OperationResult, Value as Value
from tileir.judging.executor.sweep import sweep as sweep
from tileir.judging.tasks.judge import judge as judge
from tileir.passes.pipeline import optimize as optimize, run_passes as run_passes
from tileir.proofs.prover import prove as prove
from tileir.serve.debugger.scripts import debug as debug
from tileir.serve.explorer.exploring import explore as explore
from tileir.ttir import from_ttir as from_ttir

__version__: str
__all__ = ["Block", "BlockArgument", "BuildError", "Builder", "BytecodeError", "Diagnostic", "ExecutionError", "Kernel", "LaunchError", "MissingDependencyError", "Module", "Operation", "OperationResult", "OptionError", "ParseError", "PassError", "Region", "SanitizerError", "TileIRError", "Value", "VerifyError", "compile", "cost", "custom_op", "debug", "diff", "emulate", "explore", "from_bytecode", "from_ttir", "judge", "launch", "lint", "load", "losses", "optimize", "parse", "prove", "record", "reduce", "run_passes", "smith", "sweep", "to_bytecode", "verify"]

"""tileir: the toolkit for CUDA Tile IR.

Read, write, check, optimize, explain and run tile programs anywhere.  See docs/ for a tour.
"""

from __future__ import annotations

# Before anything is imported in one thread while another forks.
from tileir import forking as _forking  # noqa: F401

# Type checkers know the name; `typing` itself is not worth importing for it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tileir import types
    from tileir.bridge.emulate import emulate
    from tileir.bridge.launch import launch
    from tileir.bytecode.primitives import BytecodeError
    from tileir.dialect.attributes import bounded, div_by, same_elements
    from tileir.dialect.builder import Builder
    from tileir.execute.arguments import pointer_to
    from tileir.execute.debugging import Callback, Trace
    from tileir.execute.errors import ExecutionError, LaunchError
    from tileir.execute.launch import Kernel, compile
    from tileir.execute.number_watch import NumberWatch
    from tileir.execute.observer import Observer
    from tileir.execute.overlap import overlap
    from tileir.execute.sanitizer import Coverage, Finding, Report, Sanitizer, SanitizerError
    from tileir.interface import from_bytecode, load, parse, to_bytecode, verify
    from tileir.ir.core import Block, Operation, Region, Value
    from tileir.ir.diagnostics import BuildError, Diagnostic, ParseError, TileIRError, VerifyError
    from tileir.passes.pipeline import optimize, run_passes

__version__ = "0.1.0"

__all__ = [
    "Block",
    "BuildError",
    "Builder",
    "BytecodeError",
    "Callback",
    "Coverage",
    "Diagnostic",
    "ExecutionError",
    "Finding",
    "Kernel",
    "LaunchError",
    "NumberWatch",
    "Observer",
    "Operation",
    "ParseError",
    "Region",
    "Report",
    "Sanitizer",
    "SanitizerError",
    "TileIRError",
    "Trace",
    "Value",
    "VerifyError",
    "bounded",
    "compile",
    "div_by",
    "emulate",
    "from_bytecode",
    "launch",
    "load",
    "optimize",
    "overlap",
    "parse",
    "pointer_to",
    "run_passes",
    "same_elements",
    "to_bytecode",
    "types",
    "verify",
]

# Names are imported when they are first used: the command line passes through this file on its way to what it needs,
# and a small program is checked in the time a few imports take.
_HOMES = {
    "Block": "tileir.ir.core",
    "BuildError": "tileir.ir.diagnostics",
    "Builder": "tileir.dialect.builder",
    "BytecodeError": "tileir.bytecode.primitives",
    "Callback": "tileir.execute.debugging",
    "Coverage": "tileir.execute.sanitizer",
    "Diagnostic": "tileir.ir.diagnostics",
    "ExecutionError": "tileir.execute.errors",
    "Finding": "tileir.execute.sanitizer",
    "Kernel": "tileir.execute.launch",
    "LaunchError": "tileir.execute.errors",
    "NumberWatch": "tileir.execute.number_watch",
    "Observer": "tileir.execute.observer",
    "Operation": "tileir.ir.core",
    "ParseError": "tileir.ir.diagnostics",
    "Region": "tileir.ir.core",
    "Report": "tileir.execute.sanitizer",
    "Sanitizer": "tileir.execute.sanitizer",
    "SanitizerError": "tileir.execute.sanitizer",
    "TileIRError": "tileir.ir.diagnostics",
    "Trace": "tileir.execute.debugging",
    "Value": "tileir.ir.core",
    "VerifyError": "tileir.ir.diagnostics",
    "bounded": "tileir.dialect.attributes",
    "compile": "tileir.execute.launch",
    "div_by": "tileir.dialect.attributes",
    "emulate": "tileir.bridge.emulate",
    "from_bytecode": "tileir.interface",
    "launch": "tileir.bridge.launch",
    "load": "tileir.interface",
    "optimize": "tileir.passes.pipeline",
    "overlap": "tileir.execute.overlap",
    "parse": "tileir.interface",
    "pointer_to": "tileir.execute.arguments",
    "run_passes": "tileir.passes.pipeline",
    "same_elements": "tileir.dialect.attributes",
    "to_bytecode": "tileir.interface",
    "verify": "tileir.interface",
}


def __getattr__(name: str) -> object:
    if name == "types":
        return __import__("tileir.types", fromlist=["types"])
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tileir' has no attribute '{name}'")
    # Operations get their text from here, whichever name was asked for first.
    __import__("tileir.interface")
    if home.startswith(("tileir.execute.", "tileir.bridge.")) and home != "tileir.execute.errors":
        # Says what to install where NumPy is missing.
        __import__("tileir.execute.launch")
    value: object = getattr(__import__(home, fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

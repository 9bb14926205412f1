"""tileir: the toolkit for CUDA Tile IR.

Read, write, check, optimize, explain and run tile programs anywhere.  See docs/ for a tour.
"""

from tileir.interface import load, parse, verify
from tileir.ir.builder import Builder
from tileir.ir.core import Block, Operation, Region, Value
from tileir.ir.diagnostics import Diagnostic, ParseError, TileIRError, VerifyError

__version__ = "0.1.0"

__all__ = [
    "Block",
    "Builder",
    "Diagnostic",
    "Operation",
    "ParseError",
    "Region",
    "TileIRError",
    "Value",
    "VerifyError",
    "load",
    "parse",
    "verify",
]

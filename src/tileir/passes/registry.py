"""What a pass is, what it is given, and the table of them.

A pass is a plain function in a file of its own; `passes/catalogue.py` names them all, with their scope and options.  It
is given an operation of its scope, the options as text and the session, and gives the number of changes it made (what
counts as one is its own business; 0 means that nothing changed).
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.rewrite.driver import Statistics

# What a pass is given.
ANY: Final = "any"  # whatever the pipeline runs on
FUNCTION: Final = "function"  # each function in it
MODULE: Final = "module"  # each cuda_tile.module in it

# The two families of rules (docs/conflicts.md H): what NVIDIA's public tools do, and that together with the folds
# draft.
PARITY: Final = "parity"
FULL: Final = "full"

Options = dict[str, str]


class Session:
    """What the passes of one run share: which rules apply, what is counted, where steps and warnings are told."""

    __slots__ = ("diagnostics", "drop_in", "rules", "statistics", "trace")

    def __init__(self, rules: str = PARITY, trace: Callable[[str], None] | None = None, drop_in: bool = False) -> None:
        self.rules: str = rules
        self.drop_in: bool = drop_in
        """Whether the program is to come out as NVIDIA's own tool would leave it, marks of ours left out."""
        self.statistics: Statistics = Statistics()
        self.diagnostics: list[Diagnostic] = []
        self.trace: Callable[[str], None] | None = trace


PassFunction = Callable[[Operation, Options, Session], int]


class Pass:
    """A registered pass; `options` are the names it knows with their defaults."""

    __slots__ = ("name", "options", "run", "scope", "summary")

    def __init__(self, name: str, summary: str, scope: str, run: PassFunction, options: Options | None = None) -> None:
        self.name: str = name
        self.summary: str = summary
        self.scope: str = scope
        self.run: PassFunction = run
        self.options: Options = options if options is not None else {}


class PipelineError(TileIRError):
    """A pass or pipeline that was asked for does not exist or makes no sense."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])
        self.message: str = message


# Filled by `passes/catalogue.py`, in this order.
REGISTERED: Final[dict[str, Pass]] = {}


def register(name: str, summary: str, run: PassFunction, *, scope: str = ANY, options: Options | None = None) -> Pass:
    """Add a pass; a name is used once."""
    if name in REGISTERED:
        raise ValueError(f"pass '{name}' is registered twice")
    found = REGISTERED[name] = Pass(name, summary, scope, run, options)
    return found


def integer_option(options: Options, name: str, default: int) -> int:
    """An option that is a number."""
    text = options.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise PipelineError(f"'{text}' value invalid for integer option '{name}'") from None


def bool_option(options: Options, name: str, default: bool = False) -> bool:
    """An option that is true or false; given without a value it is true."""
    text = options.get(name)
    if text is None:
        return default
    if text in ("", "true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise PipelineError(f"'{text}' is invalid value for boolean option '{name}'! Try 0 or 1")

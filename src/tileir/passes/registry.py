"""What a pass is, what it is given, and the table of them.

A pass is a plain function in a file of its own; `passes/catalogue.py` names them all, with their scope and options.  It
is given an operation of its scope, the options as text and the session, and gives the number of changes it made (what
counts as one is its own business; 0 means that nothing changed).
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, OptionError, PassError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_words
from tileir.rewrite.driver import Statistics

# What a pass is given.
ANY: Final = "any"  # whatever the pipeline runs on
FUNCTION: Final = "function"  # each function in it
MODULE: Final = "module"  # each cuda_tile.module in it
SCOPES: Final = (ANY, MODULE, FUNCTION)

# What separates the parts of a pipeline.
_NO_NAME: Final = ",(){} \t\n"

# The two families of rules (docs/conflicts.md H): what NVIDIA's public tools do, and that together with the folds
# draft.
PARITY: Final = "parity"
FULL: Final = "full"

Options = dict[str, str]


class PassSession:
    """What the passes of one run share: which rules apply, what is counted, where steps and warnings are told."""

    __slots__ = ("diagnostics", "drop_in", "keep_locations", "rules", "statistics", "trace")

    def __init__(
        self,
        rules: str = PARITY,
        trace: Callable[[str], None] | None = None,
        drop_in: bool = False,
        keep_locations: bool = False,
    ) -> None:
        self.rules: str = rules
        self.drop_in: bool = drop_in
        """Whether the program is to come out as NVIDIA's own tool would leave it, marks of ours left out."""
        self.keep_locations: bool = keep_locations
        """Whether an operation that takes the place of others has the locations of all, fused, to be followed."""
        self.statistics: Statistics = Statistics()
        self.diagnostics: list[Diagnostic] = []
        self.trace: Callable[[str], None] | None = trace


PassFunction = Callable[[Operation, Options, PassSession], int]


class PipelineError(PassError):
    """A pass or pipeline that was asked for does not exist or makes no sense."""

    def __init__(self, message: str) -> None:
        super().__init__(message, UNKNOWN)


class Pass:
    """A function with what `run_passes` needs to know about it.

    `run` is given an operation, the options as text and the session, and gives the number of changes it made.  `scope`
    says which operation: "any", what the pipeline runs on; "module", each cuda_tile.module in it; "function", each
    function.  `options` are the names it takes with their defaults.  See docs/writing_passes.md.
    """

    __slots__ = ("name", "options", "run", "scope", "summary")

    def __init__(
        self, name: str, summary: str, run: PassFunction, *, scope: str = ANY, options: Options | None = None
    ) -> None:
        if not callable(run):
            raise TypeError(f"a pass is a function of an operation, options and a session, not {type_words(run)}")
        if scope not in SCOPES:
            raise OptionError(f"'{scope}' is not a scope of a pass: use one of {', '.join(SCOPES)}")
        if not isinstance(name, str):
            raise TypeError(f"the name of a pass is a string, not {type_words(name)}")
        if not name or any(character in _NO_NAME for character in name):
            raise PipelineError(f"'{name}' cannot be the name of a pass: no pipeline could refer to it")
        if options is not None and not isinstance(options, dict):
            raise TypeError(f"the options of a pass are a dict of names and defaults, not {type_words(options)}")
        self.name: str = name
        self.summary: str = summary
        self.scope: str = scope
        self.run: PassFunction = run
        self.options: Options = options if options is not None else {}

    def __repr__(self) -> str:
        return f"<Pass {self.name}: {self.summary}>"


# Those of `passes/catalogue.py` first, in its order.
REGISTERED: Final[dict[str, Pass]] = {}


def add_pass(found: Pass) -> Pass:
    """Add a pass; a name is used once."""
    if found.name in REGISTERED:
        raise PipelineError(f"pass '{found.name}' is registered twice")
    REGISTERED[found.name] = found
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

"""Passes, the session they run in, and the text of a pipeline.

A pass is a plain function.  It takes an operation of its scope, its options as strings and the session of the run, and
returns the number of changes it made; each pass decides what counts as one change, and 0 means that nothing changed.
`passes/catalog.py` lists all passes with their scope and options.

Texts that name passes are those of MLIR's tools:

pipeline ::= anchor `(` element (`,` element)* `)`
element  ::= pipeline | name (`{` option (` ` option)* `}`)?
option   ::= name (`=` value)?
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, OptionError, PassError, help_note
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_text
from tileir.rewrite.driver import Statistics

# The scope of a pass: the operations it is called with.
ANY: Final = "any"  # the operation that the pipeline runs on
FUNCTION: Final = "function"  # each function in it
MODULE: Final = "module"  # each cuda_tile.module in it
SCOPES: Final = (ANY, MODULE, FUNCTION)

# Rule sets (docs/reference/conflicts.md H): those of NVIDIA's public tools, and those together with the folds draft's.
PARITY: Final = "parity"
FULL: Final = "full"

Options = dict[str, str]

_DELIMITERS: Final = ",(){}"
_NOT_IN_NAMES: Final = _DELIMITERS + " \t\n"
_MAX_DEPTH: Final = 100


class PassSession:
    """What the passes of one run share: the rule set, statistics, diagnostics, traces."""

    __slots__ = ("diagnostics", "drop_in", "keep_locations", "rules", "statistics", "trace", "trace_patterns")

    def __init__(
        self,
        rules: str = PARITY,
        trace: Callable[[str], None] | None = None,
        drop_in: bool = False,
        keep_locations: bool = False,
        trace_patterns: Callable[[str], None] | None = None,
    ) -> None:
        self.rules: str = rules
        self.drop_in: bool = drop_in
        """Whether the output must be that of NVIDIA's tool, without tileir's own marks."""
        self.keep_locations: bool = keep_locations
        """Whether an operation that replaces others gets the locations of all of them, fused."""
        self.statistics: Statistics = Statistics()
        self.diagnostics: list[Diagnostic] = []
        self.trace: Callable[[str], None] | None = trace
        """Called with each rewriting step, if set."""
        self.trace_patterns: Callable[[str], None] | None = trace_patterns
        """Called with each pattern that does not match and the reason, if set."""


PassFunction = Callable[[Operation, Options, PassSession], int]


class PipelineError(PassError):
    """A requested pass or pipeline does not exist or is malformed."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message, UNKNOWN, [help_note(help)] if help else None)


class PassOptionError(PipelineError):
    """An option of a pass has a value that it does not take."""


class Pass:
    """A function with what `run_passes` needs to know about it.

    `run` takes an operation, the options as strings and the session, and returns the number of changes it made.
    `scope` selects the operation: "any", what the pipeline runs on; "module", each cuda_tile.module in it; "function",
    each function.  `options` are the names it accepts with their defaults; `run` is called with the default of each
    option that the pipeline does not set.  See docs/guide/writing_passes.md.
    """

    __slots__ = ("name", "options", "run", "scope", "summary")

    def __init__(
        self, name: str, summary: str, run: PassFunction, *, scope: str = ANY, options: Options | None = None
    ) -> None:
        if not callable(run):
            raise TypeError(f"a pass is a function of an operation, options and a session, not {type_text(run)}")
        if scope not in SCOPES:
            raise OptionError(f"'{scope}' is not a scope of a pass: use one of {', '.join(SCOPES)}")
        if not isinstance(name, str):
            raise TypeError(f"the name of a pass is a string, not {type_text(name)}")
        if not name or any(character in _NOT_IN_NAMES for character in name):
            raise PipelineError(f"'{name}' cannot be the name of a pass: no pipeline could refer to it")
        if options is not None and not isinstance(options, dict):
            raise TypeError(f"the options of a pass are a dict of names and defaults, not {type_text(options)}")
        self.name: str = name
        self.summary: str = summary
        self.scope: str = scope
        self.run: PassFunction = run
        self.options: Options = options if options is not None else {}

    def __repr__(self) -> str:
        return f"<Pass {self.name}: {self.summary}>"


def integer_option(options: Options, name: str) -> int:
    """Return an option that is a number."""
    try:
        return int(options[name])
    except ValueError:
        raise PassOptionError(f"'{options[name]}' value invalid for integer option '{name}'") from None


def bool_option(options: Options, name: str) -> bool:
    """Return an option that is true or false; without a value it is true."""
    text = options[name]
    if text not in ("", "true", "1", "false", "0"):
        raise PassOptionError(f"'{text}' is invalid value for boolean option '{name}'! Try 0 or 1")
    return text not in ("false", "0")


class Step:
    """A pass to run, its options, and its anchors, as in `("builtin.module", "cuda_tile.module")`."""

    __slots__ = ("anchors", "given", "name", "options")

    def __init__(self, name: str, options: Options, anchors: tuple[str, ...] = (), given: Pass | None = None) -> None:
        self.name: str = name
        self.options: Options = options
        self.anchors: tuple[str, ...] = anchors
        self.given: Pass | None = given
        """The pass itself, if the caller passed the object."""


def parse_pass(text: str) -> Step:
    """Read one pass without anchors, as `loop-split{split-threshold=2}`."""
    reader = _Reader(text)
    name = reader.name()
    options = reader.options()
    reader.expect_end()
    if not name:
        raise PipelineError(f"expected the name of a pass in '{text}'")
    return Step(name, options)


def parse_passes(text: str) -> list[Step]:
    """Read passes separated by commas, without anchors."""
    reader = _Reader(text)
    steps: list[Step] = []
    reader.elements((), steps)
    reader.expect_end()
    return steps


def parse_pipeline(text: str) -> list[Step]:
    """Read a pipeline with its anchors."""
    reader = _Reader(text)
    anchor = reader.name()
    if not anchor or not reader.take("("):
        raise PipelineError(
            "expected pass pipeline to be wrapped with the anchor operation type, e.g. 'builtin.module(...)'"
        )
    steps: list[Step] = []
    reader.elements((anchor,), steps)
    if not reader.take(")"):
        raise PipelineError("encountered unbalanced parentheses while parsing pipeline")
    reader.expect_end()
    return steps


def parse_options(text: str) -> Options:
    """Read options as a pass takes them on the command line, as `symbol=a new-name=b`."""
    found: Options = {}
    for part in text.split():
        name, _, value = part.partition("=")
        if not name:
            raise PipelineError(f"expected an option in '{part}'")
        found[name] = value.strip("\"'")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text: str = text
        self.at: int = 0

    def name(self) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _DELIMITERS:
            self.at += 1
        return self.text[start : self.at].strip()

    def take(self, character: str) -> bool:
        self._skip()
        if self.text[self.at : self.at + 1] == character:
            self.at += 1
            return True
        return False

    def options(self) -> Options:
        """Read options in braces; a value may contain balanced braces."""
        if not self.take("{"):
            return {}
        start = self.at
        depth = 1
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    return parse_options(self.text[start : self.at - 1])
        raise PipelineError("missing closing '}' while processing pass options")

    def elements(self, anchors: tuple[str, ...], steps: list[Step]) -> None:
        if len(anchors) > _MAX_DEPTH:
            raise PipelineError(f"the pipeline nests deeper than {_MAX_DEPTH} operations")
        while True:
            name = self.name()
            if name and self.take("("):
                self.elements((*anchors, name), steps)
                if not self.take(")"):
                    raise PipelineError("encountered unbalanced parentheses while parsing pipeline")
            elif name:
                steps.append(Step(name, self.options(), anchors))
            elif self.text[self.at : self.at + 1] not in ("", ")") or self._after_comma():
                raise PipelineError(f"expected the name of a pass in '{self.text}'")
            if not self.take(","):
                return

    def _after_comma(self) -> bool:
        return self.text[: self.at].rstrip().endswith(",")

    def expect_end(self) -> None:
        self._skip()
        if self.at == len(self.text):
            return
        if self.text[self.at] == ")":
            raise PipelineError("encountered extra closing ')' creating unbalanced parentheses while parsing pipeline")
        raise PipelineError("expected ',' after parsing pipeline")

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

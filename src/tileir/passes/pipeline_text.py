"""The text of a pass pipeline, as MLIR's tools take it.

pipeline ::= anchor `(` element (`,` element)* `)`
element  ::= pipeline | name (`{` option (` ` option)* `}`)?
option   ::= name (`=` value)?
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.passes.registry import Options, Pass, PipelineError

_DELIMITERS: Final = ",(){}"
_DEEPEST: Final = 100


class Step:
    """A pass to run, its options, and the operations around: `("builtin.module", "cuda_tile.module")`."""

    __slots__ = ("anchors", "given", "name", "options")

    def __init__(self, name: str, options: Options, anchors: tuple[str, ...] = (), given: Pass | None = None) -> None:
        self.name: str = name
        self.options: Options = options
        self.anchors: tuple[str, ...] = anchors
        self.given: Pass | None = given
        """The pass itself, where it was not asked for by its name."""


def parse_pass(text: str) -> Step:
    """One pass without anchors, `loop-split{split-threshold=2}`."""
    reader = _Reader(text)
    name = reader.name()
    options = reader.options()
    reader.expect_end()
    if not name:
        raise PipelineError(f"expected the name of a pass in '{text}'")
    return Step(name, options)


def parse_passes(text: str) -> list[Step]:
    """Passes separated by commas, without anchors."""
    reader = _Reader(text)
    steps: list[Step] = []
    reader.elements((), steps)
    reader.expect_end()
    return steps


def parse_pipeline(text: str) -> list[Step]:
    """A pipeline with the operation it runs on around it."""
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
    """Options as a pass takes them on the command line, `symbol=a new-name=b`."""
    found: Options = {}
    for part in text.split():
        name, _, value = part.partition("=")
        if not name:
            raise PipelineError(f"expected an option in '{part}'")
        found[name] = value.strip("\"'")
    return found


class _Reader:
    __slots__ = ("at", "text")

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
        """What stands in braces; a value may hold braces of its own."""
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
        if len(anchors) > _DEEPEST:
            raise PipelineError(f"the pipeline nests deeper than {_DEEPEST} operations")
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

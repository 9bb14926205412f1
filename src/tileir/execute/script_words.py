"""Findings in the words of a script: its expressions for operations, its arrays for arguments, cuTile's terms.

What the checks write is about the tile program.  A cuTile author has not seen that one, so its words are exchanged
where a report is rendered: both engines and all checks then say the same.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from tileir.execute.places import author_frames, line_at
from tileir.execute.python_source import Expression, character_column
from tileir.execute.script import Script
from tileir.execute.script_names import DTYPES, in_script_names
from tileir.ir.core import Operation
from tileir.ir.diagnostics import source_of
from tileir.ir.location import FileLocation

_SYMBOLS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


def _tuple(numbers: str) -> str:
    """A shape as Python writes it."""
    return f"({numbers},)" if numbers and "," not in numbers else f"({numbers})"


MASK_HINT: Final = "mask the elements outside, or correct the offsets"
"""What to do about pointers outside of their array."""
UNCHECKED_HINT: Final = "remove check_bounds=False: elements outside are then left out"
# In the place of the array's name.
_ARRAY: Final = "\0"
# What is said of tile programs, and what cuTile calls it.
_TERMS: Final = tuple(
    [
        (re.compile(pattern), words)
        for pattern, words in (
            (r"an index outside of the view's index space", f"an index outside of the tile space of {_ARRAY}"),
            (
                r"^dimension (\d+): index (.*) is none of the view's (\d+) tiles? there, counted from 0$",
                rf"index \2 along axis \1: {_ARRAY} has \3 of these tiles there, counted from 0",
            ),
            (
                r"^the index space is \[(.*)\], the tensor \[(.*)\]$",
                lambda found: f"the tile space is {_tuple(found[1])}, the shape of {_ARRAY} {_tuple(found[2])}",
            ),
            (
                r"the tensor view of shape \[(.*?)\] ends before it",
                lambda found: f"{_ARRAY} of shape {_tuple(found[1])} ends before it",
            ),
            (r"each tile block writes one of the view's (\d+) tiles", r"each tile block writes one of \1 tiles"),
            (r"\(atomic_rmw_tko; in cuTile (ct\.\w+)\)", r"(\1)"),
            (
                r"promises inbounds in dimension (\d+), and the tile reaches outside of the tensor",
                rf"has check_bounds=False, and its tile reaches outside of {_ARRAY} along axis \1",
            ),
            (
                r"^(\d+ of the tile's \d+ positions? along) dimension (\d+ are inside:) the tensor has (\d+) there$",
                rf"\1 axis \2 {_ARRAY} has \3 there",
            ),
            (r"\binbounds\b", "check_bounds=False"),
            (r"as with `select`", "as with ct.where"),
            (r" \(weak\)", ""),
            (r"scope tl_blk covers only one tile block: use device", "BLOCK covers only one tile block: use DEVICE"),
            (r"^no token orders (.*) after (.*)$", r"nothing orders \1 after \2"),
            (
                r"^program order does not order memory operations, only tokens do$",
                "cuTile orders accesses to one array, and assumes that different arrays share no memory",
            ),
            (r"^pass the token of .* on, as in .*$", "pass arrays that share no memory, or the same array for both"),
            (r"\bin (i\d+)\b", lambda found: f"in {DTYPES.get(found[1], found[1])}"),
        )
    ]
)


class ScriptWords:
    """The words of one report."""

    def __init__(self) -> None:
        self._script: Script = Script()

    def expression(self, operation: Operation) -> Expression | None:
        """What an operation is in a script; None for a program that was written as text."""
        return self._script.expression(operation) if source_of(operation.location) is None else None

    def said(self, text: str, operation: Operation, other: Operation | None = None, *, whole: bool = False) -> str:
        """A text about one or two operations in the words of the script; `whole` names variable and expression."""
        expression = self.expression(operation)
        if expression is None:
            return text
        mnemonic = operation.declaration.mnemonic
        computed = re.match(rf"{mnemonic} of (\S+), (\S+) gives (\S+)$", text)
        operator = getattr(expression.node, "op", None)
        symbol = _SYMBOLS.get(type(operator)) if isinstance(operator, ast.AST) else None
        if computed is not None and symbol is not None:
            return f"{computed[1]} {symbol} {computed[2]} gives {computed[3]}"
        called = _assigned(expression) if whole else _called(expression)
        text = _exchanged(text, mnemonic, called)
        there = self.expression(other) if other is not None else None
        if other is not None and there is not None:
            text = _exchanged(text, other.declaration.mnemonic, _called(there))
        if text == MASK_HINT and _is_unchecked(expression):
            text = UNCHECKED_HINT
        for pattern, words in _TERMS:
            text = pattern.sub(words, text)
        return in_script_names(text.replace(_ARRAY, _array(expression)))

    def is_unchecked(self, operation: Operation) -> bool:
        """Whether an operation is a call that turns off the checks of its indices."""
        expression = self.expression(operation)
        return expression is not None and _is_unchecked(expression)

    def subject(self, operation: Operation) -> str:
        """What a sentence about an operation begins with."""
        expression = self.expression(operation)
        return _called(expression) if expression is not None else operation.declaration.mnemonic

    def shown(self, operation: Operation, margin: str) -> list[str]:
        """The line of the script that an operation comes from, its expression underlined, and who called it."""
        expression = self.expression(operation)
        assert expression is not None
        frames = author_frames(operation.location)
        text = line_at(frames[0])
        start = len(text) - len(text.lstrip())
        column = character_column(text, expression.column)
        end = character_column(text, expression.end) if expression.end else len(text)
        lines = [f"{expression.line:5} | {text.strip()}"]
        lines.append(f"{margin}| {' ' * max(column - start, 0)}{'^' * max(end - column, 1)}")
        return [*lines, *[f"  called from {position_words(frame)}: {line_at(frame).strip()}" for frame in frames[1:]]]


def position_words(frame: FileLocation) -> str:
    return f"{frame.file}:{frame.line}"


def _array(expression: Expression) -> str:
    """What the line itself calls the array it accesses."""
    node = expression.node
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
        return node.args[0].id
    return "the array"


def _is_unchecked(expression: Expression) -> bool:
    node = expression.node
    return isinstance(node, ast.Call) and any(keyword.arg == "check_bounds" for keyword in node.keywords)


def _called(expression: Expression) -> str:
    called = expression.called
    return called if called.replace(".", "").isidentifier() else f"`{called}`"


def _assigned(expression: Expression) -> str:
    is_whole = not expression.name or isinstance(expression.node, ast.AugAssign)
    return f"`{expression.text}`" if is_whole else f"`{expression.name} = {expression.text}`"


def _exchanged(text: str, mnemonic: str, called: str) -> str:
    """The mnemonic of an operation is also an English word, as `for`: it is one where a text begins with it."""
    if "_" in mnemonic:
        return re.sub(rf"\b{mnemonic}\b", lambda _: called, text)
    return re.sub(rf"^{mnemonic}\b", lambda _: called, text)

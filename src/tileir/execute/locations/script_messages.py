"""Findings in the words of a script: its expressions for operations, its arrays for arguments, cuTile's terms.

What the checks write is about the tile program, which a cuTile author has not seen.  Where that matters they write a
`Phrase`, which says the same in cuTile's terms; its marks are filled in where a report is rendered.
"""

from __future__ import annotations

import ast
from typing import Final

from tileir.execute.locations.python_source import Expression, character_column
from tileir.execute.locations.script import Script
from tileir.execute.locations.source_locations import author_frames, source_line
from tileir.execute.locations.wording import ARRAY, OTHER, SYMBOL, THIS, Phrase, in_script_names
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


UNCHECKED_HINT: Final = "remove check_bounds=False: elements outside are then left out"
"""What to do about an access outside of its array where the checks are off."""


class ScriptMessages:
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
        if isinstance(text, Phrase):
            operator = getattr(expression.node, "op", None)
            symbol = _SYMBOLS.get(type(operator)) if isinstance(operator, ast.AST) else None
            if text.infix and symbol is not None:
                return text.infix.replace(SYMBOL, symbol)
            text = text.unchecked if text.unchecked and _is_unchecked(expression) else text.script
            text = text.replace(THIS, _assigned(expression) if whole else _called(expression))
            text = text.replace(OTHER, self.subject(other) if other is not None else "")
            text = text.replace(ARRAY, _array(expression))
        return in_script_names(text)

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
        text = source_line(frames[0])
        start = len(text) - len(text.lstrip())
        column = character_column(text, expression.column)
        end = character_column(text, expression.end) if expression.end else len(text)
        lines = [f"{expression.line:5} | {text.strip()}"]
        lines.append(f"{margin}| {' ' * max(column - start, 0)}{'^' * max(end - column, 1)}")
        return [
            *lines,
            *[f"  called from {position_text(frame)}: {source_line(frame).strip()}" for frame in frames[1:]],
        ]


def position_text(frame: FileLocation) -> str:
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

"""Expressions over tiles in NumPy's terms: `acc.max()`, `a[0] * 2`, `numpy.isnan(x).sum()`, `%12 @ b`.

They may come from anywhere, as a condition in the settings of a project, so this is no Python: see `evaluation`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.recording.tiles import numbers_of
from tileir.ir.types import TF32, FloatType, Type
from tileir.serve.debugger.evaluation import Evaluation, ExpressionMistake, Lookup, Opaque

_LONGEST: Final = 10_000
"""Characters of an expression."""
_MOST_NODES: Final = 1000

# A name of a tile program, and what must stand before it: nothing, or an operator.  Behind an operand `%` divides.
_PERCENT: Final = re.compile(r"%[\w$.#-]*")
_OPERAND: Final = re.compile(r"""[\w)\]'"}]$""")
_WORD_BEFORE: Final = re.compile(r"(?:^|\W)(?:and|or|not|if|else|in)$")
# A value that was printed before.
_HISTORY: Final = re.compile(r"\$\$?\d*(?![\w$])")
_STRING: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")


_UNCHANGED: Final = "nothing can be changed: a launch that is debugged is what it was, so that time can run both ways"


class Expression:
    """An expression that was read; `names` are those it asks for."""

    def __init__(self, text: str, is_known: Callable[[str], bool] | None = None) -> None:
        """`is_known` tells which names of a tile program there are, for those with dots and dashes in them."""
        self.text: str = text
        self._percent: dict[str, str] = {}
        self._body: ast.expr = self._parse(text, is_known)
        self.names: frozenset[str] = frozenset(
            [self._percent.get(node.id, node.id) for node in ast.walk(self._body) if isinstance(node, ast.Name)]
        )

    def _parse(self, text: str, is_known: Callable[[str], bool] | None) -> ast.expr:
        if len(text) > _LONGEST:
            raise ExpressionMistake(f"the expression has {len(text)} characters: {_LONGEST} is the most")
        if not text.strip():
            raise ExpressionMistake("the expression is empty")
        python = self._python(text.strip(), is_known)
        try:
            body = ast.parse(python, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ExpressionMistake(self._refusal(python, error)) from None
        for count, node in enumerate(ast.walk(body)):
            if count > _MOST_NODES:
                raise ExpressionMistake(f"the expression has more than {_MOST_NODES} parts")
            if isinstance(node, ast.NamedExpr):
                raise ExpressionMistake(_UNCHANGED)
        return body

    def _refusal(self, python: str, error: Exception) -> str:
        try:
            tree = ast.parse(python)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            words = error.msg if isinstance(error, SyntaxError) and error.msg else "it is nested too deeply"
            return f"'{self.text}' cannot be read: {words}"
        if any(isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)) for one in tree.body):
            return _UNCHANGED
        return f"'{self.text}' is no expression: statements cannot be run here"

    def _python(self, text: str, is_known: Callable[[str], bool] | None) -> str:
        """The text with a name of Python's for each `%name`, and for each `$1`."""
        parts: list[str] = []
        at = 0
        while at < len(text):
            string = _STRING.match(text, at)
            if string is not None:
                parts.append(string[0])
                at = string.end()
                continue
            past = _HISTORY.match(text, at)
            if past is not None:
                stand_in = f"_percent_{len(self._percent)}"
                self._percent[stand_in] = past[0]
                parts.append(stand_in)
                at = past.end()
                continue
            if text[at] == "%":
                before = text[max(at - 100, 0) : at].rstrip()
                found = _PERCENT.match(text, at)
                if found is not None and (not _OPERAND.search(before) or _WORD_BEFORE.search(before)):
                    name = found[0]
                    while is_known is not None and len(name) > 1 and not is_known(name):
                        name = name[:-1]
                    if len(name) == 1:
                        word = re.match(r"%[\w$]*", found[0])
                        name = word[0] if word is not None else found[0]
                    stand_in = f"_percent_{len(self._percent)}"
                    self._percent[stand_in] = name
                    parts.append(stand_in)
                    at += len(name)
                    continue
            parts.append(text[at])
            at += 1
        return "".join(parts)

    def evaluate(self, lookup: Lookup) -> Any:
        """Compute the expression."""
        return Evaluation(lookup, self._percent).result(self._body)

    def is_true(self, lookup: Lookup) -> bool:
        """Compute a condition; an array must have one element."""
        value = self.evaluate(lookup)
        if isinstance(value, Opaque):
            raise ExpressionMistake(f"'{self.text}' is {value.words}, and neither true nor false")
        if isinstance(value, numpy.ndarray) and value.size != 1:
            raise ExpressionMistake(
                f"'{self.text}' has {value.size} truth values: write ({self.text}).any() or ({self.text}).all()"
            )
        return bool(value)


def plain(array: Array) -> Array:
    """An array in a type that NumPy computes with: small floats as f32, integers of four bits as eight."""
    if array.dtype.name in _NATIVE:
        return array
    return array.astype(numpy.int8 if "int" in array.dtype.name else numpy.float32)


def numbers(element: Type, content: Any) -> Any:
    """The numbers of a tile or an array to compute with; addresses of pointers."""
    array = numpy.asarray(content)
    if isinstance(element, FloatType) and (element is TF32 or array.dtype == numpy.uint8):
        array = numbers_of(element, array)
    array = plain(array)
    return array if array.ndim else array[()]


_NATIVE: Final = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
)

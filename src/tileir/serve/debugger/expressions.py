"""Expressions over tiles in NumPy's terms: `acc.max()`, `a[0] * 2`, `numpy.isnan(x).sum()`, `%12 @ b`.

`Expression` parses a text with `ast`, checks its nodes and names against the tables below, and lets Python compute it.
It runs in the user's process with the user's rights.  Arrays are read-only views, so nothing in a launch changes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import Array
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.tiles import numbers_of
from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import close_names
from tileir.ir.types import TF32, FloatType, Type
from tileir.serve.debugger.values import value_text

# What expressions may use of NumPy, by name: its elementwise functions, and these.
_FUNCTIONS_TEXT: Final = """
    all allclose amax amin any arange argmax argmin argsort argwhere array array_equal asarray average clip concatenate
    count_nonzero cumprod cumsum diagonal diff dot expand_dims flatnonzero flip isclose max mean median min moveaxis
    nan_to_num nanargmax nanargmin nanmax nanmean nanmin nanstd nansum nanvar nonzero outer percentile prod ptp quantile
    ravel reshape roll round shape size sort squeeze stack std sum swapaxes trace transpose unique var vdot where
"""
_METHODS_TEXT: Final = """
    all any argmax argmin argsort astype clip conj copy cumprod cumsum diagonal dot flatten item max mean min
    nonzero prod ravel reshape round squeeze std sum swapaxes trace transpose var view
"""
_TYPES_TEXT = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
_OPTIONS_TEXT: Final = "axis axis1 axis2 ddof decimals dtype equal_nan keepdims k offset order q rtol atol"
_ELEMENTWISE: Final = [name for name, one in vars(numpy).items() if isinstance(one, numpy.ufunc) and name != "isnat"]
_FUNCTIONS: Final = frozenset([*_ELEMENTWISE, *_FUNCTIONS_TEXT.split()])
_METHODS: Final = frozenset(_METHODS_TEXT.split())
_ATTRIBUTES: Final = frozenset(["T", "dtype", "imag", "itemsize", "nbytes", "ndim", "real", "shape", "size", "strides"])
_TYPES: Final = frozenset(_TYPES_TEXT.split())
_OPTIONS: Final = frozenset(_OPTIONS_TEXT.split())
_CONSTANTS: Final = frozenset(["inf", "nan", "pi", "e", "newaxis"])
_STRINGS: Final = frozenset([*_TYPES, "bool", "C", "F"])
_NUMPY: Final = ("numpy", "np")
_BUILTINS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "all": numpy.all,
    "any": numpy.any,
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "max": lambda *values: numpy.max(values[0]) if len(values) == 1 else max(values),
    "min": lambda *values: numpy.min(values[0]) if len(values) == 1 else min(values),
    "round": numpy.round,
    "sum": numpy.sum,
}
COMMON_NAMES: Final = frozenset([*_NUMPY, *_BUILTINS, "inf", "nan", "tile_block", "grid"])
"""Names that every expression may use, whatever the program calls its values."""

_NODES: Final = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Compare, ast.Tuple, ast.List, ast.Slice, ast.Subscript),
    *(ast.Attribute, ast.Call, ast.Name, ast.Constant, ast.keyword, ast.expr_context),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_FUNCTION: Final = "_function_"
UNCHANGED: Final = "nothing can be changed: a launch that is debugged is what it was, so that time can run both ways"

# Strings, values printed before ($1), and names of a tile program (%12).
_SPECIAL: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\$\$?\d*(?![\w$])|%[\w$.#-]+""")
# After an operand `%` divides.
_OPERAND: Final = re.compile(r"""(?:[)\]'"}]|(?<!\w)(?!(?:and|or|not|if|else|in)$)\w+)$""")

_GLOBALS: Final = {"__builtins__": {"__import__": __import__}}  # NumPy imports parts of itself when first used.


class BadExpression(TileIRError):
    """An expression cannot be computed; the message explains why."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


@dataclass
class Opaque:
    """A value that has no numbers, as a view or a token; `text` describes it."""

    type: str
    text: str

    def __str__(self) -> str:
        return self.text


Lookup = Callable[[str], Any]  # The value of a name: an array, a number, or something `Opaque`; None if there is none.


class Expression:
    """A parsed expression; `names` are those that it uses."""

    def __init__(self, text: str, is_known: Callable[[str], bool] | None = None) -> None:
        """`is_known` decides which names a tile program has, as these may have dots and dashes in them."""
        self.text: str = text
        self._is_known: Callable[[str], bool] = is_known if is_known is not None else lambda name: True
        self._placeholders: dict[str, str] = {}  # Identifiers that stand for names like `%12` and `$1`.
        if not text.strip():
            raise BadExpression("the expression is empty")
        python = self._with_identifiers(text.strip())
        try:
            tree = ast.parse(python, mode="eval")
            self.names: frozenset[str] = frozenset(
                [self._placeholders.get(node.id, node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)]
            )
            self._check(tree.body)
            self._code = compile(tree, "<expression>", "eval")
        except SyntaxError as error:
            raise BadExpression(_syntax_message(text, python, error)) from None
        except (ValueError, RecursionError, MemoryError):
            raise BadExpression(f"'{text[:100]}' cannot be read: it is nested too deeply") from None
        self._is_name: bool = isinstance(tree.body, ast.Name)

    def _with_identifiers(self, text: str) -> str:
        def replaced(found: re.Match[str]) -> str:
            name = found[0]
            if name[0] in "\"'":
                return name
            if name[0] == "%":
                if _OPERAND.search(text[: found.start()].rstrip()):
                    # A remainder; what follows may have names of its own.
                    return "%" + _SPECIAL.sub(replaced, name[1:])
                parts = [name[:end] for end in range(len(name), 1, -1)]
                word = re.match(r"%[\w$]*", name)
                name = next(filter(self._is_known, parts), word[0] if word is not None else name)
            placeholder = f"_percent_{len(self._placeholders)}"
            self._placeholders[placeholder] = name
            return placeholder + found[0][len(name) :]

        return _SPECIAL.sub(replaced, text)

    def _check(self, tree: ast.expr) -> None:
        """Refuse what is not in the tables, and mark the names of functions and of NumPy."""
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.NamedExpr):
                raise BadExpression(UNCHANGED)
            if not isinstance(node, _NODES) or isinstance(node, (ast.In, ast.NotIn, ast.Is, ast.IsNot)):
                described = f"'{ast.unparse(node)}'" if isinstance(node, ast.expr) else "this"
                raise BadExpression(f"{described} cannot be used here: this is no Python, but NumPy's terms")
            if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and node.value not in _STRINGS:
                raise BadExpression("a text cannot be computed with")
            if isinstance(node, ast.keyword) and node.arg not in _OPTIONS:
                raise BadExpression(f"the option {node.arg or '**'} cannot be used here")
            if isinstance(node, ast.Attribute):
                self._check_attribute(node, id(node) in called)
            elif isinstance(node, ast.Call) and not isinstance(node.func, ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else "this"
                if not isinstance(node.func, ast.Name) or name not in _BUILTINS:
                    raise BadExpression(f"{name} cannot be called here{_suggestion(name, _BUILTINS)}")
                node.func.id = _FUNCTION + name

    def _check_attribute(self, node: ast.Attribute, is_called: bool) -> None:
        is_numpy = False
        if isinstance(node.value, ast.Name) and node.value.id in _NUMPY:
            is_numpy = True
            node.value.id = _FUNCTION + "numpy"
        functions, plain = (_FUNCTIONS, _TYPES | _CONSTANTS) if is_numpy else (_METHODS, _ATTRIBUTES)
        name = f"{'numpy' if is_numpy else ''}.{node.attr}"
        if node.attr not in functions | plain or (is_called and node.attr in _ATTRIBUTES - _FUNCTIONS):
            raise BadExpression(f"{name} is not among what can be used here{_suggestion(node.attr, functions)}")
        if node.attr not in plain and not is_called:
            raise BadExpression(f"{name} is a function: call it")

    def evaluate(self, lookup: Lookup) -> Any:
        try:
            with numpy.errstate(all="ignore"):
                value = eval(self._code, _GLOBALS, _Names(partial(self._value, lookup)))
        except BadExpression:
            raise
        except Exception as error:
            raise BadExpression(str(error) or type(error).__name__) from None
        return Opaque("type", numpy.dtype(value).name) if isinstance(value, (type, numpy.dtype)) else value

    def _value(self, lookup: Lookup, identifier: str) -> Any:
        if identifier.startswith(_FUNCTION):
            return numpy if identifier == _FUNCTION + "numpy" else _BUILTINS[identifier.removeprefix(_FUNCTION)]
        name = self._placeholders.get(identifier, identifier)
        value = lookup(name)
        if isinstance(value, Opaque) and not self._is_name:
            raise BadExpression(f"{name} has no numbers: {value.text}")
        if isinstance(value, numpy.ndarray):
            value = value.view()
            value.flags.writeable = False
        if value is not None:
            return value
        if name in ("inf", "nan"):
            return getattr(numpy, name)
        is_common = name in COMMON_NAMES
        raise BadExpression(f"{name} is no value by itself" if is_common else f"there is no value {name} here")

    def is_true(self, lookup: Lookup) -> bool:
        """Compute a condition; an array must have one element."""
        value = self.evaluate(lookup)
        if isinstance(value, Opaque):
            raise BadExpression(f"'{self.text}' is {value.text}, and neither true nor false")
        if isinstance(value, numpy.ndarray) and value.size != 1:
            raise BadExpression(
                f"'{self.text}' has {value.size} truth values: write ({self.text}).any() or ({self.text}).all()"
            )
        return bool(value)


class _Names(dict[str, Any]):
    """The names of one evaluation, looked up when Python needs them."""

    def __init__(self, value: Callable[[str], Any]) -> None:
        self._value = value

    def __missing__(self, name: str) -> Any:
        return self._value(name)


def _syntax_message(text: str, python: str, error: SyntaxError) -> str:
    try:
        statements = ast.parse(python).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"'{text}' cannot be read: {error.msg}"
    if isinstance(statements[0], (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
        return UNCHANGED
    return "statements cannot be run here: give an expression"


def _suggestion(name: str, known: Iterable[str]) -> str:
    found = close_names(name, known)
    return f": did you mean {found[0]}?" if found else ""


def plain(array: Array) -> Array:
    """An array in a type that NumPy computes with: small floats as f32, integers of four bits as eight."""
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(numpy.int8 if "int" in array.dtype.name else numpy.float32)


def numbers(element: Type, content: Any) -> Any:
    """The numbers of a tile or an array to compute with; addresses of pointers."""
    array = numpy.asarray(content)
    if isinstance(element, FloatType) and (element is TF32 or array.dtype == numpy.uint8):
        array = numbers_of(element, array)
    array = plain(array)
    return array if array.ndim else array[()]


def computable(type: Type, content: Any, arrays: Iterable[RecordedArray]) -> Any:
    if isinstance(type, TileType) and not isinstance(type.element, PointerType):
        return numbers(type.element, content)
    return Opaque(type.spelling, value_text(type, content, list(arrays)))

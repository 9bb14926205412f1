"""Computing what expressions ask for.

The syntax tree is walked, and what is not named here or in `functions` is refused.  Values are numbers, arrays, and
what indexes them.  Sizes are known before anything is computed, and an expression may compute only so much.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from difflib import get_close_matches
from math import log2, prod
from typing import Any, Final

import numpy

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import type_text
from tileir.serve.debugger.functions import ATTRIBUTES, BUILTINS, CONSTANTS, FUNCTIONS, METHODS, OPTIONS, TEXTS, TYPES

_MOST_ELEMENTS: Final = 1 << 24
"""Of one result."""
_MOST_WORK: Final = 1 << 28
"""Elements that one expression computes; a product of two numbers in a matrix product counts as a sixteenth."""
_MOST_DIGITS: Final = 400
"""That something is rounded to."""
_MOST_BITS: Final = 4096
"""Of a number of Python's."""

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_NUMPY: Final = ("numpy", "np")
COMMON_NAMES: Final = frozenset([*_NUMPY, *BUILTINS, "inf", "nan", "tile_block", "grid"])
"""Names that every expression may use, whatever the program calls its values."""


class ExpressionMistake(TileIRError):
    """An expression that cannot be computed; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


class Opaque:
    """A value that has no numbers, as a view or a token: `words` say what it is."""

    __slots__ = ("type", "words")

    def __init__(self, type: str, words: str) -> None:
        self.type: str = type
        self.words: str = words

    def __str__(self) -> str:
        return self.words


Lookup = Callable[[str], Any]
"""The value of a name: an array, a number, or something `Opaque`; None if there is none."""


class Evaluation:
    """One computation of an expression."""

    def __init__(self, lookup: Lookup, percent: dict[str, str]) -> None:
        self._lookup: Lookup = lookup
        self._percent: dict[str, str] = percent
        self._work: float = 0

    def result(self, node: ast.expr) -> Any:
        try:
            with numpy.errstate(all="ignore"):
                value = self._value(node)
        except ExpressionMistake:
            raise
        except (ArithmeticError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ExpressionMistake(str(error) or type(error).__name__) from None
        except MemoryError:
            raise ExpressionMistake("there is not enough memory to compute this") from None
        if isinstance(value, (type, numpy.dtype)):
            return Opaque("type", numpy.dtype(value).name)
        return value

    # --- what it costs ---

    def _spend(self, elements: float, size: int) -> None:
        if size > _MOST_ELEMENTS:
            raise ExpressionMistake(f"a result would have {size} elements: {_MOST_ELEMENTS} is the most")
        self._work += elements
        if self._work > _MOST_WORK:
            raise ExpressionMistake("this takes too long to compute")

    def _spend_together(self, *values: Any) -> None:
        """For what is computed element by element."""
        if not any(isinstance(value, numpy.ndarray) for value in values):
            self._spend(1, 1)
            return
        try:
            size = prod(numpy.broadcast_shapes(*[numpy.shape(value) for value in values]))
        except ValueError:
            shapes = " and ".join([str(list(numpy.shape(value))) for value in values])
            raise ExpressionMistake(f"shapes {shapes} do not fit together") from None
        self._spend(size, size)

    def _checked(self, value: Any) -> Any:
        """A value that was computed, if it is one of ours."""
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            if value.dtype.kind in "OSUVmM":
                raise ExpressionMistake("the result is no number")
            # A part of an array takes nothing.
            self._spend(0, value.size if getattr(value, "base", None) is None else 0)
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise ExpressionMistake("the number is too large")
        elif isinstance(value, (tuple, list)):
            for one in value:
                self._checked(one)
        elif not isinstance(value, (int, float, complex, bool, numpy.dtype, type(None))):
            raise ExpressionMistake(f"{type_text(value)} cannot be computed with")
        return value

    # --- walking ---

    def _value(self, node: ast.expr) -> Any:
        walk = _WALKED.get(type(node))
        if walk is None:
            raise ExpressionMistake(f"{_described(node)} cannot be used here: this is no Python, but NumPy's terms")
        return walk(self, node)

    def _number(self, node: ast.expr) -> Any:
        value = self._value(node)
        if isinstance(value, Opaque):
            raise ExpressionMistake(
                f"{ast.unparse(node) if not self._percent else 'this'} has no numbers: {value.words}"
            )
        if isinstance(value, (str, list, tuple, type, slice, numpy.dtype)) or value is None:
            raise ExpressionMistake(f"{ast.unparse(node)} is no number")
        return value

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if value is Ellipsis or (isinstance(value, str) and value in TEXTS):
            return value
        if isinstance(value, (bytes, str)):
            raise ExpressionMistake("a text cannot be computed with")
        return self._checked(value)

    def _name(self, node: ast.Name) -> Any:
        name = self._percent.get(node.id, node.id)
        value = self._lookup(name)
        if value is None and name in ("inf", "nan"):
            value = CONSTANTS[name]
        if value is None:
            if name in _NUMPY or name in BUILTINS:
                raise ExpressionMistake(f"{name} is no value by itself")
            raise ExpressionMistake(f"there is no value {name} here")
        if isinstance(value, numpy.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self._number(node.left), self._number(node.right)
        if isinstance(node.op, ast.MatMult):
            self._spend_product(left, right)
        else:
            self._spend_together(left, right)
        if isinstance(left, int) and isinstance(right, int):
            self._check_growth(node.op, left, right)
        else:
            _check_sizes((left, right))
        return self._checked(_BINARY[type(node.op)](left, right))

    def _check_growth(self, op: ast.operator, left: int, right: int) -> None:
        """Numbers of Python's have no largest one."""
        bits = 0
        if isinstance(op, ast.Pow) and right > 0:
            bits = left.bit_length() * right
        elif isinstance(op, ast.LShift):
            bits = left.bit_length() + right
        if bits > _MOST_BITS:
            raise ExpressionMistake("the number is too large")

    def _spend_product(self, left: Any, right: Any) -> None:
        one, other = numpy.shape(left), numpy.shape(right)
        if not one or not other:
            raise ExpressionMistake("@ takes tiles with dimensions")
        rows = prod(one[:-1])
        columns = other[-1] if len(other) > 1 else 1
        batches = prod(other[:-2]) if len(other) > 2 else 1
        self._spend(rows * one[-1] * columns * batches / 16, rows * columns * batches)

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self._number(node.operand)
        self._spend_together(value)
        if isinstance(node.op, ast.Not) and isinstance(value, numpy.ndarray):
            self._truth(value, node.operand)
        return self._checked(_UNARY[type(node.op)](value))

    def _truth(self, value: Any, node: ast.expr) -> bool:
        if isinstance(value, numpy.ndarray) and value.size != 1:
            raise ExpressionMistake(
                f"an array of {value.size} elements is neither true nor false: use & and | and ~, or .any(), .all()"
            )
        return bool(value)

    def _either(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for part in node.values:
            value = self._number(part)
            if self._truth(value, part) == isinstance(node.op, ast.Or):
                return value
        return value

    def _choice(self, node: ast.IfExp) -> Any:
        return self._value(node.body if self._truth(self._number(node.test), node.test) else node.orelse)

    def _comparison(self, node: ast.Compare) -> Any:
        left = self._number(node.left)
        result: Any = True
        for op, part in zip(node.ops, node.comparators, strict=True):
            compared = _COMPARED.get(type(op))
            if compared is None:
                raise ExpressionMistake("only == != < <= > >= compare values")
            right = self._number(part)
            self._spend_together(left, right)
            result = self._checked(compared(left, right))
            if len(node.ops) > 1 and not self._truth(result, part):
                return result
            left = right
        return result

    def _sequence(self, node: ast.Tuple | ast.List) -> Any:
        values = [self._value(part) for part in node.elts]
        if any(isinstance(value, Opaque) for value in values):
            raise ExpressionMistake("what has no numbers cannot be in a list")
        return tuple(values) if isinstance(node, ast.Tuple) else values

    def _slice(self, node: ast.Slice) -> slice:
        bounds = [None if part is None else self._number(part) for part in (node.lower, node.upper, node.step)]
        return slice(*[None if bound is None else operator.index(bound) for bound in bounds])

    def _subscript(self, node: ast.Subscript) -> Any:
        value = self._value(node.value)
        if isinstance(value, (tuple, list)):
            return value[operator.index(self._number(node.slice))]
        if isinstance(value, (bool, int, float)) or not isinstance(value, (numpy.ndarray, numpy.generic)):
            raise ExpressionMistake(f"{ast.unparse(node.value) if not self._percent else 'this'} has no elements")
        array = numpy.asarray(value)
        index = self._value(node.slice)
        parts = index if isinstance(index, tuple) else (index,)
        listed = [numpy.shape(part) for part in parts if isinstance(part, (numpy.ndarray, list))]
        if listed:
            # Positions may be more than there are elements; each list of them stands for one dimension at least.
            rest = prod(sorted(array.shape, reverse=True)[: max(array.ndim - len(listed), 0)])
            size = prod(numpy.broadcast_shapes(*listed)) * rest if not _are_truths(parts) else array.size
            self._spend(size, size)
        return self._checked(array[index])

    def _attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and self._is_numpy(node.value):
            if node.attr in TYPES:
                return TYPES[node.attr]
            if node.attr in CONSTANTS:
                return CONSTANTS[node.attr]
            if node.attr in FUNCTIONS:
                raise ExpressionMistake(f"numpy.{node.attr} is a function: call it")
            raise ExpressionMistake(
                f"numpy.{node.attr} is not among what can be used here{_nearest(node.attr, FUNCTIONS)}"
            )
        value = self._value(node.value)
        if node.attr in METHODS and not isinstance(value, Opaque):
            raise ExpressionMistake(f".{node.attr} is a function: call it")
        if not isinstance(value, (numpy.ndarray, numpy.generic)) or node.attr not in ATTRIBUTES:
            raise ExpressionMistake(f".{node.attr} is not among what can be used here{_nearest(node.attr, METHODS)}")
        return self._checked(getattr(value, node.attr))

    def _is_numpy(self, node: ast.Name) -> bool:
        return node.id in _NUMPY and self._lookup(node.id) is None

    def _call(self, node: ast.Call) -> Any:
        function = node.func
        arguments: list[Any] = []
        for part in node.args:
            if isinstance(part, ast.Starred):
                raise ExpressionMistake("* cannot be used here")
            arguments.append(self._argument(part))
        options: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in OPTIONS:
                raise ExpressionMistake(f"the option {keyword.arg or '**'} cannot be used here")
            options[keyword.arg] = self._argument(keyword.value)
        if isinstance(function, ast.Attribute):
            if isinstance(function.value, ast.Name) and self._is_numpy(function.value):
                return self._numpy(function.attr, arguments, options)
            return self._method(function, arguments, options)
        if isinstance(function, ast.Name) and function.id in BUILTINS and self._lookup(function.id) is None:
            if function.id == "round":
                _check_digits(arguments[1:], options)
            self._spend_for(arguments)
            return self._checked(BUILTINS[function.id](*arguments, **options))
        name = ast.unparse(function) if isinstance(function, ast.Name) else "this"
        raise ExpressionMistake(f"{name} cannot be called here{_nearest(name, BUILTINS)}")

    def _argument(self, node: ast.expr) -> Any:
        value = self._value(node)
        if isinstance(value, Opaque):
            raise ExpressionMistake(f"this has no numbers: {value.words}")
        _check_sizes(value)
        return value

    def _spend_for(self, arguments: list[Any]) -> None:
        """For what goes through all that it is given, sorting at worst."""
        size = sum([_size(argument) for argument in arguments])
        self._spend(size * (1 + log2(size + 1) / 4), 0)

    def _numpy(self, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        if name in TYPES:
            self._spend_for(arguments)
            return self._checked(TYPES[name](*arguments))
        found = FUNCTIONS.get(name)
        if found is None:
            raise ExpressionMistake(f"numpy.{name} is not among what can be used here{_nearest(name, FUNCTIONS)}")
        function, growth = found
        if growth == "product" and len(arguments) >= 2:
            self._spend_product(arguments[0], arguments[1])
        elif growth == "outer" and len(arguments) >= 2:
            size = _size(arguments[0]) * _size(arguments[1])
            self._spend(size, size)
        elif growth == "count":
            bounds = arguments[:3]
            if not all(isinstance(one, (int, numpy.integer)) and abs(int(one)) <= _MOST_ELEMENTS for one in bounds):
                raise ExpressionMistake(f"numpy.{name} takes whole numbers up to {_MOST_ELEMENTS} here")
            count = len(range(*[int(one) for one in bounds])) if bounds else 0
            self._spend(count, count)
        elif growth == "together":
            if name == "round":
                _check_digits(arguments[1:], options)
            self._spend_together(*arguments)
        else:
            self._spend_for(arguments)
            if name == "roll":
                # Each further dimension doubles the parts that are moved.
                self._spend(64 << _size(arguments[1:]), 0)
        return self._checked(function(*arguments, **options))

    def _method(self, node: ast.Attribute, arguments: list[Any], options: dict[str, Any]) -> Any:
        value = self._argument(node.value)
        if isinstance(value, (bool, int, float)):
            value = numpy.asarray(value)[()]
        if not isinstance(value, (numpy.ndarray, numpy.generic)) or node.attr not in METHODS:
            raise ExpressionMistake(f".{node.attr}() is not among what can be used here{_nearest(node.attr, METHODS)}")
        self._spend_for([value, *arguments])
        if node.attr == "round":
            _check_digits(arguments, options)
        elif node.attr == "clip":
            self._spend_together(value, *arguments)
        elif node.attr == "dot" and arguments:
            self._spend_product(value, arguments[0])
        return self._checked(getattr(value, node.attr)(*arguments, **options))


_WALKED: Final[dict[type[ast.expr], Callable[[Evaluation, Any], Any]]] = {
    ast.Constant: Evaluation._constant,
    ast.Name: Evaluation._name,
    ast.BinOp: Evaluation._binary,
    ast.UnaryOp: Evaluation._unary,
    ast.BoolOp: Evaluation._either,
    ast.IfExp: Evaluation._choice,
    ast.Compare: Evaluation._comparison,
    ast.Tuple: Evaluation._sequence,
    ast.List: Evaluation._sequence,
    ast.Slice: Evaluation._slice,
    ast.Subscript: Evaluation._subscript,
    ast.Attribute: Evaluation._attribute,
    ast.Call: Evaluation._call,
}

_WORDS: Final[dict[type[ast.expr], str]] = {
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.JoinedStr: "a formatted string",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Starred: "*",
}


def _described(node: ast.expr) -> str:
    return _WORDS.get(type(node), f"'{ast.unparse(node)}'")


def _nearest(name: str, known: dict[str, Any] | frozenset[str]) -> str:
    found = get_close_matches(name, known, 1)
    return f": did you mean {found[0]}?" if found else ""


def _check_sizes(value: Any) -> None:
    """Whole numbers that NumPy has no type for would be computed with as Python does, however large they get."""
    if isinstance(value, (list, tuple)):
        for one in value:
            _check_sizes(one)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ExpressionMistake("the number is too large for NumPy")


def _check_digits(arguments: list[Any], options: dict[str, Any]) -> None:
    """Of what rounds: NumPy multiplies by ten as often as it is told."""
    for digits in [*arguments, *options.values()]:
        if isinstance(digits, (int, numpy.integer, numpy.ndarray)) and numpy.any(numpy.abs(digits) > _MOST_DIGITS):
            raise ExpressionMistake(f"nothing is rounded to more than {_MOST_DIGITS} digits here")


def _are_truths(parts: tuple[Any, ...]) -> bool:
    """Whether what indexes an array says of each element whether it is taken."""
    return len(parts) == 1 and isinstance(parts[0], numpy.ndarray) and parts[0].dtype == numpy.bool_


def _size(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum([_size(one) for one in value])
    return int(numpy.size(value)) if isinstance(value, (numpy.ndarray, numpy.generic)) else 1

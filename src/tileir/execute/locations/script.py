"""The expression of the script that each operation computes.

A location has the start of an expression, and one expression may take many operations.  `Script` finds for each
operation the expression, and whether its result is the value of that expression; of several that begin at one location
(`a * b + c`) the operation's kind selects one.  Checks write a `Phrase`, which has a text in the terms of the tile
program and one in cuTile's; `ScriptMessages` fills in its marks where a report is rendered.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tileir.dialect import ops
from tileir.dialect.enums import SIGNEDNESS
from tileir.dialect.types import PointerType, TileType
from tileir.execute.locations.python_source import Expression, character_column, expressions_at
from tileir.execute.locations.source_locations import author_frames, source_line
from tileir.execute.locations.wording import (
    ARRAY,
    OTHER,
    SYMBOL,
    THIS,
    Phrase,
    in_script_names,
    in_triton,
    is_of_triton,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import source_of
from tileir.ir.location import FileLocation
from tileir.ir.traversal import ancestors
from tileir.ir.values import Value

_Key = tuple[tuple[str, int, int], ...]

_CONVERSIONS: Final = frozenset([ops.BITCAST, ops.EXTI, ops.FTOF, ops.FTOI, ops.ITOF, ops.TRUNCI])
# What operands go through before an operation takes them.
_PREPARATIONS: Final = _CONVERSIONS | {ops.BROADCAST, ops.RESHAPE}
_VIEWS: Final = (ops.MAKE_GATHER_SCATTER_VIEW, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_TENSOR_VIEW)
# What a script has no words for: promises, constants, views of arrays, tokens.
_HIDDEN: Final = frozenset([ops.ASSUME, ops.ASSUME_COND, ops.CONSTANT, ops.JOIN_TOKENS, ops.MAKE_TOKEN, *_VIEWS])
_OPERATORS: Final[dict[type[ast.AST], frozenset[OperationDeclaration]]] = {
    ast.Add: frozenset([ops.ADDF, ops.ADDI, ops.FMA, ops.OFFSET]),
    ast.Sub: frozenset([ops.SUBF, ops.SUBI, ops.FMA]),
    ast.Mult: frozenset([ops.MULF, ops.MULI]),
    ast.Div: frozenset([ops.DIVF]),
    ast.FloorDiv: frozenset([ops.DIVI, ops.DIVF]),
    ast.Mod: frozenset([ops.REMI, ops.REMF]),
    ast.Pow: frozenset([ops.POW, ops.FPOWI]),
    ast.MatMult: frozenset([ops.MMAF, ops.MMAI]),
    ast.BitAnd: frozenset([ops.ANDI]),
    ast.BitOr: frozenset([ops.ORI]),
    ast.BitXor: frozenset([ops.XORI]),
    ast.LShift: frozenset([ops.SHLI]),
    ast.RShift: frozenset([ops.SHRI]),
    ast.USub: frozenset([ops.NEGF, ops.NEGI, ops.SUBF, ops.SUBI]),
    ast.Invert: frozenset([ops.NOTI, ops.XORI]),
    ast.Not: frozenset([ops.NOTI, ops.XORI]),
    **dict.fromkeys((ast.And, ast.Or), frozenset([ops.IF, ops.ANDI, ops.ORI])),
    ast.Compare: frozenset([ops.CMPF, ops.CMPI]),
    ast.IfExp: frozenset([ops.IF]),
    ast.Subscript: frozenset([ops.RESHAPE, ops.EXTRACT]),
}
"""By operators, and by expressions that have none."""
_METHODS: Final = {
    "astype": _CONVERSIONS,
    "reshape": frozenset([ops.RESHAPE]),
    "permute": frozenset([ops.PERMUTE]),
    "transpose": frozenset([ops.PERMUTE]),
    "extract": frozenset([ops.EXTRACT]),
    "item": frozenset([ops.RESHAPE]),
}
# Methods of arrays whose results are no tiles.
_OF_ARRAYS: Final = ("slice", "tiled_view", "get_raw_memory", "foreign_pointer", "from_foreign")
# What makes a division of C one of Python: `%` has the sign of the divisor, and `//` rounds down.
_CORRECTIONS: Final = {ops.REMI: ops.SELECT, ops.REMF: ops.SELECT, ops.DIVF: ops.FLOOR}
_NONE: Final[frozenset[OperationDeclaration]] = frozenset()


class Script:
    def __init__(self) -> None:
        self._known: dict[Operation, _Plan] = {}

    def expression(self, operation: Operation) -> Expression | None:
        """What an operation computes in the script, or computes a part of; None where no script is at hand."""
        return self._plan(operation).expressions.get(operation)

    def label(self, operation: Operation) -> str:
        """What the result of an operation is called in the script, if it is the value of an expression."""
        return self._plan(operation).labels.get(operation, "")

    def path(self, operation: Operation) -> list[Expression]:
        """The calls that lead to an operation, and the expression it belongs to."""
        found = self.expression(operation)
        if found is None:
            return []
        callers = [_caller(frame) for frame in reversed(author_frames(operation.location)[1:])]
        return [*[caller for caller in callers if caller is not None], found]

    def has(self, operation: Operation) -> bool:
        """Whether the program that an operation is in comes from a script that is at hand."""
        return bool(self._plan(operation).expressions)

    def expressions(self, operation: Operation) -> list[Expression]:
        """All that the program around an operation has."""
        return list(self._plan(operation).expressions.values())

    def _plan(self, operation: Operation) -> _Plan:
        around = [operation, *ancestors(operation)]
        entry = next((one for one in around if one.declaration is ops.ENTRY), around[-1])
        found = self._known.get(entry)
        if found is None:
            found = self._known[entry] = _Plan(entry)
        return found


class _Plan:
    def __init__(self, entry: Operation) -> None:
        self.expressions: dict[Operation, Expression] = {}
        self.labels: dict[Operation, str] = {}
        # For each position in the script, how far its expressions have been met.
        self._reached: dict[_Key, int] = {}
        self._groups: list[tuple[_Key, Expression, list[Operation]]] = []
        self._read(entry)
        computing = {
            (key, expression.node)
            for key, expression, operations in self._groups
            if any(one.declaration not in _PREPARATIONS for one in operations)
        }
        for key, expression, operations in self._groups:
            node = expression.node
            if all(one.declaration in _PREPARATIONS for one in operations):
                # What was moved out of a loop prepares the computation that stayed.
                if (key, node) in computing or not isinstance(node, (ast.Call, ast.Subscript)):
                    continue
                # Or an operand of an expression that begins at the same location.
                is_broadcast = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("broadcast_to")
                if not is_broadcast and any(one.declaration is ops.BROADCAST for one in operations):
                    continue
            if _makes_array(node, operations) or _is_part(node, operations):
                continue
            label = _label(key, expression)
            valued = [one for one in operations if visible_results(one)]
            if label and valued:
                self.labels[valued[-1]] = label

    def _read(self, entry: Operation) -> None:
        """Operations in the order of the program, those at one place together."""
        pending: list[Iterator[Operation]] = [_inside(entry)]
        run: list[Operation] = []
        last: _Key = ()
        while pending:
            operation = next(pending[-1], None)
            if operation is None:
                pending.pop()
                self._resolve(last, run)
                run, last = [], ()
                continue
            frames = author_frames(operation.location)
            key = tuple([(frame.file, frame.line, frame.column) for frame in frames])
            if operation.declaration in _HIDDEN or operation.declaration.is_terminator:
                found = expressions_at(*key[0]) if key else []
                if found:
                    self.expressions[operation] = found[-1]
                continue
            if key != last:
                self._resolve(last, run)
                run, last = [], key
            run.append(operation)
            if operation.declaration in (ops.REDUCE, ops.SCAN):
                # What its elements are combined with belongs to it.
                found = expressions_at(*key[0]) if key else []
                self.expressions |= dict.fromkeys(_inside(operation), _generic(found)) if found else {}
            elif operation.regions:
                self._resolve(last, run)
                run, last = [], ()
                pending.append(_inside(operation))

    def _resolve(self, key: _Key, run: list[Operation]) -> None:
        chain = expressions_at(*key[0]) if key and run else []
        if not chain:
            return
        groups: dict[int, list[Operation]] = {}
        if len(chain) == 1:
            groups[0] = run
        else:
            pending: list[Operation] = []
            position = self._reached.get(key, -1)
            computes = False
            correction: Operation | None = None
            divisions = [one for one in chain if _divides(one.node)]
            for operation in run:
                if correction is not None or (computes and _keeps_dimensions(operation)):
                    groups[position].append(operation)
                    correction = None if operation is correction else correction
                    continue
                found = _find(chain, operation.declaration, position)
                if found is None and operation.declaration in _PREPARATIONS:
                    pending.append(operation)
                    continue
                if found is None and not computes and divisions:
                    # Of the correction, moved out of a loop that the division stays in.
                    self.expressions[operation] = divisions[0]
                    continue
                position = max(position, 0) if found is None else found
                groups.setdefault(position, []).extend([*pending, operation])
                pending.clear()
                computes = True
                if _divides(chain[position].node):
                    correction = _correction(operation, run)
            for operation in pending:
                if computes and operation.operands[0].defining_operation in groups[position]:
                    groups[position].append(operation)
                else:
                    # Moved away from its expression, which cannot be determined: use the outermost one.
                    self.expressions[operation] = chain[-1]
            self._reached[key] = position
        for number, operations in groups.items():
            expression = chain[number]
            for operation in operations:
                self.expressions[operation] = expression
            self._groups.append((key, expression, operations))


def _inside(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        for block in region.blocks:
            yield from block.operations


def _keeps_dimensions(operation: Operation) -> bool:
    """Whether it is the end of a reduction with `keepdims`."""
    reduced = operation.operands[0].defining_operation if operation.declaration is ops.RESHAPE else None
    return reduced is not None and reduced.declaration is ops.REDUCE


def _divides(node: ast.AST) -> bool:
    return isinstance(getattr(node, "op", None), (ast.Mod, ast.FloorDiv))


def _correction(operation: Operation, run: list[Operation]) -> Operation | None:
    """The last operation of a division of Python's: what lies between belongs to it."""
    expected = _CORRECTIONS.get(operation.declaration)
    if expected is None:
        return None
    return next((one for one in operation.results[0].users if one.declaration is expected and one in run), None)


def _is_part(node: ast.AST, operations: list[Operation]) -> bool:
    """Whether these are some of the operations of a division, without its result: what was moved out of a loop."""
    if not _divides(node):
        return False
    divisions = [one for one in operations if one.declaration in _computed_by(node)]
    if not divisions:
        return True
    last = divisions[-1]
    is_unsigned = last.attributes.get("signedness") is SIGNEDNESS["unsigned"]
    is_whole = last.declaration is ops.DIVI or (last.declaration is ops.REMI and is_unsigned)
    return not is_whole and _correction(last, operations) is None


def _makes_array(node: ast.AST, operations: list[Operation]) -> bool:
    """Whether the value of an expression is an array, as of `x.slice(..)` or `xs[1]`: its address is computed then."""
    if isinstance(node, ast.Subscript):
        return any(one.declaration not in _PREPARATIONS and one.declaration is not ops.EXTRACT for one in operations)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_ARRAYS


def _find(chain: list[Expression], declaration: OperationDeclaration, position: int) -> int | None:
    """Which of the expressions that begin at one place an operation computes; the inner ones come first."""
    numbers: list[int] = [*range(position + 1, len(chain)), *range(position + 1)]
    for number in numbers:
        if declaration in _computed_by(chain[number].node):
            return number
    if declaration in _PREPARATIONS:
        return None
    # A call may take several operations.
    for number in [position, *numbers] if position >= 0 else numbers:
        node = chain[number].node
        if isinstance(node, (ast.Call, ast.For, ast.While, ast.If)) and not _computed_by(node):
            return number
    return None


def _computed_by(node: ast.AST) -> frozenset[OperationDeclaration]:
    """The operations that prove that an expression is computed."""
    if isinstance(node, ast.Call):
        return _METHODS.get(node.func.attr, _NONE) if isinstance(node.func, ast.Attribute) else _NONE
    operator: ast.AST = getattr(node, "op", node)
    return _OPERATORS.get(type(operator), _NONE)


def _generic(chain: list[Expression]) -> Expression:
    """Of expressions that begin at one place the innermost call."""
    return next((one for one in chain if isinstance(one.node, ast.Call)), chain[-1])


def _caller(frame: FileLocation) -> Expression | None:
    chain = expressions_at(frame.file, frame.line, frame.column)
    return _generic(chain) if chain else None


def _label(key: _Key, expression: Expression) -> str:
    """The name that the value of an expression gets; what a helper function returns is what its caller calls it."""
    if isinstance(expression.node, (ast.For, ast.While, ast.If)):
        return ""
    for place in key[1:]:
        if not expression.is_returned:
            break
        calls = [one for one in expressions_at(*place) if isinstance(one.node, ast.Call)]
        if not calls:
            break
        expression = calls[0]
    return "" if expression.is_dropped else expression.label


def visible_results(operation: Operation) -> list[Value]:
    """The results that a script may know: tiles of numbers.  Of those that are several, the ones it uses."""
    types = [(value, value.type.element) for value in operation.results if isinstance(value.type, TileType)]
    found: list[Value] = [value for value, element in types if not isinstance(element, PointerType)]
    return [value for value in found if value.has_uses] or found[:1] if len(found) > 1 else found


# --- messages for the author of a script ---

_SYMBOLS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


UNCHECKED_HINT: Final = "remove check_bounds=False: elements outside are then left out"
"""What to do about an access outside of its array where the checks are off."""


class ScriptMessages:
    def __init__(self) -> None:
        self._script: Script = Script()

    def expression(self, operation: Operation) -> Expression | None:
        """What an operation is in a script; None for a program that was written as text."""
        return self._script.expression(operation) if source_of(operation.location) is None else None

    def said(self, text: str, operation: Operation, other: Operation | None = None, *, whole: bool = False) -> str:
        """A text about one or two operations in the script's terms; `whole` names variable and expression."""
        expression = self.expression(operation)
        if expression is None:
            return text
        if isinstance(text, Phrase):
            operator = getattr(expression.node, "op", None)
            symbol = _SYMBOLS.get(type(operator)) if isinstance(operator, ast.AST) else None
            if text.infix and symbol is not None:
                return text.infix.replace(SYMBOL, symbol)
            text = text.unchecked if text.unchecked and _is_unchecked(expression) else text.script
            if is_of_triton(operation):
                text = in_triton(text)
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
        """The line of the script that an operation comes from, its expression underlined, and its callers."""
        expression = self.expression(operation)
        assert expression is not None
        frames = author_frames(operation.location)
        text = source_line(frames[0])
        start = len(text) - len(text.lstrip())
        column = character_column(text, expression.column)
        end = character_column(text, expression.end) if expression.end else len(text)
        return [
            f"{expression.line:5} | {text.strip()}",
            f"{margin}| {' ' * max(column - start, 0)}{'^' * max(end - column, 1)}",
            *[f"  called from {position_text(frame)}: {source_line(frame).strip()}" for frame in frames[1:]],
        ]


def position_text(frame: FileLocation) -> str:
    return f"{frame.file}:{frame.line}"


def _array(expression: Expression) -> str:
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

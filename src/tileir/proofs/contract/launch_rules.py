"""The grid of a kernel as the script writes it where it launches the kernel: `(ct.cdiv(n, TILE),)`.

An expression is followed through names that are assigned once, until only numbers, scalars that the kernel is given,
and extents of its arrays are left.  What a script computes in another way has no rule here.  Nor has a grid of numbers,
which is that of one launch.  A rule must give the grid of every launch that was recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tileir.execute.arguments.argument_text import LaunchDescription, specification

_MAKERS: Final = ("empty", "full", "ones", "rand", "randint", "randn", "zeros")
"""Functions of NumPy, torch and CuPy whose first arguments are extents."""
_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_FUNCTIONS: Final = ("cdiv", "max", "min")
_DEEPEST: Final = 20


class RecordedLaunch(NamedTuple):
    """A launch that a script has made: for each argument of the compiled kernel `names` has the array that it is."""

    words: LaunchDescription
    names: Sequence[str]


class ScriptKernel:
    """A kernel of a script, and its launches that were recorded."""

    def __init__(self, text: str, kernel: str, launches: Sequence[RecordedLaunch]) -> None:
        self._kernel: str = kernel
        self._launches: Sequence[RecordedLaunch] = launches
        self._tree: ast.Module = ast.Module([], [])
        with suppress(SyntaxError, ValueError, RecursionError):
            self._tree = ast.parse(text)
        functions = [each for each in ast.walk(self._tree) if isinstance(each, ast.FunctionDef)]
        self._scopes: list[ast.AST] = [self._tree, *functions]
        self._definition: ast.FunctionDef | None = next((each for each in functions if each.name == kernel), None)
        self.names: list[str] = self._names()
        """What the parameters of the compiled kernel are: `x`, `x.shape[0]`, `x.strides[0]`, `n`."""

    def _names(self) -> list[str]:
        first = self._launches[0]
        arrays: list[tuple[str, int] | None] = []
        for name, word in zip(first.names, first.words.arguments, strict=True):
            described = specification(word)
            arrays.append((name, 0 if described is None else len(described.shape)) if name else None)
        known = {each[0] for each in arrays if each is not None}
        parameters = [] if self._definition is None else self._definition.args.args
        scalars = [each.arg for each in parameters if each.arg not in known and not _is_constant(each)]
        return parameter_names(arrays, self._definition is not None and _is_cutile(self._definition), scalars)

    def grid(self) -> list[str] | None:
        """The expression of each axis of the grid, in terms of the names.

        None if the script does not write it, or writes it in several ways.
        """
        if self._definition is None:
            return None
        found: list[list[str]] = []
        for scope in self._scopes:
            for grid, arguments in _launches_in(scope, self._kernel):
                rule = _Scope(self._tree, scope, arguments, self._definition, self.names).axes(grid)
                if rule is None or not all(self._is_grid_of(each, rule) for each in self._launches):
                    return None
                found.append([ast.unparse(axis) for axis in rule])
        is_rule = bool(found) and all(rule == found[0] for rule in found)
        # Numbers alone are one launch.
        return found[0] if is_rule and any(not axis.isdigit() for axis in found[0]) else None

    def _is_grid_of(self, launch: RecordedLaunch, rule: Sequence[ast.expr]) -> bool:
        values = dict(zip(self.names, launch.words.arguments, strict=True))
        try:
            return _extents([_evaluated(axis, values) for axis in rule]) == _extents(launch.words.grid)
        except (KeyError, ValueError, ZeroDivisionError):
            return False


def parameter_names(
    arrays: Sequence[tuple[str, int] | None], has_extents: bool, scalars: Sequence[str] = ()
) -> list[str]:
    """The names of the parameters of a compiled kernel: `arrays` has the names and ranks of pointers.

    cuTile passes the extents and the strides behind a pointer, and Triton nothing.
    """
    found: list[str] = []
    places: list[int] = []
    while len(found) < len(arrays):
        array = arrays[len(found)]
        if array is None:
            places.append(len(found))
            found.append(f"arg{len(found)}")
            continue
        name, rank = array
        parts = [f"{name}.{part}[{axis}]" for part in ("shape", "strides") for axis in range(rank)]
        found += [name, *(parts if has_extents else [])]
    if len(places) == len(scalars):
        for place, name in zip(places, scalars, strict=True):
            found[place] = name
    # Where the count is another, this is not how it was compiled.
    return found if len(found) == len(arrays) else [f"arg{number}" for number in range(len(arrays))]


def _is_constant(parameter: ast.arg) -> bool:
    words = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
    return "Constant" in words or "constexpr" in words


def _is_cutile(definition: ast.FunctionDef) -> bool:
    return any("kernel" in ast.unparse(decorator) for decorator in definition.decorator_list)


def _launches_in(scope: ast.AST, kernel: str) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """The grid and the arguments of each launch that is written in a function, or outside of all."""
    for node in _own_nodes(scope):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Subscript) and _named(node.func.value) == kernel:
            yield node.func.slice, node.args
        elif _named(node.func) == "launch":
            places = [place for place, each in enumerate(node.args) if _named(each) == kernel]
            # `ct.launch(stream, grid, kernel, arguments)`, `tileir.launch(kernel, grid, arguments)`.
            if places in ([0], [2]) and len(node.args) > (after := 3 if places == [2] else 2):
                arguments = node.args[after]
                if isinstance(arguments, (ast.Tuple, ast.List)):
                    yield node.args[1], arguments.elts


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it."""
    pending = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            pending.extend(ast.iter_child_nodes(node))


def _named(node: ast.expr) -> str:
    """`launch` of `ct.launch` and of `launch`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Untranslatable(Exception):
    """An expression is none of parameters and numbers."""


class _Scope:
    """The names around a launch, and what they stand for."""

    def __init__(
        self, tree: ast.Module, scope: ast.AST, arguments: list[ast.expr], kernel: ast.FunctionDef, names: list[str]
    ) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        for each in [tree, scope] if scope is not tree else [tree]:
            for node in _own_nodes(each):
                self._note(node)
        if isinstance(scope, ast.FunctionDef):
            for name in [each.arg for each in (*scope.args.args, *scope.args.kwonlyargs)]:
                # A caller's, which shadows what the module has.
                self._values[name] = []
        self._known: dict[str, str] = {}
        """What the kernel is given, by the text of the expression."""
        for parameter, given in zip([each.arg for each in kernel.args.args], arguments, strict=False):
            written = ast.unparse(given)
            extents = [name for name in names if name.startswith(f"{parameter}.shape[")]
            if parameter in names and not extents and not isinstance(given, ast.Constant):
                self._known.setdefault(written, parameter)
            self._note_extents(given, written, extents)

    def _note(self, node: ast.AST) -> None:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.NamedExpr)):
            targets = [node.target]
        for target in targets:
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if isinstance(target, (ast.Tuple, ast.List)):
                for place, each in enumerate(target.elts):
                    part = None if value is None else _item(value, place)
                    self._assign(each, part)
            else:
                self._assign(target, value)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                # What cannot be followed counts as an assignment too.
                unknown = [] if value is not None and each is target else [each, each]
                self._values.setdefault(each.id, []).extend([value] if value is not None and not unknown else unknown)

    def _note_extents(self, given: ast.expr, written: str, extents: Sequence[str]) -> None:
        for axis, extent in enumerate(extents):
            rank = len(extents)
            spelled = [f"{written}.shape[{axis}]", f"{written}.shape[{axis - rank}]", f"{written}.size({axis})"]
            spelled += [f"len({written})"] if axis == 0 else []
            spelled += [f"{written}.size", f"{written}.numel()"] if rank == 1 else []
            for text in spelled:
                self._known.setdefault(text, extent)
        made = self._value(given)
        if isinstance(made, ast.Call) and _named(made.func) in _MAKERS:
            parts = made.args[0].elts if made.args and isinstance(made.args[0], (ast.Tuple, ast.List)) else made.args
            for part, extent in zip(parts, extents, strict=False):
                if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)):
                    self._known.setdefault(ast.unparse(part), extent)

    def _value(self, node: ast.expr) -> ast.expr | None:
        """What a name stands for, if it is assigned once."""
        values = self._values.get(node.id, []) if isinstance(node, ast.Name) else []
        return values[0] if len(values) == 1 else None

    def axes(self, grid: ast.expr) -> list[ast.expr] | None:
        """The axes of a grid, in terms of parameters."""
        for _ in range(_DEEPEST):
            grid = self._value(grid) or grid
        if isinstance(grid, ast.Lambda):
            grid = grid.body
        parts = grid.elts if isinstance(grid, (ast.Tuple, ast.List)) else [grid]
        try:
            return [self._translated(part, 0) for part in parts]
        except _Untranslatable:
            return None

    def _translated(self, node: ast.expr, depth: int) -> ast.expr:
        if depth > _DEEPEST:
            raise _Untranslatable
        known = self._known.get(ast.unparse(node))
        if known is not None:
            return ast.Name(known)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node
        value = self._value(node)
        if value is not None:
            return self._translated(value, depth + 1)
        if isinstance(node, ast.Call):
            name, arguments = _named(node.func), node.args
            if name == "ceil" and len(arguments) == 1:
                quotient = arguments[0]
                if isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.Div):
                    name, arguments = "cdiv", [quotient.left, quotient.right]
            if name in _FUNCTIONS and len(arguments) == 2 and not node.keywords:
                return ast.Call(ast.Name(name), [self._translated(each, depth + 1) for each in arguments], [])
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            return ast.BinOp(self._translated(node.left, depth + 1), node.op, self._translated(node.right, depth + 1))
        raise _Untranslatable


def _item(value: ast.expr, place: int) -> ast.expr:
    """An item of what is unpacked: `rows, columns = x.shape`."""
    if isinstance(value, (ast.Tuple, ast.List)) and place < len(value.elts):
        return value.elts[place]
    return ast.Subscript(value, ast.Constant(place))


# --- the grid of a launch by a rule ---


def _extents(grid: Sequence[int]) -> tuple[int, ...]:
    return tuple([*grid, 1, 1][:3])


def _evaluated(node: ast.expr, values: Mapping[str, str]) -> int:
    if isinstance(node, ast.Name):
        return int(values[node.id])
    if isinstance(node, ast.Call):
        left, right = [_evaluated(each, values) for each in node.args]
        name = _named(node.func)
        return max(left, right) if name == "max" else min(left, right) if name == "min" else -(-left // right)
    if isinstance(node, ast.BinOp):
        left, right = _evaluated(node.left, values), _evaluated(node.right, values)
        compute = {
            ast.Add: int.__add__,
            ast.Sub: int.__sub__,
            ast.Mult: int.__mul__,
            ast.FloorDiv: int.__floordiv__,
            ast.Mod: int.__mod__,
        }
        return compute[type(node.op)](left, right)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    raise ValueError

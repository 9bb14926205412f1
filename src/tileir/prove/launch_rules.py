"""The grid of a kernel as the script writes it where it launches the kernel: `(ct.cdiv(n, TILE),)`.

An expression is followed through names that are assigned once, until only numbers, scalars that the kernel is given,
and extents of its arrays are left.  What a script computes in another way has no rule here.  Nor has a grid of numbers,
which is that of one launch.  A rule must give the grid of every launch that was recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
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


def grid_rule(
    text: str, kernel: str, launches: Sequence[RecordedLaunch], parameters: Sequence[str]
) -> list[str] | None:
    """The expression of each axis of the grid, in terms of `parameters`, the names of what the compiled kernel takes.

    None if the script does not write it, or writes it in several ways.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    definition = next(
        (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == kernel), None
    )
    if definition is None or not launches:
        return None
    roles = _roles(definition, launches[0], parameters)
    found: list[list[str]] = []
    for scope in [tree, *[each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]]:
        for grid, arguments in _launches_in(scope, kernel):
            rule = _Scope(tree, scope, arguments, definition, roles).axes(grid)
            if rule is None:
                return None
            found.append([ast.unparse(axis) for axis in rule])
            if any(_grid(rule, launch, parameters) != _extents(launch.words.grid) for launch in launches):
                return None
    is_rule = bool(found) and all(rule == found[0] for rule in found)
    # Numbers alone are one launch.
    return found[0] if is_rule and any(not axis.isdigit() for axis in found[0]) else None


class _Roles(NamedTuple):
    """What the parameters of a compiled kernel are, by the names of the parameters of its function."""

    scalars: Mapping[str, str]
    extents: Mapping[str, Sequence[str]]


def _roles(definition: ast.FunctionDef, launch: RecordedLaunch, parameters: Sequence[str]) -> _Roles:
    """cuTile passes an array as a pointer, its extents and its strides, a scalar as itself, and no constants."""
    scalars: dict[str, str] = {}
    extents: dict[str, Sequence[str]] = {}
    place = 0
    for each in definition.args.args:
        if place < len(launch.names) and launch.names[place] == each.arg:
            described = specification(launch.words.arguments[place])
            rank = 0 if described is None else len(described.shape)
            following = launch.names[place + 1 : place + 1 + 2 * rank]
            # Triton passes nothing but the pointer.
            has_extents = len(following) == 2 * rank and not any(following) and _is_cutile(definition)
            extents[each.arg] = parameters[place + 1 : place + 1 + rank] if has_extents else ()
            place += 1 + (2 * rank if has_extents else 0)
        elif each.annotation is None or not any(
            word in ast.unparse(each.annotation) for word in ("Constant", "constexpr")
        ):
            if place < len(parameters):
                scalars[each.arg] = parameters[place]
            place += 1
    # Where the count is another, this is not how it was compiled.
    return _Roles(scalars, extents) if place == len(parameters) else _Roles({}, {})


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
        self, tree: ast.Module, scope: ast.AST, arguments: list[ast.expr], kernel: ast.FunctionDef, roles: _Roles
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
            if parameter in roles.scalars and not isinstance(given, ast.Constant):
                self._known.setdefault(written, roles.scalars[parameter])
            self._note_extents(given, written, roles.extents.get(parameter, ()))

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


def _grid(rule: Sequence[ast.expr], launch: RecordedLaunch, parameters: Sequence[str]) -> tuple[int, ...] | None:
    values = dict(zip(parameters, launch.words.arguments, strict=False))
    try:
        return _extents([_evaluated(axis, values) for axis in rule])
    except (KeyError, ValueError, ZeroDivisionError):
        return None


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

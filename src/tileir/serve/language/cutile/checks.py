"""Errors in cuTile scripts that need no compilation: wrong names and arguments of `cuda.tile`, statements and
expressions that kernels cannot have, shapes that tiles cannot have.

What depends on values is not checked: no report is wrong.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator

from tileir.dialect.types import is_power_of_two
from tileir.ir.quoting import close_names
from tileir.serve.language.cutile.library import Library, Member
from tileir.serve.language.cutile.script import Script, dotted
from tileir.serve.language.document.analysis import Fix, TextDiagnostic
from tileir.serve.language.document.tree import Edit

UNKNOWN_NAME = "cutile-unknown-name"
WRONG_ARGUMENTS = "cutile-wrong-arguments"
NOT_IN_KERNELS = "cutile-not-in-kernels"
SHAPE = "cutile-shape"
NOT_CONSTANT = "cutile-not-constant"

_STATIC = ("static_eval", "static_assert", "static_iter", "static_exception")
"""What they are given is Python's, and may be anything."""
_SHAPES = ("shape", "size")
_AXES = ("bid", "num_blocks")
_MOST_AXES = 3
# For other statements the lower-case name is the keyword.
_WORDS = {
    "AsyncFor": "`async for`",
    "AsyncFunctionDef": "`async def`",
    "AsyncWith": "`async with`",
    "Await": "`await`",
    "ClassDef": "a class",
    "Delete": "`del`",
    "Dict": "a dictionary",
    "DictComp": "a dictionary",
    "GeneratorExp": "a generator",
    "ImportFrom": "`import`",
    "List": "a list",
    "ListComp": "a list",
    "NamedExpr": "`:=`",
    "Set": "a set",
    "SetComp": "a set",
    "TryStar": "`try`",
    "YieldFrom": "`yield from`",
}
_INSTEAD = {"List": "; write a tuple", "ListComp": "; write `tuple(..)`", "Assert": "; write `ct.assert_(..)`"}


def script_errors(script: Script, library: Library) -> list[TextDiagnostic]:
    """From the start of the text to its end."""
    if script.tree is None:
        return []
    found: list[TextDiagnostic] = []
    for node in ast.walk(script.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "cuda.tile":
            for alias in node.names:
                if alias.name != "*":
                    found += _unknown_name(alias.name, script.span(alias)[0], library)
        elif isinstance(node, ast.Attribute):
            found += _attribute(script, node, library)
        elif isinstance(node, ast.Call):
            found += _call(script, node, library)
    constants = _constants(script.tree)
    for function, how in script.kernels():
        found += _unsupported(script, library, function)
        found += _shapes(script, library, function, how == "kernel", constants)
    unique = {(each.start, each.end, each.message): each for each in found}
    return [unique[key] for key in sorted(unique)]


def script_error(message: str, start: int, end: int, code: str, meant: str | None = None) -> TextDiagnostic:
    """An error at characters of the text; what was meant, if that is known, is its fix."""
    if meant is None:
        return TextDiagnostic("error", message, start, end, code)
    fix = Fix(f"Write '{meant}'", (Edit(start, end, meant),))
    return TextDiagnostic("error", f"{message}: did you mean '{meant}'?", start, end, code, fix=fix)


def _close(word: str, known: Iterable[str]) -> str | None:
    """The known word that is spelled nearly like one."""
    return next(iter(close_names(word, known)), None)


def _unknown_name(name: str, start: int, library: Library) -> Iterator[TextDiagnostic]:
    """A name that `cuda.tile` does not have."""
    if name not in library.members and not name.startswith("_"):
        meant = _close(name, library.members)
        yield script_error(f"cuda.tile has no '{name}'", start, start + len(name), UNKNOWN_NAME, meant)


def _attribute(script: Script, node: ast.Attribute, library: Library) -> Iterator[TextDiagnostic]:
    """A member of the library, or of one of its enumerations."""
    name, end = node.attr, script.span(node)[1]
    start = end - len(name)
    if dotted(node.value) in script.modules:
        yield from _unknown_name(name, start, library)
        return
    member = library.members.get(script.member_of(node.value) or "")
    choices = member.choices if member is not None else ()
    if member is None or not choices or name in (*choices, "name", "value") or name.startswith("_"):
        return
    meant = _close(name, choices) or _close(name.upper(), choices)
    rest = "" if meant else f": it has {', '.join(choices)}"
    yield script_error(f"{member.name} has no '{name}'{rest}", start, end, UNKNOWN_NAME, meant)


def _call(script: Script, call: ast.Call, library: Library) -> Iterator[TextDiagnostic]:
    member = library.members.get(script.member_of(call.func) or "")
    if member is None or member.kind != "function" or member.signature is None:
        return
    yield from _arguments(script, call, member)
    axis = call.args[0] if len(call.args) == 1 and member.name in _AXES else None
    if isinstance(axis, ast.Constant) and isinstance(axis.value, int) and not 0 <= axis.value < _MOST_AXES:
        message = f"a grid has the axes 0, 1 and 2, not {axis.value}"
        yield script_error(message, *script.span(axis), WRONG_ARGUMENTS)


def _arguments(script: Script, call: ast.Call, member: Member) -> Iterator[TextDiagnostic]:
    takes_any = any(each.kind is each.VAR_KEYWORD for each in member.parameters)
    named = [each.arg for each in call.keywords if each.arg is not None]
    wrong = [] if takes_any else [name for name in named if name not in member.keywords]
    for keyword in call.keywords:
        name = keyword.arg
        if name is None or name not in wrong:
            continue
        start = script.span(keyword)[0]
        if name in [each.name for each in member.parameters]:
            message, meant = f"'{name}' of {member.name} is given by its position, without its name", None
        else:
            message, meant = f"{member.name} has no parameter '{name}'", _close(name, member.keywords)
        yield script_error(message, start, start + len(name), WRONG_ARGUMENTS, meant)
    is_open = len(named) < len(call.keywords) or any(isinstance(each, ast.Starred) for each in call.args)
    if wrong or is_open:
        return
    try:
        inspect.Signature(member.parameters).bind(*call.args, **dict.fromkeys(named))
    except TypeError as error:
        yield script_error(f"{member.name}: {error}", *script.span(call.func), WRONG_ARGUMENTS)


# --- what kernels are made of ---


def _unsupported(script: Script, library: Library, function: ast.FunctionDef) -> Iterator[TextDiagnostic]:
    for argument in (function.args.vararg, function.args.kwarg):
        if argument is not None:
            yield script_error("kernels have no variadic parameters", *script.span(argument), NOT_IN_KERNELS)
    pending: list[ast.AST] = list(reversed(function.body))
    while pending:
        node = pending.pop()
        if library.accepted and isinstance(node, (ast.stmt, ast.expr)) and type(node) not in library.accepted:
            yield _refused(script, node)
            continue
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            kind = "for" if isinstance(node, ast.For) else "while"
            start, _ = script.span(node)
            yield script_error(f"a `{kind}` in a kernel has no `else`", start, start + len(kind), NOT_IN_KERNELS)
        pending.extend(reversed(list(_inside(script, node))))


def _inside(script: Script, node: ast.AST) -> Iterator[ast.AST]:
    """What cuTile reads of a node; annotations, targets, and what Python evaluates are left out."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        yield from [node.value] if node.value is not None else []
    elif isinstance(node, (ast.FunctionDef, ast.With)):
        yield from node.body
    elif isinstance(node, ast.For):
        yield from (node.iter, *node.body)
    elif isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, (ast.Raise, ast.JoinedStr, ast.GeneratorExp)):
        return
    elif isinstance(node, ast.Call):
        if script.member_of(node.func) in _STATIC:
            return
        is_tuple = isinstance(node.func, ast.Name) and node.func.id == "tuple"
        yield from [each for each in node.args if not (is_tuple and isinstance(each, ast.GeneratorExp))]
        yield from [keyword.value for keyword in node.keywords]
    else:
        yield from [each for each in ast.iter_child_nodes(node) if isinstance(each, (ast.stmt, ast.expr))]


def _refused(script: Script, node: ast.AST) -> TextDiagnostic:
    name = type(node).__name__
    start, end = script.span(node)
    if isinstance(node, ast.stmt):
        # A statement may be long: its first line.
        end = start + len(script.text[start:end].partition("\n")[0])
    usual = f"`{name.lower()}`" if isinstance(node, ast.stmt) else f"an expression of this kind ({name})"
    return script_error(
        f"{_WORDS.get(name, usual)} cannot be in a kernel{_INSTEAD.get(name, '')}", start, end, NOT_IN_KERNELS
    )


# --- shapes ---


def _constants(tree: ast.Module) -> dict[str, int]:
    """Numbers that names of the module stand for, where they are set once."""
    found: dict[str, int] = {}
    times = Counter(_set_names(tree))
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            number = _number(node.value, {})
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if number and isinstance(target, ast.Name) and times[target.id] == 1:
                    found[target.id] = number
    return found


def _set_names(tree: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _number(node: ast.expr | None, constants: dict[str, int]) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _shapes(
    script: Script, library: Library, function: ast.FunctionDef, is_kernel: bool, constants: dict[str, int]
) -> Iterator[TextDiagnostic]:
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    is_set = set(_set_names(function))
    local = {*is_set, *[each.arg for each in parameters]}
    known = {name: number for name, number in constants.items() if name not in local}
    by_place = parameters[: len(parameters) - len(function.args.kwonlyargs)] if is_kernel else []
    numbers = {each.arg for each in by_place if each.arg not in is_set and _is_number(each)}
    for node in ast.walk(function):
        member = library.members.get(script.member_of(node.func) or "") if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or member is None or member.kind != "function":
            continue
        for extent in _extents(node, member):
            name = extent.id if isinstance(extent, ast.Name) else ""
            number = _number(extent, known)
            if number is not None and number > 0 and not is_power_of_two(number):
                which = f"'{name}' is {number}" if name else f"{number} is none"
                message = f"a tile has extents that are powers of two: {which}"
                yield script_error(message, *script.span(extent), SHAPE)
            elif name in numbers:
                imported = [local for local, known_as in script.names.items() if known_as == "Constant"]
                constant = imported[0] if imported else f"{min(script.modules, default='ct')}.Constant"
                message = (
                    f"the shape of a tile is constant, and '{name}' is a number of the launch: "
                    f"write '{name}: {constant}[int]' in the parameters of '{function.name}'"
                )
                yield script_error(message, *script.span(extent), NOT_CONSTANT)


def _extents(call: ast.Call, member: Member) -> list[ast.expr]:
    """The argument of a call that is the shape of a tile."""
    given: ast.expr | None = None
    for position, parameter in enumerate(member.parameters):
        if parameter.name in _SHAPES:
            if position < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
                given = call.args[position]
            for keyword in call.keywords:
                given = keyword.value if keyword.arg == parameter.name else given
    if given is None:
        return []
    return given.elts if isinstance(given, ast.Tuple) else [given]


def _is_number(parameter: ast.arg) -> bool:
    """Whether a parameter is a number of the launch, whatever annotations of other names mean."""
    annotation = parameter.annotation
    return annotation is None or (isinstance(annotation, ast.Name) and annotation.id in ("int", "float"))

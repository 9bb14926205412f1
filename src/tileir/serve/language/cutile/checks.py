"""Errors in cuTile scripts that need no compilation: wrong names and arguments of `cuda.tile`, statements and
expressions that kernels cannot have, shapes that tiles cannot have.

What depends on values is not checked: no report is wrong.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tileir.dialect.types import is_power_of_two
from tileir.serve.language.cutile.library import Library, Member
from tileir.serve.language.cutile.script import Script, dotted

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
    "Global": "`global`",
    "Import": "`import`",
    "ImportFrom": "`import`",
    "List": "a list",
    "ListComp": "a list",
    "Match": "`match`",
    "NamedExpr": "`:=`",
    "Nonlocal": "`nonlocal`",
    "Set": "a set",
    "SetComp": "a set",
    "Try": "`try`",
    "TryStar": "`try`",
    "YieldFrom": "`yield from`",
}
_INSTEAD = {"List": "; write a tuple", "ListComp": "; write `tuple(..)`", "Assert": "; write `ct.assert_(..)`"}


@dataclass(frozen=True)
class ScriptFinding:
    """An error, at characters of the text; `replacement` is the correct text, if it is known."""

    message: str
    start: int
    end: int
    code: str
    replacement: str | None = None


def script_errors(script: Script, library: Library) -> list[ScriptFinding]:
    """From the start of the text to its end."""
    if script.tree is None:
        return []
    found = [*_names(script, library), *_calls(script, library)]
    constants = _constants(script.tree)
    for function, how in script.kernels():
        found += _unsupported(script, library, function)
        found += _shapes(script, library, function, how == "kernel", constants)
    return sorted(dict.fromkeys(found), key=lambda each: (each.start, each.end))


@lru_cache(1000)
def _close(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that is spelled nearly like one; cached, because each edit of the script checks it again."""
    found = difflib.get_close_matches(word, known, 1, 0.6)
    return found[0] if found else None


def _suggestion(word: str | None) -> str:
    return f": did you mean '{word}'?" if word else ""


# --- names ---


def _names(script: Script, library: Library) -> Iterator[ScriptFinding]:
    assert script.tree is not None
    for node in ast.walk(script.tree):
        if isinstance(node, ast.ImportFrom) and node.module == "cuda.tile":
            for alias in node.names:
                if alias.name != "*" and alias.name not in library.members and not alias.name.startswith("_"):
                    yield _unknown(script, alias, alias.name, library, 0)
        elif isinstance(node, ast.Attribute):
            base = dotted(node.value)
            if base in script.modules and not node.attr.startswith("_") and node.attr not in library.members:
                yield _unknown(script, node, node.attr, library, len(node.attr))
            else:
                yield from _choice(script, node, library)


def _unknown(script: Script, node: ast.AST, name: str, library: Library, tail: int) -> ScriptFinding:
    start, end = script.span(node)
    meant = _close(name, tuple(library.members))
    start = end - tail if tail else start
    return ScriptFinding(
        f"cuda.tile has no '{name}'{_suggestion(meant)}", start, start + len(name), UNKNOWN_NAME, meant
    )


def _choice(script: Script, node: ast.Attribute, library: Library) -> Iterator[ScriptFinding]:
    """A member of an enumeration."""
    member = library.members.get(script.member_of(node.value) or "")
    if member is None or not member.choices or node.attr in member.choices or node.attr.startswith("_"):
        return
    if node.attr in ("name", "value"):
        return
    _, end = script.span(node)
    meant = _close(node.attr, member.choices) or _close(node.attr.upper(), member.choices)
    words = f"{member.name} has no '{node.attr}'{_suggestion(meant)}"
    if not meant:
        words += f": it has {', '.join(member.choices)}"
    yield ScriptFinding(words, end - len(node.attr), end, UNKNOWN_NAME, meant)


# --- arguments ---


def _calls(script: Script, library: Library) -> Iterator[ScriptFinding]:
    assert script.tree is not None
    for node in ast.walk(script.tree):
        if isinstance(node, ast.Call):
            member = library.members.get(script.member_of(node.func) or "")
            if member is not None and member.kind == "function" and member.signature is not None:
                yield from _arguments(script, node, member, member.signature)
                if member.name in _AXES:
                    yield from _axis(script, node, member)


def _arguments(script: Script, call: ast.Call, member: Member, signature: inspect.Signature) -> Iterator[ScriptFinding]:
    parameters = list(signature.parameters.values())
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    is_open = any(isinstance(each, ast.Starred) for each in call.args) or any(
        each.arg is None for each in call.keywords
    )
    wrong = False
    for keyword in call.keywords:
        if keyword.arg is None or takes_any or keyword.arg in member.keywords:
            continue
        wrong = True
        start, _ = script.span(keyword)
        end = start + len(keyword.arg)
        if keyword.arg in signature.parameters:
            words = f"'{keyword.arg}' of {member.name} is given by its place, without its name"
            yield ScriptFinding(words, start, end, WRONG_ARGUMENTS)
        else:
            meant = _close(keyword.arg, tuple(member.keywords))
            words = f"{member.name} has no parameter '{keyword.arg}'{_suggestion(meant)}"
            yield ScriptFinding(words, start, end, WRONG_ARGUMENTS, meant)
    if wrong or is_open:
        return
    try:
        signature.bind(*call.args, **{each.arg: each for each in call.keywords if each.arg is not None})
    except TypeError as error:
        start, end = script.span(call.func)
        yield ScriptFinding(f"{member.name}: {error}", start, end, WRONG_ARGUMENTS)


def _axis(script: Script, call: ast.Call, member: Member) -> Iterator[ScriptFinding]:
    if len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, int):
        if not 0 <= call.args[0].value < _MOST_AXES:
            words = f"a grid has the axes 0, 1 and 2, not {call.args[0].value}"
            yield ScriptFinding(words, *script.span(call.args[0]), WRONG_ARGUMENTS)


# --- what kernels are made of ---


def _unsupported(script: Script, library: Library, function: ast.FunctionDef) -> Iterator[ScriptFinding]:
    for argument in (function.args.vararg, function.args.kwarg):
        if argument is not None:
            yield ScriptFinding("kernels have no variadic parameters", *script.span(argument), NOT_IN_KERNELS)
    pending: list[ast.AST] = list(reversed(function.body))
    while pending:
        node = pending.pop()
        is_refused = isinstance(node, ast.stmt) and type(node) not in library.statements
        if is_refused or (isinstance(node, ast.expr) and type(node) not in (*library.expressions, ast.Starred)):
            yield _refused(script, node)
            continue
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            kind = "for" if isinstance(node, ast.For) else "while"
            start, _ = script.span(node)
            yield ScriptFinding(f"a `{kind}` in a kernel has no `else`", start, start + len(kind), NOT_IN_KERNELS)
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


def _refused(script: Script, node: ast.AST) -> ScriptFinding:
    name = type(node).__name__
    start, end = script.span(node)
    if isinstance(node, ast.stmt):
        # A statement may be long: its first line.
        line_end = script.text.find("\n", start)
        end = min(end, len(script.text) if line_end < 0 else line_end)
    words = _WORDS.get(
        name, f"`{name.lower()}`" if isinstance(node, ast.stmt) else f"an expression of this kind ({name})"
    )
    return ScriptFinding(f"{words} cannot be in a kernel{_INSTEAD.get(name, '')}", start, end, NOT_IN_KERNELS)


# --- shapes ---


def _constants(tree: ast.Module) -> dict[str, int]:
    """Numbers that names of the module stand for, where they are set once."""
    found: dict[str, int] = {}
    often: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    if target.id in found:
                        often.add(target.id)
                    number = _number(node.value, {}) if node in tree.body else None
                    found[target.id] = -1 if number is None else number
    return {name: number for name, number in found.items() if number > 0 and name not in often}


def _number(node: ast.expr | None, constants: dict[str, int]) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _shapes(
    script: Script, library: Library, function: ast.FunctionDef, is_kernel: bool, constants: dict[str, int]
) -> Iterator[ScriptFinding]:
    numbers = _plain_parameters(function) if is_kernel else {}
    local = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    local |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    known = {name: number for name, number in constants.items() if name not in local}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        member = library.members.get(script.member_of(node.func) or "")
        if member is None or member.kind != "function":
            continue
        for extent in _extents(node, member):
            number = _number(extent, known)
            if number is not None and number > 0 and not is_power_of_two(number):
                words = f"a tile has extents that are powers of two: {number} is none"
                if isinstance(extent, ast.Name):
                    words = f"a tile has extents that are powers of two: '{extent.id}' is {number}"
                yield ScriptFinding(words, *script.span(extent), SHAPE)
            elif isinstance(extent, ast.Name) and extent.id in numbers:
                name = extent.id
                constant = _constant_name(script)
                yield ScriptFinding(
                    f"the shape of a tile is constant, and '{name}' is a number of the launch: "
                    f"write '{name}: {constant}' in the parameters of '{function.name}'",
                    *script.span(extent),
                    NOT_CONSTANT,
                )


def _extents(call: ast.Call, member: Member) -> list[ast.expr]:
    """What a call gives for the shape of a tile."""
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


def _plain_parameters(function: ast.FunctionDef) -> dict[str, ast.arg]:
    """The parameters that are numbers of a launch, whatever they are annotated with elsewhere, and are never set."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found: dict[str, ast.arg] = {}
    for argument in (*function.args.posonlyargs, *function.args.args):
        annotation = argument.annotation
        is_plain = annotation is None or (isinstance(annotation, ast.Name) and annotation.id in ("int", "float"))
        if is_plain and argument.arg not in stored:
            found[argument.arg] = argument
    return found


def _constant_name(script: Script) -> str:
    imported = [local for local, name in script.names.items() if name == "Constant"]
    return f"{imported[0]}[int]" if imported else f"{min(script.modules, default='ct')}.Constant[int]"

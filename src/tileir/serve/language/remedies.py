"""Remedies for findings: what may be meant, as edits of the text.

A remedy is a proposal.  Whether it helps is tried before it is offered (`actions`), so these may be generous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tileir.dialect.ops import ENTRY, FOR, IF, LOOP, REDUCE, SCAN
from tileir.dialect.types import TileType
from tileir.ir.types import I1
from tileir.serve.language.layout import INDENTATION, Edit
from tileir.serve.language.misspellings import MISSPELLINGS
from tileir.serve.language.problems import Problem, Remedy, same_type
from tileir.serve.language.reprinting import reprinted
from tileir.serve.language.syntax import WrittenOperation

_SCOPES = ("device", "sys", "tl_blk")
_TERMINATORS = {ENTRY: "return", FOR: "continue", LOOP: "continue", IF: "yield", REDUCE: "yield", SCAN: "yield"}


def remedies(problem: Problem) -> Iterator[Remedy]:
    """All remedies that are known for a finding, the most likely first."""
    for function in REMEDIES.get(problem.code, ()):
        yield from function(problem)
    if problem.diagnostic.severity == "remark" and problem.operation is not None and problem.diagnostic.rule is None:
        edit = reprinted(problem.syntax, problem.analysis, problem.operation)
        if edit is not None:
            yield Remedy("Write it as NVIDIA's tools do", (edit,))


# --- what is missing, or too much ---


def _insert(problem: Problem) -> Iterator[Remedy]:
    """A token that is wanted where another one stands."""
    wanted = problem.values["token"]
    place = problem.diagnostic.start
    inside = place > problem.syntax.starts[problem.token]
    before = problem.token if inside else problem.token - 1
    end = problem.end(before) if before >= 0 else 0
    if wanted == "}":
        # On a line of its own, as far in as what it closes.
        around = _open_at(problem)
        indentation = problem.indentation(around.first) if around is not None else ""
        yield Remedy("Insert '}'", (problem.insert(end, f"\n{indentation}}}"),))
    if wanted in (",", ")", "]", ">", "}", "("):
        yield Remedy(f"Insert '{wanted}'", (problem.insert(end, wanted),))
    elif wanted in (":", "=", "->", "{"):
        yield Remedy(f"Insert '{wanted}'", (problem.insert(end, f" {wanted}"),))
    elif wanted:
        follows = "" if problem.syntax.text[end : end + 1] in (" ", "\n", "") else " "
        yield Remedy(f"Insert '{wanted}'", (problem.insert(end, f" {wanted}{follows}"),))


def _open_at(problem: Problem) -> WrittenOperation | None:
    """The innermost operation with a region that is not closed."""
    tokens = problem.syntax.tokens
    for operation in reversed(problem.syntax.operations):
        if operation.regions and tokens[operation.regions[-1].closing] != "}":
            return operation
    return None


def _close_string(problem: Problem) -> Iterator[Remedy]:
    yield Remedy("Insert '\"'", (problem.insert(problem.end(problem.token), '"'),))


def _delete_token(problem: Problem) -> Iterator[Remedy]:
    yield Remedy(f"Delete '{problem.text}'", (problem.delete(problem.token),))


def _make_float(problem: Problem) -> Iterator[Remedy]:
    yield Remedy(f"Change to '{problem.text}.0'", (problem.replace(problem.token, f"{problem.text}.0"),))


def _delete_scope(problem: Problem) -> Iterator[Remedy]:
    for token in problem.head():
        if problem.syntax.tokens[token] in _SCOPES:
            yield Remedy(f"Delete '{problem.syntax.tokens[token]}'", (problem.delete(token),))
            return


def _insert_scope(problem: Problem) -> Iterator[Remedy]:
    for token in problem.head():
        if problem.syntax.tokens[token] == problem.values["ordering"]:
            for scope in _SCOPES:
                yield Remedy(f"Insert '{scope}'", (problem.insert(problem.end(token), f" {scope}"),))
            return


# --- results and names ---


def _result_count(problem: Problem) -> Iterator[Remedy]:
    """`%a = load_ptr_tko ..`, which has two results; `%a, %b, %c = ..`, with a name too many."""
    operation = problem.operation
    if operation is None or not operation.results:
        return
    defined, bound = int(problem.values["defined"]), int(problem.values["bound"])
    last = operation.results[-1]
    behind = problem.end(operation.name - 2) if operation.name >= 2 else problem.end(last)
    stem = problem.syntax.tokens[operation.results[0]]
    if bound < defined <= 64:
        hints = operation.declaration.name_hints if operation.declaration is not None else ()
        names = []
        for number in range(bound, defined):
            token = number < len(hints) and "token" in hints[number]
            wanted = f"{stem}_token" if token else ""
            taken = any(name.text == wanted for name in problem.syntax.names)
            names.append(wanted if wanted and not taken else f"{problem.fresh(stem)}{'_' * (number - bound)}")
        if bound == 1 and not hints and defined > 1:
            yield Remedy(f"Name all results: '{stem}:{defined}'", (problem.insert(behind, f":{defined}"),))
        title = f"Name the other result{'s' if len(names) > 1 else ''}: '{', '.join(names)}'"
        yield Remedy(title, (problem.insert(behind, "".join([f", {name}" for name in names])),))
    elif bound > defined >= 1 and len(operation.results) > defined:
        kept = operation.results[defined - 1]
        start, end = problem.end(kept), problem.end(last)
        words = problem.syntax.text[problem.syntax.starts[operation.results[defined]] : end]
        yield Remedy(f"Delete '{words}'", (Edit(start, end, ""),))
    elif bound > defined == len(operation.results) == 1 and problem.syntax.tokens[last + 1] == ":":
        yield Remedy(f"Name one result: '{stem}'", (Edit(problem.end(last), problem.end(last + 2), ""),))


def _no_results(problem: Problem) -> Iterator[Remedy]:
    operation = problem.operation
    if operation is not None and operation.name > operation.first:
        start, end = problem.syntax.starts[operation.first], problem.syntax.starts[operation.name]
        yield Remedy(f"Delete '{problem.syntax.text[start:end].strip()}'", (Edit(start, end, ""),))


def _redefinition(problem: Problem) -> Iterator[Remedy]:
    """Another name for what is defined second, here and in the uses that follow in its region."""
    old = problem.values["name"]
    new = problem.fresh(old)
    syntax = problem.syntax
    edits = [problem.replace(problem.token, new)]
    operation = problem.operation
    around = operation.parent if operation is not None else None
    last = around.last if around is not None else len(syntax.tokens)
    first = operation.last + 1 if operation is not None and not operation.regions else problem.token + 1
    for token in range(first, last):
        text = syntax.tokens[token]
        if text[:1] == "%" and text.partition("#")[0] == old:
            start = syntax.starts[token]
            edits.append(Edit(start, start + len(old), new))
    yield Remedy(f"Rename to '{new}'", tuple(edits))
    yield Remedy(f"Rename to '{new}'", (edits[0],))


# --- terminators ---


def _terminator(problem: Problem) -> Iterator[Remedy]:
    """The terminator of a block that ends without one."""
    around = problem.operation
    while around is not None and around.declaration not in _TERMINATORS:
        around = around.parent
    if around is None or around.declaration is None:
        return
    word = _TERMINATORS[around.declaration]
    for region in around.regions:
        if problem.token < region.closing:
            inner = problem.indentation(around.first) + INDENTATION
            yield Remedy(f"Insert '{word}'", (problem.insert(problem.end(region.closing - 1), f"\n{inner}{word}"),))
            return


def _other_terminator(problem: Problem) -> Iterator[Remedy]:
    """`yield` in a loop, `continue` in a branch of `if` that has results."""
    around = problem.operation.parent if problem.operation is not None else None
    word = _TERMINATORS.get(around.declaration) if around is not None and around.declaration is not None else None
    if word is not None and problem.operation is not None and problem.operation.name >= 0:
        yield Remedy(f"Change to '{word}'", (problem.replace(problem.operation.name, word),))


# --- types ---


def _replace_types(problem: Problem) -> Iterator[Remedy]:
    """The type that a value has, where another one is written."""
    tokens = problem.syntax.tokens
    new = problem.values["expected"].removeprefix("!cuda_tile.")
    found = [token for token in problem.head() if same_type(tokens[token], problem.values["written"])]
    title = f"Change the type to '{new}'"
    for token in found:
        prefix = "!cuda_tile." if tokens[token].startswith("!cuda_tile.") else ""
        yield Remedy(title, (problem.replace(token, prefix + new),))
    if len(found) > 1:
        yield Remedy(title, tuple([problem.replace(token, new) for token in found]))


def _missing_types(problem: Problem) -> Iterator[Remedy]:
    """The types behind an operation, from those of its operands."""
    operation = problem.operation
    if problem.values["token"] != ":" or operation is None or operation.declaration is None or operation.regions:
        return
    types = [problem.type_of(token) for token in problem.operands()]
    known = [type for type in types if type is not None]
    end = problem.end(operation.last)
    own = list(dict.fromkeys([type.spelling for type in known]))
    shown: list[str] = list(own)
    if "comparison-types" in operation.declaration.syntax:
        for type in known:
            if isinstance(type, TileType):
                shape = "".join([f"{size}x" for size in type.shape])
                shown.insert(0, f"{type.spelling} -> tile<{shape}{I1.spelling}>")
    if len(known) == len(types) > 1:
        shown.append(", ".join([type.spelling for type in known]))
        shown.append(", ".join(own))
    if "type($result)" in operation.declaration.syntax or not own:
        shown.append("token")
    for spelling in dict.fromkeys(shown):
        yield Remedy(f"Insert ': {spelling}'", (problem.insert(end, f" : {spelling}"),))


def _constant_element(problem: Problem) -> Iterator[Remedy]:
    """`<i32: 4> : tile<i64>`: the element type is that of the tile."""
    for token in problem.head():
        if problem.syntax.tokens[token] == problem.values["written"]:
            new = problem.values["expected"]
            yield Remedy(f"Change to '{new}'", (problem.replace(token, new),))
            return


REMEDIES: Final[dict[str, tuple[Callable[[Problem], Iterator[Remedy]], ...]]] = {
    **{code: (function,) for code, function in MISSPELLINGS.items()},
    "expected-token": (_missing_types, _insert),
    "unclosed-string": (_close_string,),
    "unwanted-token": (_delete_token,),
    "integer-for-float": (_make_float,),
    "unwanted-scope": (_delete_scope,),
    "missing-scope": (_insert_scope,),
    "result-count": (_result_count,),
    "no-results": (_no_results,),
    "redefined-value": (_redefinition,),
    "missing-terminator": (_terminator,),
    "misplaced-terminator": (_other_terminator,),
    "type-of-use": (_replace_types,),
    "type-of-result": (_replace_types,),
    "type-of-constant": (_constant_element,),
}
"""By the code of the finding; the most likely first."""

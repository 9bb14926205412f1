"""Fixes for diagnostics, as edits of the text: what is misspelled, missing, too much or of the wrong type.

A fix is a proposal: it is tried before it is offered (`quick_fixes.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tileir.dialect.ops import ENTRY, FOR, IF, LOOP, REDUCE, SCAN
from tileir.dialect.types import TileType
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.floats import FORMATS
from tileir.ir.quoting import close_names
from tileir.ir.registry import REGISTRY
from tileir.ir.types import I1
from tileir.serve.language.document.analysis import Analysis, Fix, TextDiagnostic
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import ALIAS, Edit
from tileir.serve.language.editing.layout import INDENTATION
from tileir.text.types import DIALECT_TYPES

_SCOPES = ("device", "sys", "tl_blk")
_TERMINATORS: dict[OperationDeclaration | None, str] = {ENTRY: "return", **dict.fromkeys((FOR, LOOP), "continue")}
_TERMINATORS |= dict.fromkeys((IF, REDUCE, SCAN), "yield")
_ELEMENTS = ("i1", "i4", "i8", "i16", "i32", "i64", *FORMATS)
_ELEMENT = re.compile(r"(?:\d+x)*([A-Za-z]\w*)")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
# With more choices than this, none is offered.
_MOST_CHOICES = 10


class Problem:
    """A diagnostic, with the token and the operation at its location."""

    def __init__(self, analysis: Analysis, diagnostic: TextDiagnostic) -> None:
        self.syntax = syntax = analysis.syntax
        self.tokens = syntax.tokens
        self.analysis = analysis
        self.diagnostic = diagnostic
        self.values = diagnostic.values
        self.token = max(bisect_right(syntax.starts, diagnostic.start, 0, syntax.count) - 1, 0)
        """The token at the location, or the last before it."""
        self.text = syntax.tokens[self.token]
        self.start = syntax.starts[self.token]
        self.operation: OperationNode | None = syntax.operation_at(diagnostic.start)
        self.head = range(0)
        """The tokens of the operation from its name to its first region."""
        if self.operation is not None and self.operation.name >= 0:
            self.head = range(self.operation.name, self.operation.head_end)

    def written(self, *words: str) -> list[int]:
        """The first token of the head that is one of some words."""
        return [token for token in self.head if self.tokens[token] in words][:1]

    def replace(self, token: int, new: str) -> Edit:
        return Edit(*self.syntax.span(token), new)

    def change(self, token: int, new: str) -> Fix:
        return Fix(f"Change to '{new}'", (self.replace(token, new),))

    def insert(self, offset: int, new: str) -> Fix:
        return Fix(f"Insert '{new.strip()}'", (Edit(offset, offset, new),))

    def delete(self, token: int) -> Fix:
        start = self.syntax.end(token - 1) if token else 0
        if self.syntax.is_first_on_line(token):
            start = self.syntax.starts[token]
        return Fix(f"Delete '{self.tokens[token]}'", (Edit(start, self.syntax.end(token), ""),))

    def respell(
        self, start: int, word: str, words: Iterable[str], most: int = 3, cutoff: float = 0.6, sigil: str = ""
    ) -> list[Fix]:
        """Fixes that replace a word at an offset by similar ones, the nearest first."""
        known = list(dict.fromkeys(words))
        # Equal except for case is close, however short the word is.
        close = [other for other in known if other.lower() == word.lower()]
        close += [other for other in close_names(word, known, most, cutoff) if other not in close]
        found = [sigil + other for other in close if other != word][:most]
        return [Fix(f"Change to '{each}'", (Edit(start, start + len(sigil + word), each),)) for each in found]

    def fresh(self, stem: str) -> str:
        """A name of a value that no other has: `%a_0` for `%a`."""
        taken = {name.text for name in self.syntax.names}
        return next(name for number in range(len(taken) + 1) if (name := f"{stem}_{number}") not in taken)

    def indentation(self, token: int) -> str:
        """The blanks at the start of the line of a token."""
        start = self.syntax.text.rfind("\n", 0, self.syntax.starts[token]) + 1
        found = re.compile(r"[ \t]*").match(self.syntax.text, start)
        return found[0] if found is not None else ""


def _unknown_operation(problem: Problem) -> list[Fix]:
    word = problem.values["name"].rpartition(".")[2]
    names = [declared.mnemonic for declared in REGISTRY.by_name.values() if not declared.testing]
    offset = problem.text.rfind(word)
    return problem.respell(problem.start + offset, word, names) if offset >= 0 else []


def _unknown_value(problem: Problem) -> list[Fix]:
    word = problem.values["name"].partition("#")[0][1:]
    visible = [name.text[1:] for name in problem.syntax.visible_values(problem.token)]
    return problem.respell(problem.start, word, visible, 5, 0.5, "%")


def _unknown_alias(problem: Problem) -> list[Fix]:
    sigil = problem.text[:1]
    aliases = [name.text for name in problem.syntax.names if name.kind == ALIAS and name.definition is not None]
    known = [alias[1:] for alias in aliases if alias[:1] == sigil]
    return problem.respell(problem.start, problem.values["name"], known, sigil=sigil)


def _unknown_symbol(problem: Problem) -> Iterator[Fix]:
    """A symbol that nothing defines, or that is no global."""
    for token in problem.head:
        if problem.tokens[token][:1] == "@":
            yield from problem.respell(problem.syntax.starts[token], problem.tokens[token], problem.syntax.globals)


def _keyword(problem: Problem) -> Iterator[Fix]:
    """A keyword of a list is expected, and another word or none is written."""
    choices = problem.values["choices"].split(", ")
    written = problem.values.get("got")
    token = problem.token
    if written:
        # The verifier reports the operation; the word is somewhere in its head.
        token = next((t for t in (token, *problem.head) if problem.tokens[t].strip('"') == written), -1)
        if token < 0:
            return
    word = problem.tokens[token].strip('"')
    few = choices if len(choices) <= _MOST_CHOICES else []
    if _WORD.fullmatch(word) and word not in choices:
        start = problem.syntax.starts[token] + problem.tokens[token].index(word)
        close = problem.respell(start, word, choices, cutoff=0.5)
        yield from close or [Fix(f"Change to '{each}'", (Edit(start, start + len(word), each),)) for each in few]
    if not written:
        is_behind = problem.diagnostic.start > problem.start
        for choice in few:
            yield problem.insert(problem.diagnostic.start, f" {choice}" if is_behind else f"{choice} ")


def _unknown_type(problem: Problem) -> list[Fix]:
    word = problem.values["name"].partition("<")[0]
    start = problem.diagnostic.start
    if not problem.syntax.text.startswith(word, start):
        # In `4xf33` the element type follows the dimensions.
        found = re.search(rf"(?:(?<![\w.])|(?<=x)){re.escape(word)}(?![\w.])", problem.text)
        if found is None:
            return []
        start = problem.start + found.start()
    return problem.respell(start, word, (*_ELEMENTS, *sorted(DIALECT_TYPES)), cutoff=0.5)


def _wrong_element(problem: Problem) -> list[Fix]:
    """An element type that a type cannot have, after its dimensions."""
    found = _ELEMENT.match(problem.syntax.text, problem.diagnostic.start)
    return problem.respell(found.start(1), found[1], _ELEMENTS, cutoff=0.5) if found is not None else []


def _unknown_predicate(problem: Problem) -> list[Fix]:
    word = problem.text.strip('"')
    start = problem.start + problem.text.index(word)
    return problem.respell(start, word, problem.values["choices"].split(", "), cutoff=0.4)


def _expected_token(problem: Problem) -> Iterator[Fix]:
    yield from _missing_types(problem)
    expected = problem.values["token"]
    is_inside = problem.diagnostic.start > problem.start
    before = problem.token if is_inside else problem.token - 1
    end = problem.syntax.end(before) if before >= 0 else 0
    if expected == "}":
        # On a line of its own, indented like the operation that it closes.
        opened = [each for each in problem.syntax.operations if each.regions]
        opened = [each for each in opened if problem.tokens[each.regions[-1].closing] != "}"]
        yield problem.insert(end, f"\n{problem.indentation(opened[-1].first) if opened else ''}}}")
    if expected in (",", ")", "]", ">", "}", "("):
        yield problem.insert(end, expected)
    elif expected in (":", "=", "->", "{"):
        yield problem.insert(end, f" {expected}")
    elif expected:
        follows = "" if problem.syntax.text[end : end + 1] in (" ", "\n", "") else " "
        yield problem.insert(end, f" {expected}{follows}")


def _missing_types(problem: Problem) -> Iterator[Fix]:
    """If a colon is expected, the types after an operation, from those of its operands."""
    operation = problem.operation
    if problem.values["token"] != ":" or operation is None or operation.declaration is None or operation.regions:
        return
    operands = [token for token in problem.head if problem.tokens[token][:1] == "%"]
    names = [problem.syntax.name_at(token) for token in operands]
    types = [problem.analysis.type_of(name) for name in names if name is not None]
    known = [type for type in types if type is not None]
    unique = list(dict.fromkeys([type.spelling for type in known]))
    choices = list(unique)
    if "comparison-types" in operation.declaration.syntax:
        for type in known:
            if isinstance(type, TileType):
                shape = "".join([f"{size}x" for size in type.shape])
                choices.insert(0, f"{type.spelling} -> tile<{shape}{I1.spelling}>")
    if len(known) == len(operands) > 1:
        choices.extend([", ".join([type.spelling for type in known]), ", ".join(unique)])
    if "type($result)" in operation.declaration.syntax or not unique:
        choices.append("token")
    for spelling in dict.fromkeys(choices):
        yield problem.insert(problem.syntax.end(operation.last), f" : {spelling}")


def _delete_scope(problem: Problem) -> list[Fix]:
    return [problem.delete(token) for token in problem.written(*_SCOPES)]


def _insert_scope(problem: Problem) -> list[Fix]:
    ends = [problem.syntax.end(token) for token in problem.written(problem.values["ordering"])]
    return [problem.insert(end, f" {scope}") for end in ends for scope in _SCOPES]


# --- results, names and terminators ---


def _result_count(problem: Problem) -> Iterator[Fix]:
    """`%a = load_ptr_tko ..`, which has two results; `%a, %b, %c = ..`, with a name too many."""
    operation, syntax = problem.operation, problem.syntax
    if operation is None or not operation.results:
        return
    defined, bound = int(problem.values["defined"]), int(problem.values["bound"])
    first, last = operation.results[0], operation.results[-1]
    stem = problem.tokens[first]
    if bound < defined <= 64:
        behind = syntax.end(operation.name - 2 if operation.name >= 2 else last)
        hints = operation.declaration.name_hints if operation.declaration is not None else ()
        taken = {name.text for name in syntax.names}
        names = []
        for number in range(bound, defined):
            is_token = number < len(hints) and "token" in hints[number] and f"{stem}_token" not in taken
            names.append(f"{stem}_token" if is_token else f"{problem.fresh(stem)}{'_' * (number - bound)}")
        if bound == 1 and not hints:
            yield Fix(f"Name all results: '{stem}:{defined}'", (Edit(behind, behind, f":{defined}"),))
        title = f"Name the other result{'s' if len(names) > 1 else ''}: '{', '.join(names)}'"
        yield Fix(title, (Edit(behind, behind, "".join([f", {name}" for name in names])),))
    elif bound > defined >= 1 and len(operation.results) > defined:
        start, end = syntax.end(operation.results[defined - 1]), syntax.end(last)
        yield Fix(f"Delete '{syntax.text[syntax.starts[operation.results[defined]] : end]}'", (Edit(start, end, ""),))
    elif bound > defined == len(operation.results) == 1 and problem.tokens[last + 1] == ":":
        yield Fix(f"Name one result: '{stem}'", (Edit(syntax.end(last), syntax.end(last + 2), ""),))


def _no_results(problem: Problem) -> Iterator[Fix]:
    operation = problem.operation
    if operation is not None and operation.name > operation.first:
        start, end = problem.syntax.starts[operation.first], problem.syntax.starts[operation.name]
        yield Fix(f"Delete '{problem.syntax.text[start:end].strip()}'", (Edit(start, end, ""),))


def _redefinition(problem: Problem) -> Iterator[Fix]:
    """Another name for the second definition, and for the uses that follow in its region."""
    old, operation = problem.values["name"], problem.operation
    new = problem.fresh(old)
    around = operation.parent if operation is not None else None
    last = around.last if around is not None else problem.syntax.count
    first = operation.last + 1 if operation is not None and not operation.regions else problem.token + 1
    uses = [token for token in range(first, last) if problem.tokens[token].partition("#")[0] == old]
    starts = [problem.syntax.starts[token] for token in uses]
    edits = [problem.replace(problem.token, new), *[Edit(start, start + len(old), new) for start in starts]]
    yield Fix(f"Rename to '{new}'", tuple(edits))
    yield Fix(f"Rename to '{new}'", (edits[0],))


def _missing_terminator(problem: Problem) -> Iterator[Fix]:
    for around in problem.operation.outwards() if problem.operation is not None else ():
        word = _TERMINATORS.get(around.declaration)
        for region in around.regions if word is not None else ():
            if problem.token < region.closing:
                text = f"\n{problem.indentation(around.first)}{INDENTATION}{word}"
                yield problem.insert(problem.syntax.end(region.closing - 1), text)
                return


def _misplaced_terminator(problem: Problem) -> Iterator[Fix]:
    """`yield` in a loop, `continue` in a branch of `if` that has results."""
    operation = problem.operation
    around = operation.parent if operation is not None else None
    if operation is not None and operation.name >= 0 and around is not None and around.declaration in _TERMINATORS:
        yield problem.change(operation.name, _TERMINATORS[around.declaration])


# --- types ---


def _replace_types(problem: Problem) -> Iterator[Fix]:
    """The type that a value has, where another one is written."""
    new = problem.values["expected"].removeprefix("!cuda_tile.")
    written = _plain(problem.values["written"])
    found = [token for token in problem.head if _plain(problem.tokens[token]) == written]
    title = f"Change the type to '{new}'"
    for token in found:
        prefix = "!cuda_tile." if problem.tokens[token].startswith("!cuda_tile.") else ""
        yield Fix(title, (problem.replace(token, prefix + new),))
    if len(found) > 1:
        yield Fix(title, tuple([problem.replace(token, new) for token in found]))


def _plain(type: str) -> str:
    return type.replace("!cuda_tile.", "").replace("cuda_tile.", "").replace(" ", "").removeprefix("!")


def _constant_element(problem: Problem) -> list[Fix]:
    """`<i32: 4> : tile<i64>`: the element type is that of the tile."""
    return [problem.change(each, problem.values["expected"]) for each in problem.written(problem.values["written"])]


FIXES: Final[dict[str, Callable[[Problem], Iterable[Fix]]]] = {
    "unknown-operation": _unknown_operation,
    "undeclared-value": _unknown_value,
    "undefined-alias": _unknown_alias,
    "undefined-symbol": _unknown_symbol,
    "unknown-keyword": _keyword,
    "wrong-keyword": _keyword,
    "unknown-predicate": _unknown_predicate,
    "wrong-element-type": _wrong_element,
    "unknown-type": _unknown_type,
    "expected-token": _expected_token,
    "unclosed-string": lambda problem: [problem.insert(problem.syntax.end(problem.token), '"')],
    "unwanted-token": lambda problem: [problem.delete(problem.token)],
    "integer-for-float": lambda problem: [problem.change(problem.token, f"{problem.text}.0")],
    "unwanted-scope": _delete_scope,
    "missing-scope": _insert_scope,
    "result-count": _result_count,
    "no-results": _no_results,
    "redefined-value": _redefinition,
    "missing-terminator": _missing_terminator,
    "misplaced-terminator": _misplaced_terminator,
    "type-of-use": _replace_types,
    "type-of-result": _replace_types,
    "type-of-constant": _constant_element,
}
"""By the code of a diagnostic, what proposes its fixes, the most likely first."""


def fixes(problem: Problem) -> Iterable[Fix]:
    """All fixes for a diagnostic, the most likely first."""
    function = FIXES.get(problem.diagnostic.cause)
    return function(problem) if function is not None else ()

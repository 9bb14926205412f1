"""Fixes for diagnostics, as edits of the text: what is misspelled, missing, too much or of the wrong type.

A fix is a proposal: it is tried before it is offered (`trials.py`).
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from tileir.dialect.ops import ENTRY, FOR, GLOBAL, IF, LOOP, REDUCE, SCAN
from tileir.dialect.types import TileType
from tileir.ir.floats import FORMATS
from tileir.ir.registry import REGISTRY
from tileir.ir.types import I1, Type
from tileir.serve.language.document.analysis import Analysis, TextDiagnostic
from tileir.serve.language.document.names import Name
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.tree import SyntaxTree
from tileir.serve.language.editing.layout import INDENTATION, Edit


class Fix(NamedTuple):
    """What an editor offers, and the edits it makes, in order of the text."""

    title: str
    edits: tuple[Edit, ...]


class Problem:
    """A finding, and the token and the operation at its place."""

    def __init__(self, syntax: SyntaxTree, analysis: Analysis, diagnostic: TextDiagnostic) -> None:
        self.syntax = syntax
        self.analysis = analysis
        self.diagnostic = diagnostic
        self.code, self.values = diagnostic.cause, diagnostic.values
        index = bisect_right(syntax.starts, diagnostic.start, 0, syntax.count) - 1
        self.token = max(index, 0)
        """The token at the place, or the last before it."""
        self.operation: OperationNode | None = syntax.operation_at(diagnostic.start)

    @property
    def text(self) -> str:
        """The token at the place."""
        return self.syntax.tokens[self.token]

    def replace(self, token: int, new: str) -> Edit:
        start = self.syntax.starts[token]
        return Edit(start, start + len(self.syntax.tokens[token]), new)

    def end(self, token: int) -> int:
        return self.syntax.end(token)

    def insert(self, offset: int, new: str) -> Edit:
        return Edit(offset, offset, new)

    def delete(self, token: int) -> Edit:
        """A token away, with the blanks before it."""
        start = self.end(token - 1) if token else 0
        if "\n" in self.syntax.text[start : self.syntax.starts[token]]:
            start = self.syntax.starts[token]
        return Edit(start, self.end(token), "")

    def head(self) -> range:
        """The tokens of the operation before its first region, from its name on."""
        operation = self.operation
        if operation is None or operation.name < 0:
            return range(0)
        last = operation.regions[0].opening if operation.regions else operation.last + 1
        return range(operation.name, last)

    def operands(self) -> list[int]:
        """The tokens that name values in the head."""
        return [token for token in self.head() if self.syntax.tokens[token][:1] == "%"]

    def type_of(self, token: int) -> Type | None:
        """The type of the value that a token names."""
        name = self.syntax.name_at(token)
        return self.analysis.type_of(name) if name is not None else None

    def values_in_sight(self) -> list[Name]:
        """The values that are defined before the place, and visible there."""
        return list(self.syntax.visible_values(self.token))

    def fresh(self, stem: str) -> str:
        """A name of a value that no other has: `%a_0` for `%a`."""
        taken = {name.text for name in self.syntax.names}
        number = 0
        while f"{stem}_{number}" in taken:
            number += 1
        return f"{stem}_{number}"

    def indentation(self, token: int) -> str:
        """The blanks before the first token of the line of a token."""
        start = self.syntax.text.rfind("\n", 0, self.syntax.starts[token]) + 1
        line = self.syntax.text[start:]
        return line[: len(line) - len(line.lstrip(" \t"))]


def close(word: str, words: Iterable[str], most: int = 3, alike: float = 0.6) -> list[str]:
    """Words that are spelled nearly so, the nearest first."""
    known = list(dict.fromkeys(words))
    found = difflib.get_close_matches(word, known, most, alike)
    # What differs only in the case of its letters is meant, however short it is.
    lower = [other for other in known if other.lower() == word.lower() and other not in found]
    return [other for other in [*lower, *found] if other != word][:most]


def same_type(written: str, shown: str) -> bool:
    """Whether a token is a type that a message shows."""
    return _plain(written) == _plain(shown)


def _plain(type: str) -> str:
    return type.replace("!cuda_tile.", "").replace("cuda_tile.", "").replace(" ", "").removeprefix("!")


_TYPE_WORDS = ("tile", "ptr", "token", "tensor_view", "partition_view", "strided_view", "gather_scatter_view")
_ELEMENTS = ("i1", "i4", "i8", "i16", "i32", "i64", *FORMATS)
_ELEMENT = re.compile(r"(?:\d+x)*([A-Za-z]\w*)")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
# More choices than this are a list to look up, not a remedy.
_MOST_CHOICES = 10


def unknown_operation(problem: Problem) -> Iterator[Fix]:
    word = problem.values["name"].rpartition(".")[2]
    names = [declared.mnemonic for declared in REGISTRY.by_name.values() if not declared.testing]
    place = problem.text.rfind(word)
    if place < 0:
        return
    start = problem.syntax.starts[problem.token] + place
    for meant in close(word, names):
        yield Fix(f"Change to '{meant}'", (Edit(start, start + len(word), meant),))


def unknown_value(problem: Problem) -> Iterator[Fix]:
    base = problem.values["name"].partition("#")[0]
    start = problem.syntax.starts[problem.token]
    for meant in close(base[1:], [name.text[1:] for name in problem.values_in_sight()], 5, 0.5):
        yield Fix(f"Change to '%{meant}'", (Edit(start, start + len(base), f"%{meant}"),))


def unknown_alias(problem: Problem) -> Iterator[Fix]:
    lead = problem.text[:1]
    names = [name.text for name in problem.syntax.names if name.kind == "alias" and name.definition is not None]
    for meant in close(problem.values["name"], [name[1:] for name in names if name[:1] == lead]):
        yield Fix(f"Change to '{lead}{meant}'", (problem.replace(problem.token, lead + meant),))


def unknown_symbol(problem: Problem) -> Iterator[Fix]:
    """A symbol that nothing defines, or that is no global."""
    syntax = problem.syntax
    wanted = []
    for operation in syntax.operations:
        if operation.declaration is GLOBAL:
            head = syntax.tokens[operation.first : operation.last + 1]
            wanted.extend([token for token in head if token[:1] == "@"][:1])
    for token in problem.head():
        if syntax.tokens[token][:1] == "@":
            for meant in close(syntax.tokens[token], wanted):
                yield Fix(f"Change to '{meant}'", (problem.replace(token, meant),))


def keyword(problem: Problem) -> Iterator[Fix]:
    """One of a list of keywords is wanted; another word stands there, or none."""
    choices = problem.values["choices"].split(", ")
    got = problem.values.get("got")
    token = problem.token
    if got:
        # What is verified is told at the operation; the word is somewhere in its head.
        token = next((t for t in (token, *problem.head()) if _bare(problem.syntax.tokens[t]) == got), -1)
        if token < 0:
            return
    written = _bare(problem.syntax.tokens[token])
    if _WORD.fullmatch(written) and written not in choices:
        meant = close(written, choices, alike=0.5)
        for choice in meant or (choices if len(choices) <= _MOST_CHOICES else []):
            new = problem.syntax.tokens[token].replace(written, choice)
            yield Fix(f"Change to '{choice}'", (problem.replace(token, new),))
    if not got and len(choices) <= _MOST_CHOICES:
        start = problem.syntax.starts[problem.token]
        after = problem.diagnostic.start > start
        for choice in choices:
            edit = problem.insert(problem.diagnostic.start, f" {choice}" if after else f"{choice} ")
            yield Fix(f"Insert '{choice}'", (edit,))


def unknown_type(problem: Problem) -> Iterator[Fix]:
    word = problem.values["name"].partition("<")[0]
    start = syntax_place(problem, word)
    if start < 0:
        return
    for meant in close(word, (*_ELEMENTS, *_TYPE_WORDS), alike=0.5):
        yield Fix(f"Change to '{meant}'", (Edit(start, start + len(word), meant),))


def wrong_element(problem: Problem) -> Iterator[Fix]:
    """An element type that a type cannot have, behind its dimensions."""
    found = _ELEMENT.match(problem.syntax.text, problem.diagnostic.start)
    if found is not None:
        for meant in close(found[1], _ELEMENTS, alike=0.5):
            yield Fix(f"Change to '{meant}'", (Edit(found.start(1), found.end(1), meant),))


def syntax_place(problem: Problem, word: str) -> int:
    """Where a word stands at the place of a finding, or in the token there."""
    text, start = problem.syntax.text, problem.diagnostic.start
    if text.startswith(word, start):
        return start
    found = re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", problem.text)
    # In `4xf33` the element type follows the dimensions.
    if found is None:
        found = re.search(rf"(?<=x){re.escape(word)}(?![\w.])", problem.text)
    return problem.syntax.starts[problem.token] + found.start() if found is not None else -1


def unknown_attribute(problem: Problem) -> Iterator[Fix]:
    """A word that one other word could be meant by: `div_by`, `same_elements`, `bounded`, .."""
    word = _bare(problem.text)
    for meant in close(word, problem.values["choices"].split(", "), alike=0.4):
        yield Fix(f"Change to '{meant}'", (problem.replace(problem.token, problem.text.replace(word, meant)),))


def _bare(token: str) -> str:
    return token.strip('"')


MISSPELLINGS: Final[dict[str, Callable[[Problem], Iterator[Fix]]]] = {
    "unknown-operation": unknown_operation,
    "undeclared-value": unknown_value,
    "undefined-alias": unknown_alias,
    "undefined-symbol": unknown_symbol,
    "unknown-keyword": keyword,
    "wrong-keyword": keyword,
    "unknown-predicate": unknown_attribute,
    "wrong-element-type": wrong_element,
    "unknown-type": unknown_type,
}
"""By the code of the finding."""


_SCOPES = ("device", "sys", "tl_blk")
_TERMINATORS = {ENTRY: "return", FOR: "continue", LOOP: "continue", IF: "yield", REDUCE: "yield", SCAN: "yield"}


def fixes(problem: Problem) -> Iterator[Fix]:
    """All fixes that are known for a finding, the most likely first."""
    for function in FIXES.get(problem.code, ()):
        yield from function(problem)


# --- what is missing, or too much ---


def _insert(problem: Problem) -> Iterator[Fix]:
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
        yield Fix("Insert '}'", (problem.insert(end, f"\n{indentation}}}"),))
    if wanted in (",", ")", "]", ">", "}", "("):
        yield Fix(f"Insert '{wanted}'", (problem.insert(end, wanted),))
    elif wanted in (":", "=", "->", "{"):
        yield Fix(f"Insert '{wanted}'", (problem.insert(end, f" {wanted}"),))
    elif wanted:
        follows = "" if problem.syntax.text[end : end + 1] in (" ", "\n", "") else " "
        yield Fix(f"Insert '{wanted}'", (problem.insert(end, f" {wanted}{follows}"),))


def _open_at(problem: Problem) -> OperationNode | None:
    """The innermost operation with a region that is not closed."""
    tokens = problem.syntax.tokens
    for operation in reversed(problem.syntax.operations):
        if operation.regions and tokens[operation.regions[-1].closing] != "}":
            return operation
    return None


def _close_string(problem: Problem) -> Iterator[Fix]:
    yield Fix("Insert '\"'", (problem.insert(problem.end(problem.token), '"'),))


def _delete_token(problem: Problem) -> Iterator[Fix]:
    yield Fix(f"Delete '{problem.text}'", (problem.delete(problem.token),))


def _make_float(problem: Problem) -> Iterator[Fix]:
    yield Fix(f"Change to '{problem.text}.0'", (problem.replace(problem.token, f"{problem.text}.0"),))


def _delete_scope(problem: Problem) -> Iterator[Fix]:
    for token in problem.head():
        if problem.syntax.tokens[token] in _SCOPES:
            yield Fix(f"Delete '{problem.syntax.tokens[token]}'", (problem.delete(token),))
            return


def _insert_scope(problem: Problem) -> Iterator[Fix]:
    for token in problem.head():
        if problem.syntax.tokens[token] == problem.values["ordering"]:
            for scope in _SCOPES:
                yield Fix(f"Insert '{scope}'", (problem.insert(problem.end(token), f" {scope}"),))
            return


# --- results and names ---


def _result_count(problem: Problem) -> Iterator[Fix]:
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
            yield Fix(f"Name all results: '{stem}:{defined}'", (problem.insert(behind, f":{defined}"),))
        title = f"Name the other result{'s' if len(names) > 1 else ''}: '{', '.join(names)}'"
        yield Fix(title, (problem.insert(behind, "".join([f", {name}" for name in names])),))
    elif bound > defined >= 1 and len(operation.results) > defined:
        kept = operation.results[defined - 1]
        start, end = problem.end(kept), problem.end(last)
        words = problem.syntax.text[problem.syntax.starts[operation.results[defined]] : end]
        yield Fix(f"Delete '{words}'", (Edit(start, end, ""),))
    elif bound > defined == len(operation.results) == 1 and problem.syntax.tokens[last + 1] == ":":
        yield Fix(f"Name one result: '{stem}'", (Edit(problem.end(last), problem.end(last + 2), ""),))


def _no_results(problem: Problem) -> Iterator[Fix]:
    operation = problem.operation
    if operation is not None and operation.name > operation.first:
        start, end = problem.syntax.starts[operation.first], problem.syntax.starts[operation.name]
        yield Fix(f"Delete '{problem.syntax.text[start:end].strip()}'", (Edit(start, end, ""),))


def _redefinition(problem: Problem) -> Iterator[Fix]:
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
    yield Fix(f"Rename to '{new}'", tuple(edits))
    yield Fix(f"Rename to '{new}'", (edits[0],))


# --- terminators ---


def _terminator(problem: Problem) -> Iterator[Fix]:
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
            yield Fix(f"Insert '{word}'", (problem.insert(problem.end(region.closing - 1), f"\n{inner}{word}"),))
            return


def _other_terminator(problem: Problem) -> Iterator[Fix]:
    """`yield` in a loop, `continue` in a branch of `if` that has results."""
    around = problem.operation.parent if problem.operation is not None else None
    word = _TERMINATORS.get(around.declaration) if around is not None and around.declaration is not None else None
    if word is not None and problem.operation is not None and problem.operation.name >= 0:
        yield Fix(f"Change to '{word}'", (problem.replace(problem.operation.name, word),))


# --- types ---


def _replace_types(problem: Problem) -> Iterator[Fix]:
    """The type that a value has, where another one is written."""
    tokens = problem.syntax.tokens
    new = problem.values["expected"].removeprefix("!cuda_tile.")
    found = [token for token in problem.head() if same_type(tokens[token], problem.values["written"])]
    title = f"Change the type to '{new}'"
    for token in found:
        prefix = "!cuda_tile." if tokens[token].startswith("!cuda_tile.") else ""
        yield Fix(title, (problem.replace(token, prefix + new),))
    if len(found) > 1:
        yield Fix(title, tuple([problem.replace(token, new) for token in found]))


def _missing_types(problem: Problem) -> Iterator[Fix]:
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
        yield Fix(f"Insert ': {spelling}'", (problem.insert(end, f" : {spelling}"),))


def _constant_element(problem: Problem) -> Iterator[Fix]:
    """`<i32: 4> : tile<i64>`: the element type is that of the tile."""
    for token in problem.head():
        if problem.syntax.tokens[token] == problem.values["written"]:
            new = problem.values["expected"]
            yield Fix(f"Change to '{new}'", (problem.replace(token, new),))
            return


FIXES: Final[dict[str, tuple[Callable[[Problem], Iterator[Fix]], ...]]] = {
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

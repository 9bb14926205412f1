"""Remedies for what is spelled wrong: operations, values, symbols, aliases, keywords, types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from tileir.dialect.ops import GLOBAL
from tileir.ir.floats import FORMATS
from tileir.ir.registry import REGISTRY
from tileir.serve.language.layout import Edit
from tileir.serve.language.problems import Problem, Remedy, close

_TYPE_WORDS = ("tile", "ptr", "token", "tensor_view", "partition_view", "strided_view", "gather_scatter_view")
_ELEMENTS = ("i1", "i4", "i8", "i16", "i32", "i64", *FORMATS)
_ELEMENT = re.compile(r"(?:\d+x)*([A-Za-z]\w*)")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
# More choices than this are a list to look up, not a remedy.
_MOST_CHOICES = 10


def unknown_operation(problem: Problem) -> Iterator[Remedy]:
    word = problem.values["name"].rpartition(".")[2]
    names = [declared.mnemonic for declared in REGISTRY.by_name.values() if not declared.testing]
    place = problem.text.rfind(word)
    if place < 0:
        return
    start = problem.syntax.starts[problem.token] + place
    for meant in close(word, names):
        yield Remedy(f"Change to '{meant}'", (Edit(start, start + len(word), meant),))


def unknown_value(problem: Problem) -> Iterator[Remedy]:
    base = problem.values["name"].partition("#")[0]
    start = problem.syntax.starts[problem.token]
    for meant in close(base[1:], [name.text[1:] for name in problem.values_in_sight()], 5, 0.5):
        yield Remedy(f"Change to '%{meant}'", (Edit(start, start + len(base), f"%{meant}"),))


def unknown_alias(problem: Problem) -> Iterator[Remedy]:
    lead = problem.text[:1]
    names = [name.text for name in problem.syntax.names if name.kind == "alias" and name.definition is not None]
    for meant in close(problem.values["name"], [name[1:] for name in names if name[:1] == lead]):
        yield Remedy(f"Change to '{lead}{meant}'", (problem.replace(problem.token, lead + meant),))


def unknown_symbol(problem: Problem) -> Iterator[Remedy]:
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
                yield Remedy(f"Change to '{meant}'", (problem.replace(token, meant),))


def keyword(problem: Problem) -> Iterator[Remedy]:
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
            yield Remedy(f"Change to '{choice}'", (problem.replace(token, new),))
    if not got and len(choices) <= _MOST_CHOICES:
        start = problem.syntax.starts[problem.token]
        after = problem.diagnostic.start > start
        for choice in choices:
            edit = problem.insert(problem.diagnostic.start, f" {choice}" if after else f"{choice} ")
            yield Remedy(f"Insert '{choice}'", (edit,))


def unknown_type(problem: Problem) -> Iterator[Remedy]:
    word = problem.values["name"].partition("<")[0]
    start = syntax_place(problem, word)
    if start < 0:
        return
    for meant in close(word, (*_ELEMENTS, *_TYPE_WORDS), alike=0.5):
        yield Remedy(f"Change to '{meant}'", (Edit(start, start + len(word), meant),))


def wrong_element(problem: Problem) -> Iterator[Remedy]:
    """An element type that a type cannot have, behind its dimensions."""
    found = _ELEMENT.match(problem.syntax.text, problem.diagnostic.start)
    if found is not None:
        for meant in close(found[1], _ELEMENTS, alike=0.5):
            yield Remedy(f"Change to '{meant}'", (Edit(found.start(1), found.end(1), meant),))


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


def unknown_attribute(problem: Problem) -> Iterator[Remedy]:
    """A word that one other word could be meant by: `div_by`, `same_elements`, `bounded`, .."""
    word = _bare(problem.text)
    for meant in close(word, problem.values["choices"].split(", "), alike=0.4):
        yield Remedy(f"Change to '{meant}'", (problem.replace(problem.token, problem.text.replace(word, meant)),))


def _bare(token: str) -> str:
    return token.strip('"')


MISSPELLINGS: Final[dict[str, Callable[[Problem], Iterator[Remedy]]]] = {
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

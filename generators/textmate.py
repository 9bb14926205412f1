"""The TextMate grammar of tile programs.

A grammar of this kind sees a line at a time and knows no operation's syntax: a word is what it is called, wherever it
stands.  Words that are the name of an operation and something else as well (`addf` is also a mode of atomic operations)
are operations where one can begin.  The language server knows better, and its colors go on top of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

SCOPE: Final = "source.tileir"
NOTE: Final = "Written by `make docs` from the declarations; edit those, or generators/textmate.py."
Pattern = dict[str, Any]


class Words(NamedTuple):
    """Each list is sorted and has no word of another, but for `operations`, of which `also` may mean something else."""

    control: tuple[str, ...]
    definitions: tuple[str, ...]
    operations: tuple[str, ...]
    types: tuple[str, ...]
    elements: tuple[str, ...]
    constants: tuple[str, ...]
    booleans: tuple[str, ...]
    syntax: tuple[str, ...]
    also: tuple[str, ...]


_PROGRAM: Final = [
    "comment",
    "generic",
    "string",
    "type",
    "names",
    "attribute",
    "words",
    "element",
    "number",
    "operator",
]
# Names may hold `$`, `.` and `-` as well, so `\b` would end in the middle of some.
_BEFORE: Final = r"(?<![\w$.%@#!^-])"
_AFTER: Final = r"(?![\w$]|\.\w)"


def grammar(words: Words) -> Pattern:
    program = ("comment", "generic", "string", "type", "names", "attribute", "words", "element", "number", "operator")
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "information_for_contributors": [NOTE],
        "name": "CUDA Tile IR",
        "scopeName": SCOPE,
        "fileTypes": ["tileir", "tileir.mlir"],
        "patterns": [_include("program")],
        "repository": {
            "program": {"patterns": [_include(name) for name in program]},
            "comment": _match("comment.line.double-slash", r"//.*$"),
            "generic": _generic(),
            "string": _string(),
            "type": _type(words),
            "inside_type": _inside_type(words),
            "names": {"patterns": _names()},
            # In front of its value; one without a value, as `tileir.preview`, by the dot in its name.
            "attribute": _match(
                "entity.other.attribute-name",
                r"[A-Za-z_][\w$.]*(?=\s*=(?!=))|\b(?!cuda_tile\.|builtin\.)[A-Za-z_]\w*\.[\w$.]+(?=\s*[,}])",
            ),
            "words": {"patterns": _words(words)},
            "element": _match("support.type.element", _BEFORE + _choice(words.elements) + _AFTER),
            "number": _match("constant.numeric", r"(?<![\w$.])(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)"),
            "operator": {
                "patterns": [
                    _match("keyword.operator.arrow", r"->"),
                    _match("keyword.operator.assignment", r"="),
                    _match("keyword.operator", r"[-+*/?|@]"),
                    _match("punctuation.separator", r"::|[,:]"),
                    _match("punctuation.section", r"[(){}\[\]<>]"),
                ]
            },
        },
    }


def _generic() -> Pattern:
    """The name of an operation in quotes, as in MLIR's generic form."""
    quotes = "punctuation.definition.string"
    captures = _captures(f"{quotes}.begin", "support.function.operation", f"{quotes}.end")
    return {"match": r'(")([A-Za-z_]\w*\.[\w$.]+)(")(?=\s*[(<])', "captures": captures}


def _string() -> Pattern:
    """Up to its end or that of its line: a string that is not closed ends there for the parser as well."""
    return {
        "name": _scope("string.quoted.double"),
        "begin": '"',
        "end": r'"|$',
        "beginCaptures": {"0": {"name": _scope("punctuation.definition.string.begin")}},
        "endCaptures": {"0": {"name": _scope("punctuation.definition.string.end")}},
        "patterns": [
            _match("constant.character.escape", r'\\(?:[nt"\\]|[0-9A-Fa-f]{2})'),
            _match("invalid.illegal.escape", r"\\."),
        ],
    }


def _type(words: Words) -> Pattern:
    """A type of the dialect: inside its brackets, `x` separates extents."""
    begins = r"(?<![\w$.%@#^-])"
    return {
        "patterns": [
            _bracketed_type(begins, [word for word in words.types if word != "token"]),
            _match("support.type", rf"{begins}!?(?:cuda_tile\.)?{_choice(words.types)}(?![\w$.]|\s*=)"),
        ]
    }


def _bracketed_type(begins: str, names: Iterable[str]) -> Pattern:
    return {
        "name": _scope("meta.type"),
        "begin": rf"{begins}(!?(?:cuda_tile\.)?{_choice(names)})[ \t]*(<)",
        "end": ">",
        "beginCaptures": _captures("support.type", "punctuation.section.type.begin"),
        "endCaptures": {"0": {"name": _scope("punctuation.section.type.end")}},
        "patterns": [_include("inside_type")],
    }


def _inside_type(words: Words) -> Pattern:
    attribute = {
        "begin": r"(#cuda_tile\.\w+)?(<)",
        "end": ">",
        "beginCaptures": _captures("variable.other.constant"),
        "patterns": [_include("inside_type")],
    }
    extent = {
        "match": r"(?:(\d+)|(\?))(x)(?=[\d?!A-Za-z])",
        "captures": _captures("constant.numeric.extent", "constant.language.extent", "keyword.operator.extent"),
    }
    return {
        "patterns": [
            _include("comment"),
            _include("attribute"),
            attribute,
            extent,
            _match("constant.language.extent", r"\?"),
            # After an `x`, no word begins for `\w`: the pattern has no condition on what precedes an element.
            _match("support.type.element", _choice(words.elements) + r"(?![\w$.])"),
            # `4xptr<f32>`: a type after an extent.
            _bracketed_type(r"(?<=[\d?]x)", words.types),
            _include("type"),
            _match("constant.language", _choice(words.constants) + _AFTER),
            _match("constant.numeric", r"\d+"),
            _include("names"),
            _include("words"),
            _include("operator"),
        ]
    }


def _names() -> list[Pattern]:
    return [
        _match("variable.other", r"%[\w$.-]+(?:#\d+)?"),
        _match("entity.name.function", r'@(?:[A-Za-z_$][\w$.-]*|"(?:[^"\\]|\\.)*"?)'),
        _match("entity.name.label", r"\^[\w$.-]+"),
        _match("variable.other.constant", r"#(?:[A-Za-z_][\w$.-]*|\d+)"),
        _match("entity.name.type.alias", r"![A-Za-z_][\w$.-]*"),
    ]


def _words(words: Words) -> list[Pattern]:
    prefix = r"(?:(?:cuda_tile|builtin)\.)?"
    # Where an operation can begin: at the beginning of a line, behind its results, inside of braces or behind them.
    begins = r"(?:^\s*|(?<=[={}])\s*)"
    ambiguous = []
    for scope, every in _operation_scopes(words):
        both = [word for word in every if word in words.also]
        if both:
            ambiguous.append({"match": rf"{begins}({prefix}{_choice(both)}){_AFTER}", "captures": _captures(scope)})
    patterns = [
        _match(scope, rf"{_BEFORE}{prefix}{_choice([word for word in every if word not in words.also])}{_AFTER}")
        for scope, every in _operation_scopes(words)
    ]
    # `global constant @table`, `alloca .. global`: a word of the syntax unless an operation begins with it.
    constants = [*words.constants, *[word for word in words.also if word in words.operations and word != "constant"]]
    keywords = [*words.syntax, *[word for word in words.also if word not in constants]]
    return [
        *ambiguous,
        *patterns,
        _match("constant.language", _BEFORE + _choice(constants) + _AFTER),
        _match("constant.language.boolean", _BEFORE + _choice(words.booleans) + _AFTER),
        _match("keyword.other", _BEFORE + _choice(keywords) + _AFTER),
    ]


def _operation_scopes(words: Words) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("keyword.control", words.control),
        ("storage.type", words.definitions),
        ("support.function.operation", words.operations),
    )


def _scope(name: str) -> str:
    return f"{name}.tileir"


def _match(name: str, pattern: str) -> Pattern:
    return {"name": _scope(name), "match": pattern}


def _captures(*names: str) -> Pattern:
    """The scopes of the groups of a regular expression."""
    return {str(number): {"name": _scope(name)} for number, name in enumerate(names, 1)}


def _include(name: str) -> Pattern:
    return {"include": f"#{name}"}


def _choice(every: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(every, key=lambda word: (-len(word), word)))})"

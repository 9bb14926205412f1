"""A regular expression that accepts the statements a grammar line describes.

Loose about attributes, which may be any text without values, and strict about everything else: words, punctuation, the
number and order of values and types, what is optional and what is a list.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"type\(%\w+\)|\.\.\.|->|[@%]?\w+|\S")
_VALUE = r"%\w+(?::\d+)?"
_TYPE = r"!?[a-z][\w.]*(?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)?"
_ATTRIBUTE = r"(?:\"[^\"]*\"|[^%\"]+?)"
_BLANKS = r"\s*"


def grammar_pattern(line: str) -> str:
    tokens = _TOKEN.findall(line)
    pattern, end = _alternatives(tokens, 0)
    if end != len(tokens):
        raise ValueError(f"unbalanced: {line}")
    return pattern


def _alternatives(tokens: list[str], position: int) -> tuple[str, int]:
    """sequence (`|` sequence)*, up to a closing parenthesis or the end"""
    choices: list[str] = []
    while True:
        pattern, position = _sequence(tokens, position)
        choices.append(pattern)
        if position < len(tokens) and tokens[position] == "|":
            position += 1
            continue
        return (choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"), position


def _sequence(tokens: list[str], position: int) -> tuple[str, int]:
    items: list[str] = []
    while position < len(tokens) and tokens[position] not in (")", "|"):
        if tokens[position : position + 2] == [",", "..."]:
            # A list of `%x: TYPE` or of `name = value` repeats the three together.
            together = tokens[position - 2] == "=" or tokens[position - 2 : position] == [":", "TYPE"]
            repeated = _BLANKS.join(items[-3:] if together else items[-1:])
            items.append(f"(?:{_BLANKS},{_BLANKS}{repeated})*")
            position += 2
            continue
        item, position = _item(tokens, position)
        if position < len(tokens) and tokens[position] == "?":
            item = f"(?:{item})?"
            position += 1
        items.append(item)
    return _BLANKS.join(items), position


def _item(tokens: list[str], position: int) -> tuple[str, int]:
    token = tokens[position]
    if token == "(":
        inner, end = _alternatives(tokens, position + 1)
        # Parentheses that hold a choice or may be left out belong to the grammar, others to the text.
        grouping = tokens[end + 1 : end + 2] == ["?"] or inner.startswith("(?:")
        return (inner if grouping else rf"\({_BLANKS}{inner}{_BLANKS}\)"), end + 1
    if token == "{" and tokens[position + 2 : position + 3] == ["}"]:
        return r"\{.*\}", position + 3
    if token.startswith("type("):
        return _TYPE, position + 1
    if token.startswith("%"):
        return _VALUE, position + 1
    if token.startswith("@"):
        return r"@\w+", position + 1
    if token.isupper() and len(token) > 1:
        return (_TYPE if token == "TYPE" else _ATTRIBUTE), position + 1
    return re.escape(token), position + 1

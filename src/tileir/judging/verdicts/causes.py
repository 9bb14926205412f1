"""What failures are clustered by: a message without the names, numbers and places of one program.

Two programs that fail for one reason report it with different values, shapes and lines.  A cause keeps
the text of the message and the names of the dialect (`'cuda_tile.addi'`), and writes for the rest what it is: `NAME`,
`TYPE`, `N`, `PATH`.  It is the same on every machine, and its own cause.  It is read from the text, since messages
come from NVIDIA's assembler, cuTile, Triton and modules of users too, none of which has codes.  Nothing else is decided
by the text: the class and the code of a failure define what it is (`exceptions.py`).
"""

from __future__ import annotations

import re
import traceback
from functools import cache
from pathlib import PurePath
from typing import Any

import tileir.dialect.ops  # noqa: F401  # which declares the operations
from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, TYPES
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir.registry import REGISTRY

DIFFERENT = "results differ"
"""How the cause begins where results are not those of the first engine."""

LONGEST = 240
"""Characters of a cause; the rest of a message is about the one program."""

# `kernels/a.mlir:3:14: error: `, `<stdin>:1:1: `, `error: `.
_PLACE = re.compile(r"^(?:\S[^\n:]*:\d+(?::\d+)?: )?(?:(?:error|warning|remark|note|fatal error): )?")
_QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_SIGIL = re.compile(r"[%@^#!]+(?:[\w$.-]+|\"[^\"\n]*\")(?:#\d+)?")
_PATH = re.compile(r"(?<![\w<])(?:~|\.{1,2})?/[\w.+@-]+(?:/[\w.+@-]*)+(?::\d+)*")
# Types of the dialect that stand in a text without quotes, and what they hold in angle brackets.
_BRACKETED = re.compile(r"!?\b(?:cuda_tile\.)?(?:tile|ptr|tensor_view|partition_view|[a-z_]*_view|array|dense)<")
_SHAPE = re.compile(r"(?<![\w.])(?:\d+|\?)(?:x(?:\d+|\?))+(?:x[a-z]\w*)?\b")
_REPLACED = (
    (_PATH, "PATH"),
    # Addresses and digests.
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b"), "N"),
    (_SHAPE, "N"),
    # Numbers: whole, with a point and an exponent, and what is none.
    (re.compile(r"(?<![\w.])[-+]?(?:\d+(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.]*\w)"), "N"),
    (re.compile(r"(?<![\w.])[-+]?(?:inf|nan|NaN|Infinity)\b"), "N"),
    (re.compile(r"\bN[jJ]\b"), "N"),
    (re.compile(r"N(?:(?:, ?| x | )N)+"), "N"),
    (re.compile(r"\s+"), " "),
)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*")
# What the parser expects, and what may stand in quotes without being anybody's name.
_WORDS = (
    *("at", "in", "to", "step", "iter_values", "true", "false", "dense", "identities", "loc", "callsite", "fused"),
    *("unknown", "token", "module", "entry", "return", "interpreter", "cpu", "tileiras", "triton", "numpy", "torch"),
    *("float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "bool"),
)


def cause_of(message: str) -> str:
    """The cause in a message: its first line, without what belongs to one program."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    line = _without_types(_QUOTED.sub(_unquoted, _PLACE.sub("", line)))
    line = _SIGIL.sub(_without_sigil, line)
    for pattern, word in _REPLACED:
        line = pattern.sub(word, line)
    line = line.strip()
    return line if len(line) <= LONGEST else line[: LONGEST - 3].rstrip() + "..."


def cause_of_exception(error: BaseException) -> str:
    """The cause of an exception that no user should see: its class, the function of tileir in which it arose, and its
    message; of one that was raised for another, that one's."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = [(_own_module(frame.filename), frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    places = [f" in {module}.{name}" for module, name in frames if module]
    words = cause_of(str(error))
    return f"{type(error).__name__}{places[-1] if places else ''}" + (f": {words}" if words else "")


def cause_of_crash(signal: str, stack: str = "") -> str:
    """The signal that ended a process, and the function of tileir that `stack`, from `faulthandler`, names."""
    for file, function in re.findall(r'^  File "([^"\n]*)", line \d+ in (.*)$', stack, re.MULTILINE):
        found = _own_module(file)
        if found:
            return f"{signal} in {found}.{function}"
    return signal


def reason_of(cause: str) -> str:
    """What identifies a kind of failure.  No message reports why results differ; their type explains little."""
    return DIFFERENT if cause.startswith(DIFFERENT) else cause


def _unquoted(found: re.Match[str]) -> str:
    """What stands for something in quotes: itself, if the dialect has the word."""
    mark, text = found[0][0], found[1] if found[1] is not None else found[2]
    if not _IDENTIFIER.fullmatch(text):
        if text[:1] == "!" or "<" in text or _SHAPE.search(text):
            return f"{mark}TYPE{mark}"
        # Punctuation that the parser expects has no letters.
        kept = not any(character.isalnum() for character in text) and len(text) <= 3
        return found[0] if kept else f"{mark}NAME{mark}"
    if text in ELEMENT_TYPES:
        return f"{mark}TYPE{mark}"
    return found[0] if text in _vocabulary() or text in _PLACEHOLDERS else f"{mark}NAME{mark}"


def _without_sigil(found: re.Match[str]) -> str:
    mark, text = found[0][0], found[0][1:]
    if mark == "!":
        return "TYPE"
    # Operands and results are counted: `operand #0`.
    return "N" if mark == "#" and text.isdecimal() else "NAME"


_PLACEHOLDERS = ("NAME", "TYPE", "N", "PATH")


def _without_types(line: str) -> str:
    """The line with `TYPE` for each type, whose angle brackets are nested."""
    while found := _BRACKETED.search(line):
        depth, end = 1, found.end()
        while end < len(line) and depth:
            depth += {"<": 1, ">": -1}.get(line[end], 0)
            end += 1
        line = f"{line[: found.start()]}TYPE{line[end:]}"
    return line


@cache
def _vocabulary() -> frozenset[str]:
    """The names of the dialect: of operations, their operands and attributes, and keywords."""
    found = set(_WORDS)
    for name, declaration in REGISTRY.by_name.items():
        parts: tuple[Any, ...] = (*declaration.operands, *declaration.results, *declaration.attributes)
        found.update((name, name.rpartition(".")[2], *[each.name for each in parts]))
    for page in (*ATTRIBUTES, *TYPES):
        found.update((page.name, f"cuda_tile.{page.name}"))
    for kind in ENUM_KINDS.values():
        found.update([kind.name, *kind.values])
    return frozenset(found)


def _own_module(file: str) -> str:
    """The module of tileir that a file is, as `execute.cpu.engine`; empty for others."""
    parts = PurePath(file).with_suffix("").parts
    if "tileir" not in parts or not file.endswith(".py"):
        return ""
    last = len(parts) - 1 - parts[::-1].index("tileir")
    # A checkout may be called so, too: the package has layers.
    inside = parts[last + 1 :]
    return ".".join(inside[:-1] if inside and inside[-1] == "__init__" else inside)

"""Writes the highlighting of tile programs for editors: `python -m tileir.tools.highlighting [DIRECTORY]`.

One TextMate grammar, which Visual Studio Code, Sublime Text, JetBrains' editors, `bat` and others read, and the lists
of words in the files for Vim and Emacs.  The words come from the declarations (`highlighting_words`): the same
declarations give the same bytes, and `make docs-check` compares.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Final

from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, ToolFailure
from tileir.tools.highlighting_textmate import grammar
from tileir.tools.highlighting_words import Words, words
from tileir.tools.output import write_output
from tileir.tools.programs import reason, run_process

DIRECTORY: Final = "editors"
TEXTMATE: Final = os.path.join("vscode", "syntaxes", "tileir.tmLanguage.json")
VIM: Final = os.path.join("vim", "syntax", "tileir.vim")
EMACS: Final = os.path.join("emacs", "tileir-mode.el")

# What stands between these marks is written here; the rest of the file is by hand.
_BETWEEN: Final = re.compile(r"(?<=words: begin\n).*?(?=^[^\n]*words: end$)", re.DOTALL | re.MULTILINE)
_WIDTH: Final = 100


def main() -> int:
    return run_process("tileir.tools.highlighting", run, sys.argv[1:])


def run(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: python -m tileir.tools.highlighting [DIRECTORY]", file=sys.stderr)
        return EXIT_USAGE
    directory = arguments[0] if arguments else DIRECTORY
    for name, text in files(directory).items():
        write_output(os.path.join(directory, name), text)
    return EXIT_FINE


def files(directory: str) -> dict[str, str]:
    """What the files of a directory should hold: the marks in those that are partly written by hand are looked up."""
    found = words()
    texts = {TEXTMATE: json.dumps(grammar(found), indent=2) + "\n"}
    lists: tuple[tuple[str, Callable[[Words], str]], ...] = ((VIM, vim_words), (EMACS, emacs_words))
    for name, written in lists:
        path = os.path.join(directory, name)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise ToolFailure(f"cannot read '{path}': {reason(error)}", EXIT_USAGE) from None
        place = _BETWEEN.search(text)
        if place is None:
            raise ToolFailure(f"'{path}' has no place for words: lines 'words: begin' and 'words: end'", EXIT_USAGE)
        texts[name] = text[: place.start()] + written(found) + text[place.end() :]
    return texts


def vim_words(found: Words) -> str:
    """`syntax keyword` lines; groups are linked to colours by the file around them."""
    groups = (
        ("tileirControl", found.control),
        ("tileirDefinition", found.definitions),
        ("tileirOperation", found.operations),
        ("tileirType", (*found.types, *found.elements)),
        ("tileirConstant", found.constants),
        ("tileirBoolean", found.booleans),
        ("tileirWord", found.syntax),
    )
    return "".join([f"syntax keyword {group} {line}\n" for group, every in groups for line in _lines(every)])


def emacs_words(found: Words) -> str:
    groups = (
        ("control", "Operations that change what runs next.", found.control),
        ("definitions", "Operations that define a symbol.", found.definitions),
        ("operations", "All other operations.", found.operations),
        ("types", "Types of the dialect and of elements.", (*found.types, *found.elements)),
        ("constants", "Words for the values of attributes.", (*found.constants, *found.booleans)),
        ("syntax", "Other words of the syntax.", found.syntax),
    )
    return "\n".join([_emacs_constant(*group) for group in groups])


def _emacs_constant(name: str, documentation: str, every: tuple[str, ...]) -> str:
    lines = "\n    ".join(_lines([f'"{word}"' for word in every]))
    return f'(defconst tileir-mode--{name}\n  \'({lines})\n  "{documentation}")\n'


def _lines(every: Iterable[str]) -> list[str]:
    """Words in lines that are not too long."""
    lines: list[str] = []
    for word in every:
        if lines and len(lines[-1]) + 1 + len(word) <= _WIDTH:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


if __name__ == "__main__":
    sys.exit(main())

"""The highlighting of tile programs in editors.

One TextMate grammar (`textmate.py`), which Visual Studio Code, Sublime Text, JetBrains' editors, `bat` and others read,
and the lists of words in the files for Vim and Emacs.  All words come from the declarations and the documentation.
Words of the syntax are those in small letters in the line that shows how a thing is written (`grammar`): names of
attributes are in capitals there, and regions in braces.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import Final

from generators import with_generated
from generators.textmate import Words, grammar
from tileir.analyze.documentation.grammar import body
from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, TYPES
from tileir.declarations import declarations
from tileir.dialect.attributes import ARCHITECTURES, HINTS_OF_KIND
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import SYMBOL, SYMBOL_TABLE
from tileir.ir.versions import NEWEST

TEXTMATE: Final = "editors/vscode/syntaxes/tileir.tmLanguage.json"
VIM: Final = "editors/vim/syntax/tileir.vim"
EMACS: Final = "editors/emacs/tileir-mode.el"

# What locations and builtin attributes are written with; MLIR's own, so no declaration has them.
_BUILTIN: Final = ("loc", "callsite", "fused", "unknown", "at", "dense", "array", "unit")
_BOOLEANS: Final = ("false", "true")
_CONTROL_CHAPTER: Final = "Control flow"
# Left out of a line: values and types of them, regions, quoted characters.
_NO_WORD: Final = re.compile(r"type\(%\w+\)|%\w+|\{ \w+ \}|@\w+|#[\w.]+")
_WORD: Final = re.compile(r"(?<![\w#%@.])[a-z]\w*(?![\w.])")


def highlighting() -> dict[str, str]:
    """The text of each file, by its path from the top of the repository."""
    found = words()
    return {
        TEXTMATE: json.dumps(grammar(found), indent=2) + "\n",
        VIM: with_generated(VIM, vim_words(found), '" words: begin', '" words: end'),
        EMACS: with_generated(EMACS, emacs_words(found), ";; words: begin", ";; words: end"),
    }


def words() -> Words:
    every = [declaration for declaration in declarations() if declaration.syntax]
    control = {name for d in every if d.chapter == _CONTROL_CHAPTER for name in names(d)}
    definitions = {name for d in every if d.has_trait(SYMBOL) or d.has_trait(SYMBOL_TABLE) for name in names(d)}
    operations = {name for d in every for name in names(d)} - control - definitions
    types = {documentation.name for documentation in TYPES} - {"string", "function"}
    constants = {word for kind in ENUM_KINDS.values() for word in (*kind.values, *kind.aliases)}
    lines = [body(declaration) for declaration in every]
    lines += [documentation.syntax for documentation in (*TYPES, *ATTRIBUTES)]
    syntax = {word for line in lines for word in _WORD.findall(_NO_WORD.sub(" ", line))}
    syntax |= {hint for hints in HINTS_OF_KIND.values() for hint in hints}
    syntax |= {*_BUILTIN, *ARCHITECTURES, "type"} - {"default"}
    also = (operations | control | definitions) & (constants | syntax | types)
    syntax -= constants | operations | control | definitions | types | set(ELEMENT_TYPES) | set(_BOOLEANS)
    return Words(
        control=_sorted(control | {"else"}),
        definitions=_sorted(definitions),
        operations=_sorted(operations),
        types=_sorted(types),
        elements=_sorted(set(ELEMENT_TYPES)),
        constants=_sorted(constants - operations - set(_BOOLEANS)),
        booleans=_BOOLEANS,
        syntax=_sorted(syntax - {"else"}),
        also=_sorted(also),
    )


def names(declaration: OperationDeclaration) -> tuple[str, ...]:
    """What an operation is called in texts, of any version, without the name of its dialect."""
    spellings = {declaration.mnemonic, declaration.spelled_name(NEWEST), *declaration.aliases}
    return tuple(sorted({spelling.rpartition(".")[2] for spelling in spellings}))


def _sorted(found: set[str]) -> tuple[str, ...]:
    return tuple(sorted(found))


def vim_words(found: Words) -> str:
    """`syntax keyword` lines; groups are linked to colors by the file around them."""
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
    return textwrap.wrap(" ".join(every), 100, break_on_hyphens=False)

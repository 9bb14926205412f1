"""The words that highlighters colour, by what they are: all of them from the declarations and the documentation.

Words of the syntax are those in small letters in the line that shows how a thing is written (`grammar`): names of
attributes are in capitals there, and regions in braces.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tileir.analyze.documentation.grammar import body
from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, TYPES
from tileir.declarations import declarations
from tileir.dialect.attributes import ARCHITECTURES, HINTS_OF_KIND
from tileir.dialect.enums import ENUM_KINDS
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import SYMBOL, SYMBOL_TABLE
from tileir.ir.versions import NEWEST

# What locations and builtin attributes are written with; MLIR's own, so no declaration has them.
_BUILTIN: Final = ("loc", "callsite", "fused", "unknown", "at", "dense", "array", "unit")
_BOOLEANS: Final = ("false", "true")
_CONTROL_CHAPTER: Final = "Control flow"
# Left out of a line: values and types of them, regions, quoted characters.
_NO_WORD: Final = re.compile(r"type\(%\w+\)|%\w+|\{ \w+ \}|@\w+|#[\w.]+")
_WORD: Final = re.compile(r"(?<![\w#%@.])[a-z]\w*(?![\w.])")


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


def words() -> Words:
    every = declarations()
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

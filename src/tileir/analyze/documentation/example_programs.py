"""Whole programs around the examples of the declarations.

An example is a statement that uses values it does not define.  Their types are found by asking the parser: each value
starts as a `tile<i1>`, and whenever the parser says that a use expects another type, the value gets that one.
"""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.dialect.ops import BREAK, BUILTIN_MODULE, CONTINUE, ENTRY, GET_GLOBAL, GLOBAL, MODULE, YIELD
from tileir.interface import parse
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import ParseError

# What stands around a statement that cannot stand alone in an entry.
FRAMES: Final[dict[OperationDeclaration, str]] = {
    BREAK: "%r = loop : tile<f32> {{\n{example}\n}}",
    CONTINUE: "%r = loop iter_values(%carried = %x) : tile<f32> -> tile<f32> {{\n{example}\n}}",
    YIELD: "%r = if %condition -> (tile<f32>) {{\n{example}\n}} else {{\n{example}\n}}",
}
# What the module holds besides the entry.
COMPANIONS: Final[dict[OperationDeclaration, str]] = {GET_GLOBAL: "global @table <f32: [0.5, 1.5]> : tile<2xf32>"}
# Examples that are items of a module, or modules.
ITEMS: Final = (ENTRY, GLOBAL)
MODULES: Final = (MODULE, BUILTIN_MODULE)

_VALUE = re.compile(r"%[A-Za-z_]\w*")
_DEFINITION = re.compile(r"^\s*(%[\w:]+(?:\s*,\s*%[\w:]+)*)\s*=", re.MULTILINE)
# Block arguments, the induction variable and the carried values of loops.
_LOCAL = re.compile(r"(%\w+)(?=:\s*tile|\s*=\s*%|\s+in\s*\()")


def program_of(declaration: OperationDeclaration) -> str:
    """The text of a module that contains the example."""
    if declaration in MODULES:
        return declaration.example
    if declaration in ITEMS:
        return f"cuda_tile.module @m {{\n{declaration.example}\n}}"
    return program_around(statement_of(declaration), COMPANIONS.get(declaration, ""))


def program_around(statement: str, companion: str = "") -> str:
    """The text of a module with a statement in an entry, and whatever values it needs."""
    types = dict.fromkeys(missing_values(statement), "tile<i1>")
    for _ in range(len(types) + 1):
        text = _module(statement, types, companion)
        try:
            parse(text)
        except ParseError as error:
            found = [d.values for d in error.diagnostics if d.code == "type-of-use"]
            corrections = [(values["name"], values["written"]) for values in found]
            if not corrections:
                return text
            types.update(corrections)
        else:
            break
    return text


def statement_of(declaration: OperationDeclaration) -> str:
    """The example, inside of what it needs around it."""
    return FRAMES.get(declaration, "{example}").format(example=declaration.example)


def missing_values(statement: str) -> list[str]:
    """The values a statement uses and does not define, in order."""
    without_strings = re.sub(r'"[^"]*"', '""', statement)
    defined = {
        name.partition(":")[0] for names in _DEFINITION.findall(without_strings) for name in re.split(r"\s*,\s*", names)
    }
    defined.update(_LOCAL.findall(without_strings) if "{" in statement else [])
    used = dict.fromkeys(_VALUE.findall(without_strings))
    return [name for name in used if name not in defined]


def _module(statement: str, types: dict[str, str], companion: str) -> str:
    values = "\n".join(f"{name} = unrealized_conversion_cast to {type}" for name, type in types.items())
    return f"cuda_tile.module @m {{\n{companion}\nentry @example() {{\n{values}\n{statement}\n}}\n}}"

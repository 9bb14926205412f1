"""The index of operations in `dialect/ops/__init__.py`, from the constants of the chapters."""

from __future__ import annotations

import ast
import textwrap
from importlib import import_module
from typing import Final

from generators import ROOT, with_generated

FILE: Final = "src/tileir/dialect/ops/__init__.py"


def chapters() -> dict[str, list[str]]:
    """The constants that each chapter declares, in their order."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / FILE).parent.glob("*.py")):
        names = [
            node.target.id
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and ast.unparse(node.annotation) == "Final[OperationDeclaration]"
        ]
        if names and path.stem != "testing":
            found[path.stem] = names
    return found


def operation_index() -> str:
    """The whole file."""
    lines = ["CHAPTERS: Final[dict[str, str]] = {"]
    found = chapters()
    for chapter, names in found.items():
        module = import_module(f"tileir.dialect.ops.{chapter}")
        entries = []
        for name in names:
            declaration = getattr(module, name)
            opcode = "" if declaration.opcode is None else f"={declaration.opcode}"
            entries.append(declaration.name.removeprefix("cuda_tile.").upper() + opcode)
        first, *others = textwrap.wrap(" ".join(entries), 108 - len(chapter))
        lines += [f'    "{chapter}": "{first}"', *[f'    " {other}"' for other in others]]
        lines[-1] += ","
    quoted = ", ".join([f'"{name}"' for name in sorted([name for names in found.values() for name in names])])
    public = textwrap.wrap(f"{quoted},", 112, initial_indent="    ", subsequent_indent="    ")
    lines += ["}", "", "__all__ = [", *public, "]"]
    return with_generated(FILE, "\n".join(lines) + "\n", "# fmt: off", "# fmt: on")

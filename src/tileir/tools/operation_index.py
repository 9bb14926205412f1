"""The index of operations in `dialect/ops/__init__.py`, from the constants of the chapters.

python -m tileir.tools.operation_index [FILE]
"""

from __future__ import annotations

import ast
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Final

from tileir.dialect import ops

FILE: Final = Path(ops.__path__[0]) / "__init__.py"
_BEGIN: Final = "# fmt: off\n"
_END: Final = "# fmt: on\n"


def chapters() -> dict[str, list[str]]:
    """The constants that each chapter declares, in their order."""
    found: dict[str, list[str]] = {}
    for path in sorted(FILE.parent.glob("*.py")):
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


def index() -> str:
    """The generated lines."""
    lines = ["CHAPTERS: Final[dict[str, str]] = {"]
    found = chapters()
    for chapter, names in found.items():
        module = import_module(f"tileir.dialect.ops.{chapter}")
        entries = []
        for name in names:
            declaration = getattr(module, name)
            opcode = "" if declaration.opcode is None else f"={declaration.opcode}"
            entries.append(declaration.name.removeprefix("cuda_tile.").upper() + opcode)
        pieces = textwrap.wrap(" ".join(entries), 108 - len(chapter))
        lines.append(f'    "{chapter}": "{pieces[0]}"' + ("," if len(pieces) == 1 else ""))
        lines += [f'    " {piece}"' for piece in pieces[1:-1]]
        lines += [f'    " {pieces[-1]}",'] if len(pieces) > 1 else []
    quoted = ", ".join([f'"{name}"' for name in sorted([name for names in found.values() for name in names])])
    lines += [
        "}",
        "",
        "__all__ = [",
        *textwrap.wrap(f"{quoted},", 112, initial_indent="    ", subsequent_indent="    "),
        "]",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    text = FILE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    target.write_text(f"{before}{_BEGIN}{index()}{_END}{rest.partition(_END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

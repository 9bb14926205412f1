"""Write the generated files, or compare them with what is there: `python -m generators [--check]`.

`python -m generators compare` compares the declarations with releases of NVIDIA's packages (upstream.py).
"""

from __future__ import annotations

import difflib
import os
import sys

from generators import ROOT
from generators.accessors import accessors
from generators.cheats import cheats
from generators.highlighting import highlighting
from generators.operation_index import operation_index
from generators.records import records
from generators.reference import REFERENCE, options, reference, rules
from generators.stubs import builder_stub, name_stubs
from generators.support import support
from generators.upstream import main as compare

INDEX = "src/tileir/dialect/ops/__init__.py"


def files() -> dict[str, str]:
    """The text of each generated file, by its path from the top of the repository."""
    return {
        INDEX: operation_index(),
        "src/tileir/ir/accessors.py": accessors(),
        "src/tileir/builder.pyi": builder_stub(),
        **name_stubs(),
        **{f"{REFERENCE}/{name}": text for name, text in reference().items()},
        f"{REFERENCE}/records.md": records(),
        "docs/reference/cheats.md": cheats(),
        "docs/reference/lint_rules.md": rules(),
        "docs/reference/options.md": options(),
        "docs/reference/support.md": support(),
        **highlighting(),
    }


def main() -> int:
    if sys.argv[1:2] == ["compare"]:
        return compare(sys.argv[2:])
    if sys.argv[1:] not in ([], ["--check"]):
        print("usage: python -m generators [--check | compare ...]", file=sys.stderr)
        return 2
    expected = files()
    found = {name: (ROOT / name).read_text(encoding="utf-8") for name in expected if (ROOT / name).exists()}
    stale = [name for name, text in expected.items() if found.get(name) != text]
    gone = [path for path in (ROOT / REFERENCE).glob("*.md") if f"{REFERENCE}/{path.name}" not in expected]
    if sys.argv[1:]:
        for name in stale:
            before, after = [text.splitlines(keepends=True) for text in (found.get(name, ""), expected[name])]
            sys.stdout.writelines(difflib.unified_diff(before, after, name, "generated"))
        for name in [*stale, *[f"{REFERENCE}/{path.name}" for path in gone]]:
            print(f"{name} does not match the declarations: run make docs")
        return 1 if stale or gone else 0
    for path in gone:
        path.unlink()
    for name in stale:
        (ROOT / name).write_text(expected[name], encoding="utf-8")
    if INDEX in stale:
        # The rest was made with the old index, which has loaded fewer or other operations.
        os.execv(sys.executable, [sys.executable, "-m", "generators"])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What `tileir check` imports for a small program: start-up is little else.

`benchmarks/startup.py` measures the time.  Here the modules are named, so that one that comes to them is seen: import it
where it is used, or add it to the list if nearly every program needs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tileir

SOURCE = Path(str(tileir.__file__)).parent
EXAMPLE = Path(__file__).parents[2] / "examples" / "vector_add.mlir"

# Beside the packages themselves; `ops` stands for all its chapters, which register operations.
NEEDED = {
    "tools": "arguments check main programs reporting",
    "bytecode": "magic",
    "text": "access_syntax aggregate_syntax alias_reading attributes cursor dense dialect_types directive"
    " draft_spellings enum_syntax format lexer locations parser reading stack state structure_syntax types values",
    "dialect": "attributes calls constraints construct control_flow_rules debug_info enums functions hints inference"
    " memory_model ops types view_rules",
    "ir": "attributes collector core declaration dense diagnostics dominance effects enums escapes floats interning"
    " location quoting reducing symbols token_starts traversal type_rules types values verifier",
}


def imported_by_check(path: Path) -> tuple[set[str], set[str]]:
    """The modules of the package, and those of Python beside some that cost next to nothing, and `re`."""
    program = (
        "import __future__, collections.abc, gc, io, os, re, stat, sys; before = set(sys.modules); "
        f"sys.argv = ['tileir', 'check', {str(path)!r}]; "
        "from tileir.tools.main import main; status = main(); "
        "print(status, *sorted(set(sys.modules) - before))"
    )
    # `-S` leaves out site-packages, and with it what an editable installation imports.
    environment = dict(os.environ, PYTHONPATH=str(SOURCE.parent))
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, timeout=60, env=environment, text=True
    )
    status, *names = done.stdout.split()
    assert (status, done.stderr) == ("0", "")
    ours = {name for name in names if name.partition(".")[0] == "tileir"}
    return ours, {name for name in names if name not in ours}


def test_check_of_a_small_program_imports_what_it_needs_and_nothing_else() -> None:
    ours, others = imported_by_check(EXAMPLE)
    chapters = {path.stem for path in (SOURCE / "dialect" / "ops").glob("*.py")} - {"__init__", "testing"}
    needed = {"tileir", "tileir.annotations", "tileir.forking"}
    for layer, names in NEEDED.items():
        needed |= {f"tileir.{layer}", *(f"tileir.{layer}.{name}" for name in names.split())}
    needed |= {f"tileir.dialect.ops.{name}" for name in chapters}
    assert sorted(ours - needed) == []
    assert sorted(needed - ours) == []
    # A compiled build comes with a module of its own, and with what loading libraries brings.
    own = {name for name in others if name.endswith("__mypyc")}
    libraries = {"warnings", *(name for name in others if name.partition(".")[0] == "importlib")} if own else set()
    assert others - own - libraries == set()


def test_views_and_loops_bring_the_modules_of_their_syntax() -> None:
    plain, _ = imported_by_check(EXAMPLE)
    found, _ = imported_by_check(EXAMPLE.with_name("matmul.mlir"))
    assert found - plain == {"tileir.text.control_flow_syntax", "tileir.text.view_syntax"}

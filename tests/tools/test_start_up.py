"""What `tileir check` and `tileir dis` import for a small program: start-up is little else.

`benchmarks/startup.py` measures the time.  Here the modules are compared with those that
`tools/preloading.py` names, so that a new one is seen: import it where it is used, or add it there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tileir
from tileir.tools.preloading import NEEDED, READING

SOURCE = Path(str(tileir.__file__)).parent
EXAMPLE = Path(__file__).parents[2] / "examples" / "vector_add.mlir"

# What `check` imports beside what `dis` does too, and the modules of `tools` that preloading is a part of.
CHECK = (
    "terminal text.attributes text.cursor text.dense text.dialect_types text.lexer text.locations text.parser"
    " text.reading text.statement_form text.types text.values tools.programs tools.programs.check"
    " tools.programs.reporting"
)
FIRST = "annotations forking public tools tools.commands tools.main tools.preloading"


def imported_by(*command: str, beside: str = "") -> tuple[set[str], set[str]]:
    """The modules of the package, and those of Python that come to the ones every program has and to `beside`."""
    program = (
        f"import __future__, errno, gc, io, os, stat, sys{beside}; before = set(sys.modules); "
        f"sys.argv = ['tileir', *{command!r}]; "
        "from tileir.tools.main import main; status = main(); "
        "print('', file=sys.stderr); print(status, *sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    # `-S` leaves out site-packages, and with it what an editable installation imports.
    environment = dict(os.environ, PYTHONPATH=str(SOURCE.parent))
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, timeout=60, env=environment, text=True
    )
    told, _, found = done.stderr.rstrip().rpartition("\n")
    status, *names = found.split()
    assert (status, told.strip()) == ("0", "")
    ours = {name for name in names if name.partition(".")[0] == "tileir"}
    return ours, {name for name in names if name not in ours}


def imported_by_check(path: Path) -> tuple[set[str], set[str]]:
    # The lexer is an expression of `re`.
    return imported_by("check", str(path), beside=", collections.abc, re")


def compare(found: tuple[set[str], set[str]], needed: str) -> None:
    ours, others = found
    assert ours == {"tileir", *(f"tileir.{name}" for name in f"{FIRST} {needed}".split())}
    # A compiled build comes with a module of its own, and with what loading libraries brings.
    own = {name for name in others if name.endswith("__mypyc")}
    libraries = {"warnings", *(name for name in others if name.partition(".")[0] == "importlib")} if own else set()
    assert others - own - libraries == set()


def test_check_of_a_small_program_imports_what_it_needs_and_nothing_else() -> None:
    compare(imported_by_check(EXAMPLE), f"{READING} {CHECK}")


def test_dis_of_a_small_program_imports_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "small.tileirbc"
    path.write_bytes(tileir.to_bytecode(tileir.load(str(EXAMPLE))))
    compare(imported_by("dis", str(path)), NEEDED["dis"])


# What a module says of itself, and whether Python looked for it.
PRELOADED = """
import importlib, sys
from tileir.tools.preloading import NEEDED, preload
looked_for = []
class Witness:
    def find_spec(self, name, path, target=None):
        looked_for.append(name)
sys.meta_path.insert(0, Witness())
names = [f"tileir.{name}" for name in NEEDED["dis"].split()]
if sys.argv[1] == "preload":
    preload(NEEDED["dis"])
for name in names:
    importlib.import_module(name)
for name in names:
    module = sys.modules[name]
    spec = module.__spec__
    around = sys.modules[name.rpartition(".")[0]]
    print(
        name, module.__name__, module.__package__, module.__file__, module.__cached__, getattr(module, "__path__", None),
        type(module.__loader__), module.__loader__ is spec.loader, module.__loader__.path, type(spec), spec.name,
        spec.parent, spec.origin, spec.cached, spec.has_location, spec.submodule_search_locations, spec._initializing,
        getattr(around, name.rpartition(".")[2]) is module, sorted(vars(module)),
    )
print(*[name for name in looked_for if name.startswith("tileir.")], file=sys.stderr)
"""


def preloaded(source: Path, how: str, *options: str) -> tuple[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-S", *options, "-c", PRELOADED, how],
        capture_output=True,
        timeout=60,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        | {"PYTHONPATH": str(source)},
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.split()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the sources, whose code is kept as soon as they are imported."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for layer in ("ir", "dialect", "text", "bytecode", "cpp", "tools"):
        shutil.copytree(SOURCE / layer, tmp_path / "tileir" / layer, ignore=ignored)
    for path in SOURCE.glob("*.py"):
        shutil.copy(path, tmp_path / "tileir")
    return tmp_path


def test_preloaded_modules_are_like_imported_ones(copied: Path) -> None:
    imported, looked_for = preloaded(copied, "import")
    assert "tileir.ir.core" in looked_for
    again, looked_for = preloaded(copied, "preload")
    assert again == imported
    # Each comes after those that it imports: Python had to find none of them.
    assert looked_for == []


def test_views_and_loops_bring_the_modules_of_their_syntax() -> None:
    plain, _ = imported_by_check(EXAMPLE)
    found, _ = imported_by_check(EXAMPLE.with_name("matmul.mlir"))
    chapters = {f"tileir.dialect.ops.{name}" for name in ("matrix", "miscellaneous", "views")}
    syntax = {"tileir.text.syntax.views"}
    assert found - plain == chapters | syntax


def test_the_process_ends_with_the_command_unless_somebody_has_something_left_to_do() -> None:
    after_main = "(threading.main_thread().join(), print('a thread'))"
    program = "import sys; sys.argv = ['tileir', '--version']; {}from tileir.tools.main import command; command()"
    for before, said in (
        ("", []),
        ("import atexit; atexit.register(print, 'at the end'); ", ["at the end"]),
        (f"import threading; threading.Thread(target=lambda: {after_main}).start(); ", ["a thread"]),
    ):
        done = subprocess.run([sys.executable, "-c", program.format(before)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert [line for line in lines if not line.startswith("tileir ")] == said
        assert len(lines) == len(said) + 1


def test_an_interrupted_command_leaves_what_it_had_written() -> None:
    script = (
        "import sys\n"
        "from tileir.tools import main\n"
        "def run(arguments):\n"
        "    print('written')\n"
        "    raise KeyboardInterrupt\n"
        "main.run = run\n"
        "sys.argv = ['tileir', 'dis', 'x']\n"
        "main.command()\n"
    )
    # Without the modules of an environment, such as those of coverage; and with streams that wait.
    environment = {"PYTHONPATH": str(Path(tileir.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "written\n", "")

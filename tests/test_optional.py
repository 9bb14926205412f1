"""What a machine lacks is left out of a run, and named at its end; nothing else is."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import optional

ROOT = Path(__file__).parents[1]


def test_a_run_ends_with_what_is_missing_and_how_to_add_it(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        "here": optional.Optional(lambda: True, "these tests", "nothing"),
        "away": optional.Optional(lambda: False, "those tests", "apt-get install away"),
        "gone": optional.Optional(lambda: None, "others", "pip install gone"),
    }
    monkeypatch.setattr(optional, "OPTIONAL", table)
    optional.has.cache_clear()
    assert optional.left_out().splitlines() == [
        "left out, and how to add it:",
        "  those tests: apt-get install away",
        "  others: pip install gone",
    ]
    optional.needs("here")
    with pytest.raises(pytest.skip.Exception, match="those tests: needs apt-get install away"):
        optional.needs("away")
    optional.has.cache_clear()


def test_pages_are_not_checked_where_there_is_no_node(tmp_path: Path) -> None:
    # Nothing but make and the shell, which is no matter of the PATH.
    command = [shutil.which("make") or "make", "--no-print-directory", "pages", "TSC=missing"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the types of the pages are not checked: there is no TypeScript\n"


def test_torch_is_left_out_where_nothing_makes_its_stubs(tmp_path: Path) -> None:
    # A Python without torch, which would have to download one.
    code = (
        "import sys; sys.platform = 'linux'; sys.argv[0] = 'x'; import runpy; runpy.run_path({!r}, run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", code.format(str(ROOT / ".ci" / "install_torch.py"))]
    done = subprocess.run(command, env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "torch is left out: on Linux it takes cc and readelf\n"


def modules_that_may_be_missing() -> set[tuple[str, str]]:
    """Return the modules without which tests are skipped, each with a file that says so."""
    found: set[tuple[str, str]] = set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "importorskip":
                # A variable stands for the names of a table.
                if isinstance(node.args[0], ast.Constant):
                    found.add((str(node.args[0].value), str(path.relative_to(ROOT))))
    return found


def test_every_module_that_may_be_missing_is_in_the_table() -> None:
    required = [text for text in importlib.metadata.requires("tileir") or [] if re.search(r"extra == .test.", text)]
    names = {re.split(r"[^\w-]", text)[0].replace("_", "-").lower() for text in required}
    modules = {
        module
        for module, distributions in importlib.metadata.packages_distributions().items()
        if names & {name.replace("_", "-").lower() for name in distributions}
    }
    # Only tests on a GPU use CuPy.  Not every system has all of Python's modules.
    known = (*modules, *optional.OPTIONAL, *sys.stdlib_module_names, "tileir", "tests", "cupy")
    unknown = [found for found in modules_that_may_be_missing() if not found[0].startswith(known)]
    assert sorted(unknown) == []

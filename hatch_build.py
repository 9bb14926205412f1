"""How a wheel is built: pure Python in seconds, or compiled with mypyc in minutes where TILEIR_COMPILE is 1.

Both do the same; the compiled one reads and prints large programs two to three times as fast.  It takes CPython, its
headers and a C compiler.  pip shows the progress with -v only; `make fast` shows it.  Editable installations are never
compiled: they follow the sources.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

COMPILERS = ("cc", "gcc", "clang")
NEEDED = ["mypy>=1.18", "setuptools>=75"]

# What was compiled has to work before it goes into the wheel, whatever the environment says of paths and assertions.
TRIAL = """
import sys
sys.path.insert(0, ".")
import tileir
text = "entry @k(%x: tile<f32>) { %y = addf %x, %x : tile<f32> return }"
module = tileir.parse(text)
tileir.verify(module)
if not str(tileir.from_bytecode(tileir.to_bytecode(tileir.optimize(module)))):
    sys.exit("a program is lost on its way")
if tileir.ir.core.__file__.endswith(".py"):
    sys.exit("it is not the compiled modules that are imported")
"""


def obstacle() -> str:
    """Return what prevents compiling; empty if nothing does."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python is not one that mypyc compiles for"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers (Python.h) are not installed"
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    # On Windows setuptools finds Visual Studio, which is not on the path.
    if sys.platform != "win32" and not any(shutil.which(name) for name in (*words[:1], *COMPILERS)):
        return "there is no C compiler"
    return ""


def compiled(root: Path, folder: Path) -> dict[str, str]:
    """Compile the layers into a folder and try them; return the libraries, each with its path in the wheel."""
    built, trial = folder / "built", folder / "trial"
    _run([str(root / "compile_layers.py"), str(root / "src"), str(built)], folder)
    shutil.copytree(root / "src", trial)
    shutil.copytree(built, trial, dirs_exist_ok=True)
    _run(["-c", TRIAL], trial)
    return {str(path): str(path.relative_to(built)) for path in sorted(built.rglob("*")) if path.is_file()}


def _run(arguments: list[str], folder: Path) -> None:
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True)


class CustomBuildHook(BuildHookInterface[Any]):
    """The hook that hatchling calls."""

    def _compiles(self) -> bool:
        requested = os.environ.get("TILEIR_COMPILE") or "0"
        if requested not in ("0", "1"):
            raise ValueError(f"TILEIR_COMPILE is '{requested}': set it to 1 or 0")
        if requested == "1" and (reason := obstacle()):
            raise ValueError(f"TILEIR_COMPILE is 1, but {reason}")
        return requested == "1" and self.target_name == "wheel"

    def dependencies(self) -> list[str]:
        # Front ends ask before they say which kind of wheel it will be, except in the name of what they run.
        editable = any(argument.endswith("build_editable") for argument in sys.argv)
        return NEEDED if not editable and self._compiles() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable" and self._compiles():
            # The wheel is written from this folder; it is removed with the hook.
            self._folder = tempfile.TemporaryDirectory()
            build_data["force_include"].update(compiled(Path(self.root), Path(self._folder.name)))
            build_data.update(infer_tag=True, pure_python=False)


def absolute_links(text: str, root: Path, repository: str, version: str) -> str:
    """Return the README for a package index: links to files of the repository lead to those of the release."""

    def link(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        if not (root / target.partition("#")[0]).exists():
            return found[0]
        # A page is shown; a picture is loaded.
        kind = "raw" if target.endswith((".png", ".svg", ".gif")) else "blob"
        return f"{before}{repository}/{kind}/v{version}/{target}{after}"

    return re.sub(r"""(\]\(|(?:src|href|srcset)=")([\w.][\w./#-]*)([)"])""", link, text)


class ReadmeHook(MetadataHookInterface):
    """The hook that hatchling calls for the dynamic field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        text = (root / "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, root, metadata["urls"]["Homepage"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

"""How a wheel is built: compiled with mypyc where CPython, its headers and a C compiler are there, else pure Python.

A pure wheel does the same at a third of the speed.  It is also what comes of a compiler that fails, and one line says
so: pip shows it with -v only, `tileir info` says it too.  TILEIR_COMPILE=0 makes the pure wheel, in seconds instead of
minutes; TILEIR_COMPILE=1 the compiled one or none.  Editable installations are never compiled: they follow the sources.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILERS = ("cl", "clang-cl") if sys.platform == "win32" else ("cc", "gcc", "clang")
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
    """What stands in the way of compiling, in words; empty if nothing does."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python is not one that mypyc compiles for"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers (Python.h) are not installed"
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "", posix=sys.platform != "win32")
    if not any(shutil.which(name) for name in (*words[:1], *COMPILERS)):
        return "there is no C compiler"
    return ""


def compiled(root: Path, folder: Path) -> dict[str, str]:
    """Compile the layers into a folder and try them; the libraries, each with its path in the wheel."""
    built, trial = folder / "built", folder / "trial"
    _run([str(root / "compile_layers.py"), str(root / "src"), str(built)], folder)
    shutil.copytree(root / "src", trial)
    shutil.copytree(built, trial, dirs_exist_ok=True)
    _run(["-c", TRIAL], trial)
    return {str(path): str(path.relative_to(built)) for path in sorted(built.rglob("*")) if path.is_file()}


def _run(arguments: list[str], folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stdout.decode(errors="replace").strip() or f"it ended with status {done.returncode}")


class CustomBuildHook(BuildHookInterface[Any]):
    """The hook that hatchling calls."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._folder = ""

    def _reason_not_to(self) -> str:
        asked = os.environ.get("TILEIR_COMPILE") or "auto"
        if asked not in ("0", "1", "auto"):
            raise ValueError(f"TILEIR_COMPILE is '{asked}': set it to auto, 1 or 0")
        if asked == "0":
            return "TILEIR_COMPILE is 0"
        reason = obstacle()
        if asked == "1" and reason:
            raise ValueError(f"TILEIR_COMPILE is 1, but {reason}")
        return reason

    def dependencies(self) -> list[str]:
        # Front ends ask before they say which kind of wheel it will be, except in the name of what they run.
        if self.target_name != "wheel" or any(argument.endswith("build_editable") for argument in sys.argv):
            return []
        return [] if self._reason_not_to() else NEEDED

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        reason = self._reason_not_to()
        if not reason:
            self._folder = tempfile.mkdtemp()
            try:
                build_data["force_include"].update(compiled(Path(self.root), Path(self._folder)))
                build_data.update(infer_tag=True, pure_python=False)
            except BaseException as error:
                self._remove()
                if not isinstance(error, Exception) or os.environ.get("TILEIR_COMPILE") == "1":
                    raise
                last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                reason = f"compiling failed: {last[0]}"
        if reason:
            self.app.display_info(f"tileir: the wheel is pure Python ({reason})")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._remove()

    def _remove(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

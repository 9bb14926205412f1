"""How a wheel is built: pure Python, or compiled with mypyc.

TILEIR_COMPILE=auto compiles where CPython, its headers and a C compiler are there; without one of them, or where
compiling fails, the wheel is pure Python, which does the same at a third of the speed, and one line says so.
TILEIR_COMPILE=1 makes the compiled wheel or none.  Neither is the default, since the compiler takes minutes.  Editable
installations are never compiled: they follow the sources.  pip shows that line with -v only; `tileir info` says it too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILERS = ("cl", "clang-cl") if sys.platform == "win32" else ("cc", "gcc", "clang")
# NumPy is there for its types: the type checker follows imports into layers that are not compiled.
NEEDED = ["hatch-mypyc>=0.16", "mypy>=1.18", "setuptools>=75", "numpy>=1.26", "ml_dtypes>=0.5"]

# What was compiled has to work before it goes into the wheel.
TRIAL = """
import tileir
text = "entry @k(%x: tile<f32>) { %y = addf %x, %x : tile<f32> return }"
module = tileir.parse(text)
tileir.verify(module)
assert str(tileir.from_bytecode(tileir.to_bytecode(tileir.optimize(module))))
"""


def obstacle() -> str:
    """What stands in the way of compiling, in words; empty if nothing does."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python is not one that mypyc compiles for"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "Python's headers (Python.h) are not installed"
    words = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "").split()
    if not any(shutil.which(name) for name in (*words[:1], *COMPILERS)):
        return "there is no C compiler"
    return ""


class CustomBuildHook(BuildHookInterface[Any]):
    """The hook that hatchling calls."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._mypyc: Any = None

    def _reason_not_to(self) -> str:
        asked = os.environ.get("TILEIR_COMPILE") or "0"
        if asked not in ("0", "1", "auto"):
            raise ValueError(f"TILEIR_COMPILE is '{asked}': set it to auto, 1 or 0")
        if asked == "0":
            return "TILEIR_COMPILE=auto would compile it"
        return "" if asked == "1" else obstacle()

    def dependencies(self) -> list[str]:
        # Front ends ask before they say which kind of wheel it will be, except in the name of what they run.
        if self.target_name != "wheel" or any("editable" in argument for argument in sys.argv):
            return []
        return [] if self._reason_not_to() else NEEDED

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        reason = self._reason_not_to()
        if not reason:
            try:
                from hatch_mypyc.plugin import MypycBuildHook

                self._mypyc = MypycBuildHook(
                    self.root, self.config, self.build_config, self.metadata, self.directory, self.target_name, self.app
                )
                self._mypyc.initialize(version, build_data)
                subprocess.run([sys.executable, "-c", TRIAL], cwd=Path(self.root, "src"), check=True)
            except Exception as error:
                if os.environ.get("TILEIR_COMPILE") == "1":
                    raise
                last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                reason = f"compiling failed: {last[0]}"
                self._remove_libraries()
                build_data.update(infer_tag=False, pure_python=True, artifacts=[], force_include={})
        if reason:
            self.app.display_info(f"tileir: the wheel is pure Python ({reason})")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._remove_libraries()

    def _remove_libraries(self) -> None:
        """They are made beside the sources, where an editable installation would find them."""
        if self._mypyc is not None:
            self._mypyc.clean([])
            self._mypyc = None

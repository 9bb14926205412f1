"""NVIDIA's tools in packages of pip: `nvidia-cuda-tileiras` puts one to `nvidia/cu13/bin` beside other packages.

Triton brings some of them too, often older ones.
"""

from __future__ import annotations

import os
import sys
from typing import Final

_SUFFIX: Final = ".exe" if sys.platform == "win32" else ""


def find_tool(name: str) -> str:
    """The path of a tool: in a package, that for the newest CUDA, on PATH, or Triton's; empty if nowhere."""
    return _installed(name + _SUFFIX) or _on_path(name) or _with_triton(name + _SUFFIX)


def _installed(name: str) -> str:
    for folder in sys.path:
        packages = os.path.join(folder or os.curdir, "nvidia")
        try:
            kits = os.listdir(packages)
        except OSError:
            continue
        for kit in sorted(kits, key=_number, reverse=True):
            path = os.path.join(packages, kit, "bin", name)
            if kit.startswith("cu") and os.path.isfile(path):
                return os.path.abspath(path)
    return ""


def _with_triton(name: str) -> str:
    for folder in sys.path:
        path = os.path.join(folder or os.curdir, "triton", "backends", "nvidia", "bin", name)
        if os.path.isfile(path):
            return os.path.abspath(path)
    return ""


def _number(kit: str) -> int:
    digits = kit.removeprefix("cu")
    return int(digits) if digits.isascii() and digits.isdecimal() else -1


def _on_path(name: str) -> str:
    # Imported here: hardly any machine gets here.
    from shutil import which

    return which(name) or ""

"""What a machine may lack, in one table: how it is found, what is left out without it, and how it is added.

A test that needs an entry calls `needs`.  `python -m tests.optional` prints what a run on this machine leaves out.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

# The first draws no windows, and takes half the time.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)

# One of the npm packages of the extension for Visual Studio Code.
TYPESCRIPT = Path(__file__).parents[1] / "editors" / "vscode" / "node_modules" / ".bin" / "tsc"


def browser_program() -> str | None:
    """Return the browser that TILEIR_CHROMIUM names, or the first that is installed."""
    return os.environ.get("TILEIR_CHROMIUM") or next((found for found in map(shutil.which, BROWSERS) if found), None)


class Optional(NamedTuple):
    found: Callable[[], object]
    """Whether this machine has it."""
    tests: str
    """What is left out without it."""
    add: str
    """How it is added."""


def _program(name: str) -> Callable[[], object]:
    return lambda: shutil.which(name)


def _module(name: str) -> Callable[[], bool]:
    def found() -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            return False

    return found


def _terminal() -> bool:
    try:
        own, other = os.openpty()
    except (AttributeError, OSError):
        return False
    os.close(own)
    os.close(other)
    return True


def _nvrtc() -> bool:
    from tileir.cpp import nvrtc

    return any((root / folder / nvrtc.LIBRARY).is_file() for root in nvrtc.roots() for folder in nvrtc.FOLDERS)


def _cccl() -> bool:
    from tileir.cpp import nvrtc

    return any(Path(folder, "cuda", "std").is_dir() for folder in nvrtc.header_folders())


def _tilegym() -> bool:
    return Path(os.environ.get("TILEIR_TILEGYM") or "/nowhere", "src", "tilegym").is_dir()


def _gpu() -> bool:
    from tileir.execute.gpu.driver.devices import why_no_gpu

    return not why_no_gpu()


OPTIONAL = {
    "npm": Optional(TYPESCRIPT.exists, "the types of the pages, the VS Code extension", "apt-get install nodejs npm"),
    "browser": Optional(browser_program, "the pages in a browser", "apt-get install chromium-headless-shell"),
    "cc": Optional(_program("cc"), "GPU launches on a stub driver, compiled programs", "apt-get install gcc libc6-dev"),
    "torch": Optional(
        _module("torch"), "torch, its emulated GPU and its operators", "apt-get install gcc libc6-dev binutils"
    ),
    "jax": Optional(_module("jax"), "operators of JAX", "a system for which pip install jax works"),
    "cuda.tile": Optional(_module("cuda.tile"), "cuTile kernels, NVIDIA's tools", "Linux on x86-64 or aarch64"),
    "nvrtc": Optional(_nvrtc, "kernels in C++", "Linux on x86-64 or aarch64"),
    "cccl": Optional(_cccl, "C++ kernels with standard headers", "pip install nvidia-cuda-cccl"),
    "triton": Optional(_module("triton"), "the Triton engine", "Linux on x86-64 or aarch64"),
    "tilegym": Optional(_tilegym, "TileGym's kernels in C++", "TILEIR_TILEGYM=PATH, a checkout of NVIDIA/TileGym"),
    "mcp": Optional(_module("mcp"), "tools for agents", "pip install 'tileir[mcp]'"),
    "openenv.core": Optional(_module("openenv.core"), "the example for OpenEnv", "pip install openenv-core"),
    "inspect_ai": Optional(_module("inspect_ai"), "the example for inspect_ai", "pip install inspect-ai"),
    "mkdocs": Optional(_module("mkdocs"), "the documentation site", "pip install 'tileir[docs]'"),
    "atheris": Optional(_module("atheris"), "fuzzing guided by coverage", "Linux on x86-64"),
    "patch": Optional(_program("patch"), "differences as patches", "apt-get install patch"),
    "zsh": Optional(_program("zsh"), "completion in zsh", "apt-get install zsh"),
    "fish": Optional(_program("fish"), "completion in fish", "apt-get install fish"),
    "terminal": Optional(_terminal, "programs at a terminal", "mount -t devpts devpts /dev/pts"),
    "gpu": Optional(_gpu, "what runs on a GPU", "an NVIDIA GPU and its driver"),
}


@functools.cache
def has(name: str) -> bool:
    return bool(OPTIONAL[name].found())


def needs(name: str) -> None:
    """Skip the test, or the module that is being imported, where this machine lacks an entry of the table."""
    if not has(name):
        pytest.skip(f"{OPTIONAL[name].tests}: needs {OPTIONAL[name].add}", allow_module_level=True)


def left_out() -> str:
    """Return the lines that close a run."""
    missing = [f"  {entry.tests}: {entry.add}" for name, entry in OPTIONAL.items() if not has(name)]
    return "\n".join(["left out, and how to add it:", *missing]) if missing else "left out: nothing"


if __name__ == "__main__":
    print(left_out())

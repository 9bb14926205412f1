"""Proof that the compiled tileir is the one in use: every module of the compiled layers must come from a library.

As a script it checks once. As a pytest plugin (`-p compiled_build`) it checks in every process that runs tests, before
the first test, and says so in pytest's header.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

LAYERS = ("ir", "dialect", "text", "bytecode", "rewrite", "passes")


def compiled_modules() -> list[str]:
    """The modules of the compiled layers; ends the process when one of them is plain Python."""
    names: list[str] = []
    plain: list[str] = []
    for layer in LAYERS:
        package = importlib.import_module(f"tileir.{layer}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.ispkg:
                continue
            file = importlib.import_module(found.name).__file__ or ""
            (names if file.endswith((".so", ".pyd")) else plain).append(found.name)
    if plain or not names:
        sys.exit(f"not compiled: {', '.join(plain) or 'any module'}")
    return names


def pytest_configure() -> None:
    compiled_modules()


def pytest_report_header() -> str:
    return f"tileir: all {len(compiled_modules())} modules of {', '.join(LAYERS)} are compiled"


if __name__ == "__main__":
    modules = compiled_modules()
    print(f"compiled: all {len(modules)} modules of {', '.join(LAYERS)}, such as {modules[0]}")

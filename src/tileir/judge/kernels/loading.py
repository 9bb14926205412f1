"""A module from its source, and what goes wrong in it, told at its lines."""

from __future__ import annotations

import os
import re
import sys
import traceback
from types import ModuleType
from typing import Any

from tileir.judge.causes import cause_of
from tileir.judge.judging.failures import is_forbidden
from tileir.judge.kernels.carried import NotCarried
from tileir.judge.kernels.protocol import WrongModule
from tileir.judge.verdicts import Outcome

LONGEST = 4000
"""Characters of a message."""


class Failure(Exception):
    """Foreign code that failed: what becomes of the step it was in."""

    def __init__(self, outcome: Outcome, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.outcome: Outcome = outcome
        self.message: str = message[:LONGEST]
        self.cause: str = cause or cause_of(message)


def load_module(source: bytes, directory: str, file: str, name: str) -> ModuleType:
    """A module from its source, which it can find as a file by a name without a path: messages are the same wherever
    the directory is."""
    os.chdir(directory)
    with open(file, "wb") as written:
        written.write(source)
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    sys.dont_write_bytecode = True
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    return module


def failure_of(error: BaseException, file: str) -> Failure:
    """What an exception of foreign code says, with the line of the module that it comes from."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, (WrongModule, NotCarried)):
        return Failure("failed", str(error))
    kind = type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        package = error.name.partition(".")[0]
        wanted = "cuda-tile" if package == "cuda" else package
        return Failure("refused", f"{package} is not installed: pip install {wanted}")
    if isinstance(error, SystemExit):
        return Failure("failed", f"it ends the process ({kind}: {error.code}){_place(error, file)}")
    if isinstance(error, MemoryError):
        return Failure("memory", f"out of memory{_place(error, file)}")
    if is_forbidden(error):
        words = f"{kind}: {error.strerror if isinstance(error, OSError) else error}"
        return Failure("forbidden", f"{words}{_place(error, file)}", words)
    if isinstance(error, SyntaxError):
        return Failure("failed", f"{file}:{error.lineno}: {kind}: {error.msg}", f"{kind}: {error.msg}")
    words = _cleaned(str(error))
    outcome: Outcome = "refused" if kind in ("EmulationError", "MissingDependencyError") else "failed"
    return Failure(outcome, f"{kind}: {words}{_place(error, file)}", f"{kind}: {cause_of(words)}")


def is_of_cutile(error: BaseException) -> bool:
    """Whether cuTile refuses to compile a kernel."""
    tile: Any = sys.modules.get("cuda.tile")
    kind = getattr(tile, "TileError", None) or getattr(sys.modules.get("cuda.tile._exception"), "TileError", None)
    return kind is not None and isinstance(error, kind)


def _place(error: BaseException, file: str) -> str:
    """The innermost line of the module; nothing if the message says it."""
    text = str(error)
    if f'"{file}", line' in text or f"{file}:" in text:
        return ""
    found = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"\n  at {file}:{found[-1].lineno} in {found[-1].name}: {(found[-1].line or '').strip()}" if found else ""


_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


def _cleaned(text: str) -> str:
    """A message that is the same on every machine: no addresses, and no path to the scratch directory."""
    return _ADDRESS.sub("0x..", text.replace(os.getcwd() + os.sep, "")).strip()

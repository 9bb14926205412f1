"""TTIR in MLIR's generic form, which one reader reads for all operations and versions; Triton's own MLIR prints it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN, file_location
from tileir.ttir.translation import TTIRError

_ERROR: Final = re.compile(r'^(?:loc\(")?(.*?)"?:(\d+):(\d+)\)?: error: (.*)', re.MULTILINE)
_USUAL_FORM: Final = re.compile(r"\btt\.func\s+(?:public|private|@)")


def is_in_usual_form(text: str) -> bool:
    """Whether a text is TTIR as Triton prints it, as in `compiled.asm["ttir"]`."""
    return _USUAL_FORM.search(text) is not None


def generic_text(module: Any, context: Any) -> str:
    """The text of a module of Triton's MLIR."""
    from triton._C.libtriton import ir

    # An attribute of the module that no dialect declares makes MLIR print the generic form.
    module.set_attr("generic", ir.builder(context).get_unit_attr())
    return str(module)


def from_usual_form(text: str) -> str:
    """TTIR in its usual form, read by the installed Triton and printed in the generic form."""
    try:
        from triton._C.libtriton import ir
    except ImportError:
        message = "TTIR in its usual form is read by Triton itself: pip install triton"
        raise TTIRError([Diagnostic("error", message, UNKNOWN)]) from None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.ttir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        context = ir.context()
        ir.load_dialects(context)
        errors: list[Diagnostic] = []
        try:
            with caught_errors(errors, {path: "ttir"}):
                module = ir.parse_mlir_module(path, context)
        except RuntimeError:
            raise TTIRError(errors or [Diagnostic("error", "Triton refuses this TTIR", UNKNOWN)]) from None
        # Operations without a location get one in the file, whose lines are those of the text.
        return generic_text(module, context).replace(f'"{path}"', '"ttir"')


@contextmanager
def caught_errors(errors: list[Diagnostic], names: dict[str, str]) -> Iterator[None]:
    """Append the errors that Triton's MLIR prints before it fails, with files named as `names` has them.

    Triton lets nobody register a handler, and MLIR prints to the descriptor, so that is redirected for a while.
    """
    try:
        before = os.dup(2)
    except OSError:  # This process has no standard error.
        yield
        return
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        try:
            yield
        except RuntimeError:
            printed.seek(0)
            text = printed.read().decode(errors="replace")
            for found in _ERROR.finditer(text):
                file, line, column, message = found.groups()
                position = file_location(names.get(file, file), int(line), int(column))
                errors.append(Diagnostic("error", message, position))
            # Excerpts and the operation follow an error; what stands before it is not MLIR's.
            first = _ERROR.search(text)
            printed.truncate(len(text[: first.start()].encode()) if first else None)
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
            printed.seek(0)
            os.write(2, printed.read())

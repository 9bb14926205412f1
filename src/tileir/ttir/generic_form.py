"""TTIR in MLIR's generic form, which one reader reads for all operations and versions; Triton's own MLIR prints it."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any, Final

from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import UNKNOWN
from tileir.ttir.translation import TTIRError

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
        raise _error("TTIR in its usual form is read by Triton itself: pip install triton") from None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.ttir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        context = ir.context()
        ir.load_dialects(context)
        try:
            module = ir.parse_mlir_module(path, context)
        except RuntimeError:
            raise _error("Triton refuses this TTIR: the line and the reason are printed above") from None
        # Operations without a location get one in the file, whose lines are those of the text.
        return generic_text(module, context).replace(f'"{path}"', '"ttir"')


def _error(message: str) -> TTIRError:
    return TTIRError([Diagnostic("error", message, UNKNOWN)])

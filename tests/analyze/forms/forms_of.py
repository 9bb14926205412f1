"""What tests of forms share."""

from __future__ import annotations

from pathlib import Path

from tileir.analyze.forms.form import operations_of
from tileir.analyze.forms.forms import Representations

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.mlir") if path.name != "broken.mlir")


def names_of(forms: Representations) -> list[str]:
    """The operations of a kernel, each at its number."""
    return [operation.declaration.mnemonic for operation in operations_of(forms.entry)]

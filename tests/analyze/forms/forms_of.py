"""What tests of forms share: the examples, and which operations a program still has at its end."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.mlir") if path.name != "broken.mlir")

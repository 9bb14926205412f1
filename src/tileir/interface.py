"""The functions of the public interface."""

from __future__ import annotations

import os

from tileir.ir.core import Operation
from tileir.ir.declaration import NEWEST
from tileir.ir.diagnostics import Diagnostic, VerifyError, has_errors
from tileir.ir.verifier import VerifyContext, verify_operation
from tileir.text import printer as _printer  # noqa: F401  (gives operations their text)
from tileir.text.reading import parse_text


def parse(text: str, name: str = "-") -> Operation:
    """The module a text describes; `ParseError` carries every mistake."""
    return parse_text(text, name)


def load(source: str | os.PathLike[str] | bytes) -> Operation:
    """The module in a file, or in the bytes of one."""
    if isinstance(source, bytes):
        return parse_text(source.decode("utf-8", "surrogateescape"), "-")
    with open(source, "rb") as file:
        data = file.read()
    return parse_text(data.decode("utf-8", "surrogateescape"), os.fspath(source))


def verify(module: Operation, *, hints: str = "ignore", version: tuple[int, int] = NEWEST) -> list[Diagnostic]:
    """Check a module; `VerifyError` carries every mistake, the warnings are returned."""
    context = VerifyContext(version, hints)
    verify_operation(module, context)
    if has_errors(context.diagnostics):
        raise VerifyError(context.diagnostics)
    return context.diagnostics

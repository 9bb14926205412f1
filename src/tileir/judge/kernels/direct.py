"""`judge_kernels`: one module judged, without a sweep."""

from __future__ import annotations

import os
from typing import TypeAlias

from tileir.judge.chunks import judge_chunk
from tileir.judge.items import Item
from tileir.judge.plans import Plan
from tileir.judge.verdicts import Verdict

Source: TypeAlias = "str | os.PathLike[str] | bytes"


def judge_kernels(module: Source, *, reference: Source | None = None, plan: Plan | None = None) -> Verdict:
    """Judge a Python module with cuTile kernels as a sweep does: in confined child processes, against a reference.

    Both are paths, or the bytes of a source; without `reference` the module is its own.  `plan` says what is done
    besides running and comparing (docs/judging_kernels.md).  Whatever the module does, there is a verdict.
    """
    name = "module.py" if isinstance(module, bytes) else os.fspath(module)
    item = Item(name, "kernels", _content(module), b"" if reference is None else _content(reference))
    return judge_chunk([item], plan if plan is not None else Plan())[0]


def _content(source: Source) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, str) and "\n" in source:
        raise TypeError("the source of a module was given where the path of a file belongs: pass source.encode()")
    with open(source, "rb") as file:
        return file.read()

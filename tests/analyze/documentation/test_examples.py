"""The examples in Python on the pages of operations build the examples in text."""

from __future__ import annotations

import importlib
from contextlib import ExitStack
from typing import Any

import pytest

import tileir
from tileir import types
from tileir.analyze.documentation.examples import (
    WRITTEN,
    builder_example,
    missing_values,
    program_of,
    statement_of,
)
from tileir.analyze.documentation.pages import operations
from tileir.dialect.ops import (
    BREAK,
    CONSTANT,
    CONTINUE,
    ENTRY,
    GET_GLOBAL,
    GLOBAL,
    MAKE_TENSOR_VIEW,
    MODULE,
    PREVIEW_CALL,
    YIELD,
)
from tileir.ir.attributes import UNIT
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.versions import PREVIEW

OPERATIONS = [declaration for declaration in operations() if declaration.name.startswith("cuda_tile.")]


def values_of(declaration: OperationDeclaration, build: tileir.Builder) -> dict[str, Any]:
    """The values that the example uses, built as its program in text begins."""
    entry = next(found for found in tileir.parse(program_of(declaration)).walk() if found.declaration is ENTRY)
    names = [name[1:] for name in missing_values(statement_of(declaration))]
    definitions = list(entry.regions[0].block)[: len(names)]
    return {
        name: build.unrealized_conversion_cast([], [definition.result.type])[0]
        for name, definition in zip(names, definitions, strict=True)
    }


def built(declaration: OperationDeclaration) -> str:
    """The program in text that the Python of a page gives."""
    build = tileir.Builder("m")
    known: dict[str, Any] = {"tileir": tileir, "build": build}
    for module in map(importlib.import_module, ("tileir.types", "tileir.attributes")):
        known.update({name: getattr(module, name) for name in module.__all__})
    code = compile(builder_example(declaration), declaration.name, "exec")
    if declaration in (MODULE, ENTRY, GLOBAL):
        exec(code, known)
        return str(known["build"].finish())
    if declaration is PREVIEW_CALL:
        build.module.set_attribute(PREVIEW, UNIT)
    if declaration is GET_GLOBAL:
        build.global_("table", [0.5, 1.5], types.f32)
    with build.entry("example"):
        values = values_of(declaration, build)
        known.update(values)
        with ExitStack() as around:
            if declaration is BREAK:
                around.enter_context(build.loop())
            elif declaration is CONTINUE:
                around.enter_context(build.loop(init=[values["x"]], types=[types.tile(types.f32)]))
            branch = around.enter_context(build.if_(values["condition"])) if declaration is YIELD else None
            exec(code, known)
        if branch is not None:
            with branch.else_():
                exec(code, known)
    return str(build.finish())


@pytest.mark.parametrize("declaration", OPERATIONS, ids=lambda d: d.mnemonic)
def test_the_python_of_a_page_builds_its_text(declaration: OperationDeclaration) -> None:
    assert built(declaration) == str(tileir.parse(program_of(declaration)))


def test_calls_are_written_by_hand_only_where_they_differ_from_the_signature() -> None:
    assert set(WRITTEN) <= set(OPERATIONS)
    assert {declaration for declaration in WRITTEN if not declaration.regions} == {CONSTANT, GLOBAL, MAKE_TENSOR_VIEW}


def test_operations_of_other_dialects_have_no_method_of_the_builder() -> None:
    others = [declaration for declaration in operations() if declaration not in OPERATIONS]
    assert [builder_example(declaration) for declaration in others] == [""] * len(others)
    assert [declaration.name for declaration in others] == ["builtin.module"]

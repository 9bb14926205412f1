"""What a line does not say, shown in it: types of carried values and of results that are not stated, grids of views."""

from __future__ import annotations

from lsprotocol import types as lsp

from tileir.dialect.types import DYNAMIC, PartitionViewType, StridedViewType
from tileir.ir.types import Type
from tileir.serve.language.definitions import VALUE
from tileir.serve.language.document import Document
from tileir.serve.language.forms import TYPE, form_of
from tileir.serve.language.names import Name
from tileir.serve.language.structure import WrittenOperation


def inlay_hints(document: Document, shown: lsp.Range) -> list[lsp.InlayHint]:
    """The hints in a range of a document."""
    settings = document.settings
    if not (settings.inlay_types or settings.inlay_shapes):
        return []
    start, end = document.offset(shown.start), document.offset(shown.end)
    syntax = document.syntax
    hints: list[lsp.InlayHint] = []
    for token in range(max(syntax.token_before(start), 0), syntax.token_before(end) + 1):
        if syntax.tokens[token][:1] != "%":
            continue
        name = syntax.name_at(token)
        if name is None or name.definition != token or name.kind != VALUE or name.operation is None:
            continue
        label = ""
        if settings.inlay_types and not _is_stated(document, name, name.operation):
            label = _type_label(document.analysis.type_of(name))
        elif settings.inlay_shapes:
            label = _grid_label(document.analysis.type_of(name))
        if label:
            place = document.position(syntax.end(token))
            hints.append(lsp.InlayHint(place, label, kind=lsp.InlayHintKind.Type))
    return hints


def _is_stated(document: Document, name: Name, written: WrittenOperation) -> bool:
    """Whether the type of a value is plain from the line that defines it."""
    tokens = document.syntax.tokens
    definition = name.definition
    declaration = written.declaration
    assert definition is not None
    if definition not in written.results:
        # An argument has its type behind it, the variable of a `for` in the same line; carried values do not.
        return tokens[definition + 1] != "="
    if declaration is None or tokens[written.name][:1] == '"':
        return True
    if declaration.is_control_flow:
        # Of several results it takes counting to tell which type is whose.
        return len(written.results) == 1 and tokens[definition + 1] != ":"
    return any(
        part.kind == TYPE and (part.operand is None or part.operand in declaration.results)
        for part in form_of(declaration).parts
    )


def _type_label(type: Type | None) -> str:
    return f": {type.spelling}" if type is not None else ""


def _grid_label(type: Type | None) -> str:
    """How many tiles a view has along each index; `?` where that is known only when the program runs."""
    if not isinstance(type, (PartitionViewType, StridedViewType)):
        return ""
    steps = type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape
    counts: list[str] = []
    for dimension, step in zip(type.dim_map, steps, strict=True):
        size = type.tensor.shape[dimension]
        counts.append("?" if size == DYNAMIC else str(-(-size // step)))
    return f": {'x'.join(counts)} tiles"

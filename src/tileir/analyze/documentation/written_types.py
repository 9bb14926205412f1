"""What a type that is written out, such as `tile<4x8xf32>`, says about its values: for `tileir explain`."""

from __future__ import annotations

from math import prod

from tileir.analyze.documentation.pages import Paragraph, Section, Table
from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
)
from tileir.ir.types import FloatType, IntegerType, Type
from tileir.ir.versions import NEWEST
from tileir.text.cursor import SyntaxFailure
from tileir.text.types import TypeCursor


def written_type_section(text: str) -> Section:
    """The facts of a type as it is written, or what is wrong with it."""
    title = "As written"
    try:
        cursor = TypeCursor(text, "-", NEWEST)
        type = cursor.parse_type()
        if not cursor.at_end():
            cursor.fail("expected end of type")
    except SyntaxFailure as failure:
        _, _, column = failure.diagnostic.position
        return Section(title, (Paragraph(f"No type, at column {column}: {failure.diagnostic.message}."),))
    return Section(title, (Table(("fact", "value"), tuple(type_facts(type))),))


def type_facts(type: Type) -> list[tuple[str, str]]:
    """What a type says about its values: names of facts, and the facts."""
    if isinstance(type, TileType):
        count = prod(type.shape)
        facts = [("shape", _shape(type.shape)), ("element", f"`{type.element.spelling}`"), ("elements", str(count))]
        return [*facts, ("bits", f"{count * _bits(type.element)}, {_bits(type.element)} for each element")]
    if isinstance(type, PointerType):
        return [("points to", f"`{type.pointee.spelling}`"), ("bits", str(_bits(type)))]
    if isinstance(type, TensorViewType):
        return [
            ("shape", _shape(type.shape)),
            ("element", f"`{type.element.spelling}`"),
            ("strides", _list(type.strides)),
        ]
    if isinstance(type, TileViewType):
        return _view_facts(type)
    return [("spelled in full", f"`{type.text}`")]


def _view_facts(type: TileViewType) -> list[tuple[str, str]]:
    facts = [("tile it moves", f"`{type.tile.spelling}`"), ("tensor", f"`{type.tensor.spelling}`")]
    facts.append(("indices of an access", str(type.index_rank)))
    if isinstance(type, (PartitionViewType, StridedViewType)):
        steps = type.traversal_strides if isinstance(type, StridedViewType) else type.tile_shape
        for number, (dimension, extent, step) in enumerate(zip(type.dim_map, type.tile_shape, steps, strict=True)):
            size = type.tensor.shape[dimension]
            tiles = "known when the program runs" if size == DYNAMIC else str(-(-size // step))
            facts.append((f"tiles along index {number}", f"{tiles}, of {extent} along dimension {dimension}"))
    elif isinstance(type, GatherScatterViewType):
        facts.append(("rows are picked along", f"dimension {type.sparse_dim}"))
    outside = f"reads `{type.padding.keyword}`" if type.padding is not None else "what is read is unspecified"
    facts.append(("outside the tensor", outside))
    return facts


def _bits(type: Type) -> int:
    return type.width if isinstance(type, (IntegerType, FloatType)) else 64


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(["dynamic" if extent == DYNAMIC else str(extent) for extent in shape]) or "none: a single element"


def _list(values: tuple[int, ...]) -> str:
    return ", ".join(["dynamic" if value == DYNAMIC else str(value) for value in values]) or "none"

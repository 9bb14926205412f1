"""A recording as the page expects it: the answers whose keys `serve/explorer/assets/types.d.ts` declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy

from tileir.cpp.demangling import source_name
from tileir.dialect.types import TileType
from tileir.execute.recording.accesses import READ
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recording import Recording
from tileir.execute.recording.script_variables import ArrayReference, Content, Description, Missing, TileContent
from tileir.execute.recording.tiles import packed, statistics_of, summarized, texts_of, tile_answer
from tileir.execute.schedule import block_at
from tileir.ir.traversal import memory_changes
from tileir.ir.types import Type
from tileir.serve.explorer.memory_cells import fold_width
from tileir.serve.explorer.questions import check_number


def summary_answer(recording: Recording) -> dict[str, Any]:
    program, blocks = recording.program, recording.blocks
    values = values_of(program)
    for array in recording.arrays:
        # What a script calls its arrays.
        if array.parameter >= 0 and values[array.parameter]["script"] is None:
            values[array.parameter]["script"] = array.name
    return {
        "kernel": source_name(program.entry.symbol_name or ""),
        "grid": list(recording.grid),
        "schedule": recording.schedule,
        "parameters": _parameters(recording),
        "arrays": _arrays(recording),
        "operations": operations_of(program),
        "values": values,
        "script": recording.has_script,
        "findings": len(recording.findings),
        "failure": recording.failure or None,
        "recording": {
            "order": packed(blocks.number),
            "steps": packed(blocks.steps),
            "accesses": len(recording.accesses),
            "bytes": recording.bytes,
            "limit": recording.limit,
            "notes": list(recording.notes),
        },
    }


def _parameters(recording: Recording) -> list[dict[str, Any]]:
    program = recording.program
    arrays = {array.parameter: array for array in recording.arrays}
    names = program.parameter_names
    return [
        {
            "name": arrays[number].name if number in arrays else names[number],
            "type": parameter.type.spelling,
            "array": arrays[number].number if number in arrays else None,
            "value": texts_of(cast(TileType, parameter.type).element, numpy.asarray(value))[0],
        }
        for number, (parameter, value) in enumerate(
            zip(program.entry.regions[0].blocks[0].arguments, recording.launch.values, strict=False)
        )
    ]


def _arrays(recording: Recording) -> list[dict[str, Any]]:
    touched, reads = recording.accesses.array, recording.accesses.kind == READ
    read, written = set(touched[reads].tolist()), set(touched[~reads].tolist())
    return [
        {
            "id": array.number,
            "name": array.name,
            "element": array.element.spelling,
            "shape": list(array.shape),
            "strides": list(array.strides),
            "bytes": array.nbytes,
            "fold": fold_width(recording, array),
            "read": array.number in read,
            "written": array.number in written,
        }
        for array in recording.arrays
    ]


def operations_of(program: NumberedProgram) -> list[dict[str, Any]]:
    """The operations of a program, by number."""
    changing = memory_changes(program.entry)
    found = []
    for number, operation in enumerate(program.operations):
        declaration = operation.declaration
        line = program.script_line(number)
        found.append(
            {
                "id": number,
                "name": declaration.mnemonic,
                "text": program.text(number),
                "depth": program.depths[number],
                "line": program.line_numbers[number],
                "script": None if line is None else {"file": line.file, "line": line.line, "text": line.text},
                "operands": [program.value_numbers[value] for value in operation.operands],
                "results": [program.value_numbers[value] for value in operation.results],
                "reads": declaration.accesses_memory and declaration.reads is not None,
                "writes": operation in changing and declaration.accesses_memory,
            }
        )
    return found


def values_of(program: NumberedProgram) -> list[dict[str, Any]]:
    """The values of a program, by number."""
    found = []
    for number, value in enumerate(program.values):
        type, owner = value.type, value.defining_operation
        tile = type if isinstance(type, TileType) else None
        found.append(
            {
                "id": number,
                "name": program.name(number),
                "script": program.script_name(number),
                "type": type.spelling,
                "element": tile.element.spelling if tile is not None else None,
                "shape": list(tile.shape) if tile is not None else None,
                "operation": program.operation_numbers[owner] if owner is not None else None,
            }
        )
    return found


_COLUMNS: Final = ("block", "step", "operation", "array", "kind", "masked", "approximate")


def accesses_answer(recording: Recording, first: int, count: int) -> dict[str, Any]:
    table = recording.accesses
    total = len(table)
    first = min(max(first, 0), total)
    end = min(first + max(count, 0), total)
    starts = table.box_start[first : end + 1]
    low, high = int(starts[0]), int(starts[-1])
    forms = table.box_form[low:high]
    lengths = numpy.array([len(extents) for extents, _ in table.forms] or [0], numpy.int64)
    flat_starts = numpy.cumsum(lengths) - lengths
    counts = lengths[forms]
    ends = numpy.cumsum(counts)
    places = numpy.arange(int(counts.sum())) + numpy.repeat(flat_starts[forms] - (ends - counts), counts)
    flat = [numpy.array([n for form in table.forms for n in form[part]], numpy.int64) for part in (0, 1)]
    return {
        "first": first,
        "count": end - first,
        "total": total,
        **{name: packed(getattr(table, name)[first:end]) for name in _COLUMNS},
        "boxStart": packed((starts - low).astype(numpy.uint32)),
        "boxFirst": packed(table.box_first[low:high].astype(numpy.float64)),
        "extentStart": packed(numpy.concatenate(([0], ends)).astype(numpy.uint32)),
        "extents": packed(flat[0][places].astype(numpy.float64)),
        "strides": packed(flat[1][places].astype(numpy.float64)),
    }


def steps_answer(recording: Recording, block: int) -> dict[str, Any]:
    return {"block": block, "id": list(block_at(block, recording.grid)), "operation": packed(recording.steps(block))}


def values_answer(recording: Recording, block: int, step: int) -> dict[str, Any]:
    found = [
        {"value": value, "step": computed, "text": summarized(_element(recording, value), numpy.asarray(content))}
        for value, computed, content in recording.values(block, step)
    ]
    return {"block": block, "step": step, "values": found}


def variables_answer(recording: Recording, block: int, step: int) -> dict[str, Any]:
    """The variables of the script at a step: of the function that the tile block is in, then of its callers."""
    found = []
    for one in recording.functions(block, step):
        variables = [_variable(recording, name, content, False) for name, content in one.variables.items()]
        variables += [_variable(recording, name, content, True) for name, content in one.parameters.items()]
        found.append({"function": one.function, "variables": variables, "unassigned": one.unassigned})
    return {"block": block, "step": step, "functions": found}


def _variable(recording: Recording, name: str, content: Content, is_parameter: bool) -> dict[str, Any]:
    tile = content if isinstance(content, TileContent) else None
    array = content.name if isinstance(content, ArrayReference) else None
    return {
        "name": name,
        "parameter": is_parameter,
        "type": recording.program.values[tile.number].type.spelling if tile is not None else "",
        "value": tile.number if tile is not None else None,
        "step": tile.step if tile is not None else None,
        "array": next((one.number for one in recording.arrays if one.name == array), None),
        "text": _content_text(recording, content),
    }


def _content_text(recording: Recording, content: Content) -> str:
    if isinstance(content, TileContent):
        type = recording.program.values[content.number].type
        return summarized(type.element, numpy.asarray(content.content)) if isinstance(type, TileType) else type.spelling
    if isinstance(content, tuple):
        items = [_content_text(recording, one) for one in content]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(content, ArrayReference):
        return content.name
    if isinstance(content, Description):
        return content.text
    return content.shown if isinstance(content, Missing) else repr(content)


def history_answer(recording: Recording, block: int, last: int) -> dict[str, Any]:
    """Every value at every step at which a tile block computed it, up to one; of a long history the newest part."""
    program = recording.program
    history = recording.history(block, last)
    found = []
    for value, one in enumerate(program.values):
        for step in history.steps(value) if isinstance(one.type, TileType) else ():
            newest = history.at(value, step) if step <= last else None
            if newest is not None:
                text = summarized(_element(recording, value), numpy.asarray(newest[1]))
                found.append({"value": value, "step": step, "text": text})
    return {"block": block, "values": found}


def _element(recording: Recording, value: int) -> Type:
    return cast(TileType, recording.program.values[value].type).element


_Extents = Sequence[int] | None


def tile_of_value(
    recording: Recording, block: int, step: int, value: int, start: _Extents = None, extents: _Extents = None
) -> dict[str, Any]:
    """The answer to `tile`."""
    check_number("value", value, len(recording.program.values))
    # First the tile, which refuses what is none.
    tile = recording.tile(block, step, value)
    return tile_answer(_element(recording, value), tile, start, extents)


def array_answer(
    recording: Recording, array: int, block: int, step: int, start: _Extents = None, extents: _Extents = None
) -> dict[str, Any]:
    """The answer to `array`."""
    check_number("array", array, len(recording.arrays))
    contents = recording.contents(array, block, step)
    element = recording.arrays[array].element
    return tile_answer(element, contents, start, extents, statistics_of(element, contents))

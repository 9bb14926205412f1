"""A recording into a file: a zip archive of JSON, the program, and columns of numbers (docs/tools/recording.md)."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy

from tileir.execute.arguments.binding import ArgumentLabel
from tileir.execute.dtypes import Array
from tileir.execute.errors import RecordingError
from tileir.execute.locations.wording import Phrase
from tileir.execute.recording.accesses import AccessTable
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recorded_launch import RecordedLaunch
from tileir.execute.recording.recorder import BlockTable, Records, Seen
from tileir.execute.sanitizer.report import Finding, FindingLocation, SanitizerReport
from tileir.ir.diagnostics import source_of

FORMAT: Final = "tileir recording"
VERSION: Final = 1
HEAD: Final = "recording.json"
PROGRAM: Final = "program.mlir"

COLUMNS: Final[dict[str, str]] = {
    **{f"accesses/{name}": dtype for name, dtype in AccessTable.columns().items()},
    **{f"blocks/{name}": dtype for name, dtype in BlockTable.columns().items()},
    **dict.fromkeys(("forms/start", "forms/extents", "forms/strides", "paths/start"), "<i8"),
    **dict.fromkeys(("paths/decisions", "paths/last"), "<i4"),
    "allowed/row": "<i8",
    "allowed/start": "<i8",
    "allowed/bits": "|u1",
}
WRITE_COLUMNS: Final = ("writes/row", "writes/region", "writes/size", "writes/offset", "writes/form")
WRITES: Final[dict[str, str]] = {
    **dict(zip(WRITE_COLUMNS, ("<i8", "<i4", "|u1", "<i8", "<i4"), strict=True)),
    "writes/place_start": "<i8",
    "writes/places": "<i8",
    "writes/data_start": "<i8",
    "writes/data": "|u1",
    **dict.fromkeys(("writes/form_start", "writes/extents", "writes/strides"), "<i8"),
}
"""What is there only if every write is kept."""
DTYPES: Final = {**COLUMNS, **WRITES}
PARTS: Final[dict[str, tuple[str, ...]]] = {
    "accesses/box_start": ("accesses/box_first", "accesses/box_form"),
    "forms/start": ("forms/extents", "forms/strides"),
    "paths/start": ("paths/decisions",),
    "allowed/start": ("allowed/bits",),
    "writes/place_start": ("writes/places",),
    "writes/data_start": ("writes/data",),
    "writes/form_start": ("writes/extents", "writes/strides"),
}
"""The columns in which parts of different lengths lie one after the other, by the column of where each starts."""

LARGEST: Final = 1 << 62
_WHOLE: Final = range(LARGEST + 1)


class Maybe(NamedTuple):
    schema: object


Schema = object
"""What JSON is to be: a type, a range of whole numbers or a `Maybe`; a list with the schema of all items; a dictionary
with those of its members, or under "" with that of all."""

_PLACE: Final[Schema] = {"operation": range(-1, LARGEST + 1), "block": Maybe([_WHOLE]), "element": Maybe([_WHOLE])}
_LABEL: Final[Schema] = {
    "text": str,
    "parameter": Maybe(range(-1, (1 << 20) + 1)),
    "address": Maybe(_WHOLE),
    "dtype": Maybe(str),
    "shape": Maybe([_WHOLE]),
    "strides": Maybe([range(-LARGEST, LARGEST + 1)]),
    "kind": Maybe(str),
}
_FINDING: Final[Schema] = {
    **dict.fromkeys(("kind", "title", "help", "relation"), str),
    "details": [str],
    "scripts": Maybe([str]),
    "count": range(1, LARGEST + 1),
    "place": _PLACE,
    "other": Maybe(_PLACE),
    "seen": [range(-1, LARGEST + 1)],
}
HEAD_SCHEMA: Final[Schema] = {
    **dict.fromkeys(("format", "kernel", "schedule", "failure"), str),
    **dict.fromkeys(("exact", "tables", "writes"), bool),
    "notes": [str],
    "parameters": [str],
    "version": _WHOLE,
    "grid": [_WHOLE],
    "regions": [{"start": _WHOLE, "size": range(1, LARGEST + 1), "writable": bool, "labels": [_LABEL]}],
    "written": [_WHOLE],
    "globals": {"": _WHOLE},
    "areas": {"": range(65)},
    "findings": [_FINDING],
    "source": Maybe({"name": str, "text": str}),
}


def validate(value: Any, schema: Any, name: str) -> None:
    """Refuse JSON that does not fit a schema."""
    if isinstance(schema, Maybe):
        if value is not None:
            validate(value, schema.schema, name)
    elif isinstance(schema, range):
        if type(value) is not int or value not in schema:
            raise RecordingError(f"{name} is not a whole number from {schema.start} to {schema.stop - 1}")
    elif isinstance(schema, type) or not isinstance(value, type(schema)):
        expected = schema if isinstance(schema, type) else type(schema)
        if type(value) is not expected:
            words = {str: "a text", bool: "true or false", list: "a list", dict: "an object"}
            raise RecordingError(f"{name} is not {words[expected]}")
    elif isinstance(schema, list):
        for item in value:
            validate(item, schema[0], f"an item of {name}")
    elif isinstance(schema, dict):
        for member in value if "" in schema else schema:
            validate(value.get(member), schema.get("", schema.get(member)), f"'{member}' of {name}")


_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)  # The same recording is the same file, whenever it is saved.
_LARGE: Final = 1 << 20  # What is larger is mostly numbers, and not worth the time to compress it.


def save(
    path: str | os.PathLike[str],
    launch: RecordedLaunch,
    records: Records,
    report: SanitizerReport,
    more: dict[str, Any],
) -> None:
    """Write a recording to a file; memory is as before the launch.  `more` is added to the head."""
    memory, program = launch.memory, launch.program
    if memory.multicasts:
        raise RecordingError("a recording of a launch with multicast arrays cannot be written to a file")
    # Addresses in tables are others when it is loaded, and so is what comes of them.
    has_writes = records.states.is_whole and not memory.has_tables
    regions = {region.start: number for number, region in enumerate(memory.copies)}
    head = _launch(launch, regions) | more
    head["written"] = [regions[region.start] for region in records.states.regions]
    head["writes"] = has_writes
    head["findings"] = [_finding(program, records, one) for one in [*report.findings, *report.notes]]
    columns = _columns(records) | (_writes(records, regions) if has_writes else {})
    columns |= {f"memory/{number}": region.data for number, region in enumerate(memory.copies)}
    with zipfile.ZipFile(path, "w", allowZip64=True) as file:
        _add(file, HEAD, json.dumps(head, indent=1).encode())
        _add(file, PROGRAM, program.module.text(debug_info=True).encode("utf-8", "surrogateescape"))
        for name, column in columns.items():
            _add(file, f"{name}.npy", column_bytes(column, DTYPES.get(name, "|u1")))


def _add(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _TIMESTAMP)
    info.compress_type = zipfile.ZIP_STORED if len(data) > _LARGE else zipfile.ZIP_DEFLATED
    file.writestr(info, data)


def column_bytes(column: Array, dtype: str) -> bytes:
    """A column as a file of NumPy's format."""
    file = io.BytesIO()
    numpy.lib.format.write_array(file, numpy.ascontiguousarray(column, dtype), allow_pickle=False)
    return file.getvalue()


def _launch(launch: RecordedLaunch, regions: dict[int, int]) -> dict[str, Any]:
    from tileir import __version__

    source = source_of(launch.entry.location)
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "tileir": __version__,
        "kernel": launch.entry.symbol_name or "",
        "grid": list(launch.grid),
        "schedule": launch.schedule,
        "exact": launch.exact,
        "parameters": [numpy.asarray(value).tobytes().hex() for value in launch.values],
        "regions": [
            {
                "start": region.start,
                "size": region.size,
                "writable": region.writable,
                "labels": [_label(label) for label in region.labels],
            }
            for region in launch.memory.copies
        ],
        "globals": {name: regions[region.start] for name, region in launch.globals.items()},
        "tables": launch.memory.has_tables,
        "areas": launch.memory.areas,
    }
    if source is not None and source.first_line == 1:
        head["source"] = {"name": source.name, "text": source.text}
    return head


def _label(label: object) -> dict[str, Any]:
    if not isinstance(label, ArgumentLabel):
        return {"text": str(label)}
    buffer = label.buffer
    return {
        "text": label.what,
        "parameter": label.number,
        "address": buffer.address,
        "dtype": buffer.dtype.name,
        "shape": list(buffer.shape),
        "strides": list(buffer.strides),
        "kind": buffer.kind,
    }


def _finding(program: NumberedProgram, records: Records, finding: Finding) -> dict[str, Any]:
    texts = (finding.title, finding.help, *finding.details)
    scripts = [
        (text.script, text.infix, text.unchecked) if isinstance(text, Phrase) else (text, "", "") for text in texts
    ]
    return {
        **{name: getattr(finding, name) for name in ("kind", "title", "details", "help", "count", "relation")},
        # The same for the author of a script.
        "scripts": [text for one in scripts for text in one],
        "place": _place(program, finding.location),
        "other": None if finding.other is None else _place(program, finding.other),
        "seen": records.seen.get(finding, Seen(-1)),
    }


def _place(program: NumberedProgram, place: FindingLocation) -> dict[str, Any]:
    operation = program.operation_numbers.get(place.operation, -1)
    return {"operation": operation, "block": place.block, "element": place.element}


def _columns(records: Records) -> dict[str, Array]:
    accesses, blocks, allowed = records.accesses, records.blocks, records.allowed.bits
    return {
        **{f"accesses/{name}": getattr(accesses, name) for name in accesses.columns()},
        **{f"blocks/{name}": getattr(blocks, name) for name in blocks.columns()},
        **_flattened("forms/start", accesses.forms),
        **_flattened("paths/start", [(path.decisions(),) for path in blocks.paths]),
        "paths/last": numpy.array([path.last for path in blocks.paths], numpy.int32),
        "allowed/row": numpy.array(list(allowed), numpy.int64),
        **_flattened("allowed/start", [(bits,) for bits in allowed.values()]),
    }


def _flattened(start: str, parts: Sequence[Sequence[Any]]) -> dict[str, Array]:
    found = {start: numpy.cumsum([0, *[len(part[0]) for part in parts]], dtype=numpy.int64)}
    for number, name in enumerate(PARTS[start]):
        each = [numpy.asarray(part[number], DTYPES[name]) for part in parts]
        found[name] = numpy.concatenate([numpy.zeros(0, DTYPES[name]), *each])
    return found


def _writes(records: Records, regions: dict[int, int]) -> dict[str, Array]:
    """What each write wrote; memory is as before the first."""
    forms: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    rows, places, data = [], [], []
    for write in records.states.writes:
        offset, form = 0, -1
        if write.where is None:
            offset = write.target.__array_interface__["data"][0] - write.region.start
            form = forms.setdefault((write.target.shape, write.target.strides), len(forms))
        rows.append((write.row, regions[write.region.start], write.target.itemsize, offset, form))
        places.append(((),) if write.where is None else (write.where,))
        data.append((numpy.ascontiguousarray(write.buffer).reshape(-1).view(numpy.uint8),))
    return {
        **dict(zip(WRITE_COLUMNS, numpy.array(rows, numpy.int64).reshape(-1, 5).T, strict=True)),
        **_flattened("writes/place_start", places),
        **_flattened("writes/data_start", data),
        **_flattened("writes/form_start", list(forms)),
    }

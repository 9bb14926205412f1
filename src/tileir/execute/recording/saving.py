"""A recording into a file (docs/recording.md)."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any, Final

import numpy

from tileir.execute.arguments import ArgumentLabel
from tileir.execute.dtypes import Array
from tileir.execute.recording.columns import (
    COLUMNS,
    FORMAT,
    HEAD,
    PROGRAM,
    VERSION,
    WRITES,
    column_bytes,
    joined,
    starts_of,
)
from tileir.execute.recording.findings import Seen
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.records import Records
from tileir.execute.recording.replayer import RecordedLaunch
from tileir.execute.sanitizer.report import Finding, Place, SanitizerReport
from tileir.execute.script_names import Phrase
from tileir.ir.diagnostics import source_of

_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
"""The same recording is the same file, whenever it is saved."""
_LARGE: Final = 1 << 20
"""What is larger is mostly numbers, and not worth the time to compress it."""


class Saved:
    """What a file has: the program, what it runs with, what is kept of the launch, and what was told about it."""

    def __init__(
        self,
        program: NumberedProgram,
        launch: RecordedLaunch,
        records: Records,
        report: SanitizerReport,
        told: dict[str, Any],
    ) -> None:
        """`told` has the parts of the head that are as they are."""
        self.program: NumberedProgram = program
        self.launch: RecordedLaunch = launch
        self.records: Records = records
        self.report: SanitizerReport = report
        self.told: dict[str, Any] = told


def save(saved: Saved, path: str | os.PathLike[str]) -> None:
    """Write a recording to a file; memory is as before the launch."""
    memory = saved.launch.memory
    # Addresses in tables are others when it is loaded, and so is what comes of them.
    has_writes = saved.records.states.is_whole and not memory.has_tables
    with zipfile.ZipFile(path, "w", allowZip64=True) as file:
        _add(file, HEAD, json.dumps(_head(saved, has_writes), indent=1).encode())
        _add(file, PROGRAM, saved.program.module.text(debug_info=True).encode("utf-8", "surrogateescape"))
        columns = _columns(saved.records)
        if has_writes:
            columns.update(_writes(saved))
        for name, dtype in {**COLUMNS, **WRITES}.items():
            if name in columns:
                _add(file, f"{name}.npy", column_bytes(columns[name], dtype))
        for number, region in enumerate(memory.copies):
            _add(file, f"memory/{number}.npy", column_bytes(region.data, "|u1"))


def _add(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _MOMENT)
    info.compress_type = zipfile.ZIP_STORED if len(data) > _LARGE else zipfile.ZIP_DEFLATED
    file.writestr(info, data)


def _head(saved: Saved, has_writes: bool) -> dict[str, Any]:
    from tileir import __version__

    launch, program, report = saved.launch, saved.program, saved.report
    memory = launch.memory
    regions = {region.start: number for number, region in enumerate(memory.copies)}
    source = source_of(program.entry.location)
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "tileir": __version__,
        "kernel": program.entry.symbol_name or "",
        "grid": list(launch.grid),
        "schedule": launch.schedule,
        "exact": launch.exact,
        **saved.told,
        "parameters": [numpy.asarray(value).tobytes().hex() for value in launch.values],
        "regions": [
            {
                "start": region.start,
                "size": region.size,
                "writable": region.writable,
                "labels": [_label(label) for label in region.labels],
            }
            for region in memory.copies
        ],
        "written": [regions[region.start] for region in saved.records.states.regions],
        "globals": {name: regions[region.start] for name, region in launch.globals.items()},
        "tables": memory.has_tables,
        "areas": memory.areas,
        "writes": has_writes,
        "findings": [_finding(saved, one) for one in [*report.findings, *report.notes]],
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


def _script_texts(text: str) -> tuple[str, str, str]:
    return (text.script, text.infix, text.unchecked) if isinstance(text, Phrase) else (text, "", "")


def _finding(saved: Saved, finding: Finding) -> dict[str, Any]:
    seen = saved.records.seen.get(finding, Seen(-1))
    return {
        "kind": finding.kind,
        "title": finding.title,
        "details": list(finding.details),
        "hint": finding.hint,
        # The same in a script's words.
        "scripts": [text for one in (finding.title, finding.hint, *finding.details) for text in _script_texts(one)],
        "count": finding.count,
        "relation": finding.relation,
        "place": _place(saved, finding.place),
        "other": None if finding.other is None else _place(saved, finding.other),
        "seen": [seen.step, seen.row, seen.element],
    }


def _place(saved: Saved, place: Place) -> dict[str, Any]:
    return {
        "operation": saved.program.operation_numbers.get(place.operation, -1),
        "block": None if place.block is None else list(place.block),
        "element": None if place.element is None else list(place.element),
    }


def _columns(records: Records) -> dict[str, Array]:
    table, blocks, allowed = records.accesses, records.blocks, records.allowed.bits
    decisions = [path.decisions() for path in blocks.paths]
    forms = table.forms
    return {
        "accesses/block": table.block,
        "accesses/step": table.step,
        "accesses/operation": table.operation,
        "accesses/array": table.array,
        "accesses/kind": table.kind,
        "accesses/masked": table.masked,
        "accesses/approximate": table.approximate,
        "accesses/box_start": table.box_start,
        "accesses/box_first": table.box_first,
        "accesses/box_form": table.box_form,
        "forms/start": starts_of([len(extents) for extents, _ in forms]),
        "forms/extents": numpy.array([number for extents, _ in forms for number in extents], numpy.int64),
        "forms/strides": numpy.array([number for _, strides in forms for number in strides], numpy.int64),
        "blocks/number": blocks.number,
        "blocks/path": blocks.path_numbers,
        "blocks/steps": blocks.steps,
        "blocks/began": blocks.began,
        "paths/start": starts_of([len(one) for one in decisions]),
        "paths/decisions": joined(decisions, "<i4"),
        "paths/last": numpy.array([path.last for path in blocks.paths], numpy.int32),
        "allowed/row": numpy.array(list(allowed), numpy.int64),
        "allowed/start": starts_of([bits.size for bits in allowed.values()]),
        "allowed/bits": joined(list(allowed.values()), "|u1"),
    }


def _writes(saved: Saved) -> dict[str, Array]:
    """What each write wrote; memory is as before the first."""
    memory = saved.launch.memory
    regions = {region.start: number for number, region in enumerate(memory.copies)}
    forms: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    rows, region, size, offset, form, places, data = [], [], [], [], [], [], []
    for write in saved.records.states.timeline.writes:
        rows.append(write.row)
        region.append(regions[write.region.start])
        size.append(write.target.itemsize)
        if write.where is None:
            start = write.target.__array_interface__["data"][0] - write.region.start
            offset.append(start)
            form.append(forms.setdefault((write.target.shape, write.target.strides), len(forms)))
            places.append(numpy.zeros(0, numpy.int64))
        else:
            offset.append(0)
            form.append(-1)
            places.append(write.where)
        data.append(numpy.ascontiguousarray(write.buffer).reshape(-1).view(numpy.uint8))
    return {
        "writes/row": numpy.array(rows, numpy.int64),
        "writes/region": numpy.array(region, numpy.int32),
        "writes/size": numpy.array(size, numpy.uint8),
        "writes/offset": numpy.array(offset, numpy.int64),
        "writes/form": numpy.array(form, numpy.int32),
        "writes/place_start": starts_of([len(one) for one in places]),
        "writes/places": joined(places, "<i8"),
        "writes/data_start": starts_of([len(one) for one in data]),
        "writes/data": joined(data, "|u1"),
        "writes/form_start": starts_of([len(extents) for extents, _ in forms]),
        "writes/extents": numpy.array([number for extents, _ in forms for number in extents], numpy.int64),
        "writes/strides": numpy.array([number for _, strides in forms for number in strides], numpy.int64),
    }

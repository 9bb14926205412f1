"""A recording out of a file (docs/recording.md).

A file may come from anywhere: everything in it is checked before it is used, and what is wrong is a `RecordingError`.
"""

from __future__ import annotations

import json
import os
import zipfile
from itertools import pairwise
from math import prod
from typing import Any, BinaryIO, Final, cast, get_args

import numpy

from tileir.dialect.types import MAXIMUM_TILE_ELEMENTS, PointerType, TileType
from tileir.execute.arguments import ArgumentLabel, Buffer
from tileir.execute.dtypes import Array, memory_dtype, value_dtype
from tileir.execute.entries import select_entry
from tileir.execute.errors import RecordingError
from tileir.execute.grids import check_grid
from tileir.execute.memory import Region
from tileir.execute.recording.accesses import out_of_bounds
from tileir.execute.recording.arrays import arrays_of
from tileir.execute.recording.columns import (
    COLUMNS,
    FORMAT,
    HEAD,
    PROGRAM,
    VERSION,
    WRITES,
    column_of,
)
from tileir.execute.recording.control import ControlFlow
from tileir.execute.recording.findings import Seen
from tileir.execute.recording.owned_memory import OwnedMemory, Source
from tileir.execute.recording.program import NumberedProgram
from tileir.execute.recording.recording import LIMIT, Recording
from tileir.execute.recording.records import Records
from tileir.execute.recording.replayer import RecordedLaunch
from tileir.execute.recording.states import States
from tileir.execute.recording.timeline import Write, box_of
from tileir.execute.sanitizer.report import AnyKind, Finding, Place, SanitizerReport
from tileir.execute.schedule import block_order
from tileir.execute.script_names import Phrase
from tileir.interface import parse
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import type_text
from tileir.ir.types import FLOAT_TYPES, integer_type

_LARGEST: Final = 1 << 62
_TEXT_GROWS: Final = 16
"""So many times its size a text takes when it is read: a program, or JSON."""
_TEXT: Final = 1 << 24
"""Texts that are read whatever the limit is."""


class _Head:
    """The JSON of a recording, whose parts are asked for by type."""

    def __init__(self, values: object, what: str = HEAD) -> None:
        if not isinstance(values, dict):
            raise RecordingError(f"{what} is not an object")
        self._values: dict[str, Any] = values
        self._what: str = what

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def number(self, name: str, least: int = 0, most: int = _LARGEST) -> int:
        value = self._values.get(name)
        if type(value) is not int or not least <= value <= most:
            raise RecordingError(f"'{name}' of {self._what} is not a whole number from {least} to {most}")
        return value

    def numbers(self, name: str, least: int = 0, most: int = _LARGEST) -> list[int]:
        values = self._values.get(name)
        if not isinstance(values, list) or not all(type(one) is int and least <= one <= most for one in values):
            raise RecordingError(f"'{name}' of {self._what} is not a list of whole numbers from {least} to {most}")
        return values

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if not isinstance(value, str):
            raise RecordingError(f"'{name}' of {self._what} is not a text")
        return value

    def is_text(self, name: str, text: str) -> bool:
        return bool(self._values.get(name) == text)

    def texts(self, name: str) -> list[str]:
        values = self._values.get(name)
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise RecordingError(f"'{name}' of {self._what} is not a list of texts")
        return values

    def flag(self, name: str) -> bool:
        value = self._values.get(name)
        if not isinstance(value, bool):
            raise RecordingError(f"'{name}' of {self._what} is neither true nor false")
        return value

    def heads(self, name: str) -> list[_Head]:
        values = self._values.get(name)
        if not isinstance(values, list):
            raise RecordingError(f"'{name}' of {self._what} is not a list")
        return [_Head(one, f"'{name}' of {self._what}") for one in values]

    def head(self, name: str) -> _Head:
        return _Head(self._values.get(name), f"'{name}' of {self._what}")

    def pairs(self, name: str, most: int) -> dict[str, int]:
        values = self._values.get(name)
        if not isinstance(values, dict) or not all(type(one) is int and 0 <= one <= most for one in values.values()):
            raise RecordingError(f"'{name}' of {self._what} does not have whole numbers from 0 to {most}")
        return values


def load_recording(path: str | os.PathLike[str], *, limit: int = LIMIT) -> Recording:
    """The recording in a file that `Recording.save` wrote (docs/recording.md); `limit` is how many bytes it may take.

    Nothing of it runs before something is asked of it.  A file that is no recording is a `RecordingError`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a recording is read from the path of a file, not from {type_text(path)}")
    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        # A device or a pipe may have no end to look for the directory of a zip file at.
        raise RecordingError(f"{os.fspath(path)} is no recording: it is not a file on disk")
    with open(path, "rb") as stream:
        try:
            return _Loading(_archive(stream), limit).recording()
        except RecordingError as error:
            raise RecordingError(f"{os.fspath(path)} is no recording, or a damaged one: {error.message}") from None


def _archive(stream: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(stream)
    except Exception:
        # `zipfile` raises whatever comes of numbers and names that make no sense.
        raise RecordingError("it is not a zip file") from None


class _Loading:
    def __init__(self, file: zipfile.ZipFile, limit: int) -> None:
        self._file: zipfile.ZipFile = file
        self._names: set[str] = set(file.namelist())
        self._limit: int = limit
        self._left: int = limit
        self._columns: dict[str, Array] = {}

    def _read(self, name: str) -> bytes:
        if name not in self._names:
            raise RecordingError(f"{name} is missing")
        size = self._file.getinfo(name).file_size
        # Objects that are made of text take many times as much.
        if size > self._left or (name in (HEAD, PROGRAM) and size > max(self._limit // _TEXT_GROWS, _TEXT)):
            raise RecordingError(f"it takes more than {self._limit} bytes: load it with a larger limit")
        try:
            with self._file.open(name) as member:
                # Not more than it says, whatever it is compressed from.
                data = member.read(size + 1)
        except Exception:
            # What is compressed is damaged, or in a way that `zipfile` does not know.
            raise RecordingError(f"{name} cannot be read") from None
        if len(data) != size:
            raise RecordingError(f"{name} is not of the size that it says")
        self._left -= size
        return data

    def _column(self, name: str) -> Array:
        found = self._columns.get(name)
        if found is None:
            dtype = COLUMNS.get(name) or WRITES.get(name) or "|u1"
            found = self._columns[name] = column_of(name, self._read(f"{name}.npy"), dtype)
        return found

    def recording(self) -> Recording:
        try:
            head = _Head(json.loads(self._read(HEAD)))
        except (ValueError, RecursionError):
            raise RecordingError(f"{HEAD} is not JSON") from None
        if head.text("format") != FORMAT:
            raise RecordingError(f"its format is not '{FORMAT}'")
        if head.number("version") != VERSION:
            raise RecordingError(f"it has version {head.number('version')}, and this tileir reads version {VERSION}")
        entry = self._program(head)
        program = NumberedProgram(entry)
        control = ControlFlow(program)
        launch = self._launch(head, entry)
        labels = [label for one in launch.memory.copies for label in one.labels if isinstance(label, ArgumentLabel)]
        for label in labels:
            _require(label.number < 0 or _is_pointer(entry, label.number), "an array is given for no pointer")
        arrays = arrays_of(program, launch.memory, labels)
        records = Records()
        self._blocks(records, control, launch)
        self._accesses(records, len(program.operations), len(arrays), launch)
        written = [launch.memory.copies[number] for number in self._regions(head, "written", launch.memory)]
        records.states = States(written, self._limit, records.began, launch.is_interleaved)
        writes = self._writes(launch.memory, len(records.accesses)) if head.flag("writes") else None
        records.states.restore(writes, len(records.accesses))
        report = self._findings(head, program, records)
        report.grid, report.kernel = launch.grid, entry.symbol_name or ""
        sanitize: Any = "all" if head.is_text("sanitize", "all") else head.flag("sanitize")
        return Recording(
            program,
            control,
            launch,
            arrays,
            records,
            self._limit,
            head.text("failure"),
            report,
            sanitize,
            head.texts("notes"),
        )

    # --- the program and what it runs with ---

    def _program(self, head: _Head) -> Operation:
        text = self._read(PROGRAM).decode("utf-8", "surrogateescape")
        try:
            module = parse(text, PROGRAM, verify=True)
            if head.has("source"):
                # With the names and lines of its author, if it is that program.
                source = head.head("source")
                again = parse(source.text("text"), source.text("name"), verify=True)
                if again.text() == module.text():
                    module = again
            return select_entry(module, head.text("kernel"))
        except RecordingError:
            raise
        except TileIRError as error:
            raise RecordingError(f"{PROGRAM} is not a program with its kernel ({error.message})") from None

    def _launch(self, head: _Head, entry: Operation) -> RecordedLaunch:
        try:
            grid = check_grid(tuple(head.numbers("grid")))
            block_order(head.text("schedule"), grid)
        except RecordingError:
            raise
        except TileIRError as error:
            raise RecordingError(error.message) from None
        sources: list[Source] = []
        for number, region in enumerate(head.heads("regions")):
            data = self._column(f"memory/{number}")
            start, size = region.number("start"), region.number("size", 1)
            end = start + size
            if len(data) != size:
                raise RecordingError(f"memory/{number} does not have {size} bytes")
            labels = tuple([_label(label, start, end) for label in region.heads("labels")])
            if not labels:
                raise RecordingError(f"region {number} is nobody's")
            sources.append(Source(start, data, labels, region.flag("writable")))
        spans = sorted([(source.start, source.start + len(source.data)) for source in sources])
        for (_, before), (start, _) in pairwise(spans):
            _require(before <= start, "two regions share memory")
        memory = OwnedMemory(sources, entry, head.flag("tables"), head.pairs("areas", 64))
        globals = head.pairs("globals", len(sources) - 1)
        named = {name: memory.copies[number] for name, number in globals.items()}
        return RecordedLaunch(
            grid, head.text("schedule"), head.flag("exact"), memory, self._values(head, entry, memory), named
        )

    def _values(self, head: _Head, entry: Operation, memory: OwnedMemory) -> list[Any]:
        parameters = entry.regions[0].blocks[0].arguments
        bits = head.texts("parameters")
        if len(bits) != len(parameters):
            raise RecordingError(f"there are {len(bits)} parameters instead of {len(parameters)}")
        found: list[Any] = []
        for parameter, text in zip(parameters, bits, strict=True):
            dtype = value_dtype(cast(TileType, parameter.type).element)
            try:
                data = bytes.fromhex(text)
            except ValueError:
                data = b""
            if len(data) != dtype.itemsize:
                raise RecordingError(f"a parameter of type {parameter.type.spelling} is not {text!r}")
            found.append(numpy.frombuffer(data, dtype)[0])
        return memory.values(entry, found)

    def _regions(self, head: _Head, name: str, memory: OwnedMemory) -> list[int]:
        return list(dict.fromkeys(head.numbers(name, 0, len(memory.copies) - 1)))

    # --- tables ---

    def _blocks(self, records: Records, control: ControlFlow, launch: RecordedLaunch) -> None:
        number, path, steps, began = (self._column(f"blocks/{name}") for name in ("number", "path", "steps", "began"))
        count = launch.grid[0] * launch.grid[1] * launch.grid[2]
        decisions, last = self._column("paths/decisions"), self._column("paths/last")
        starts = self._starts("paths/start", len(last), len(decisions))
        _require(len(number) == len(path) == len(steps) == len(began), "the columns of blocks have different lengths")
        _within("blocks/number", number, 0, count - 1)
        _require(len(numpy.unique(number)) == len(number), "a tile block is there twice")
        _within("blocks/path", path, 0, len(last) - 1)
        rows = len(self._column("accesses/block"))
        _within("blocks/began", began, 0, rows)
        _require(bool((numpy.diff(began) >= 0).all()), "blocks/began is not in order")
        known = numpy.array(sorted(control.decisions.values()), numpy.int64)
        _require(bool(numpy.isin(decisions, known).all()), "paths/decisions has what decides nothing")
        stepped = numpy.array(sorted(control.steps), numpy.int64)
        _require(bool(numpy.isin(last[last >= 0], stepped).all()), "paths/last has what is no step")
        records.blocks.restore(number, path, steps, began, decisions, starts, last)
        for place, one in enumerate(records.blocks.paths):
            wrong = records.blocks.steps[records.blocks.path_numbers == place] != control.count(one)
            _require(not bool(wrong.any()), "blocks/steps does not fit the paths")

    def _accesses(self, records: Records, operations: int, arrays: int, launch: RecordedLaunch) -> None:
        names = ("block", "step", "operation", "array", "kind", "masked", "approximate")
        columns = [self._column(f"accesses/{name}") for name in names]
        count = len(columns[0])
        _require(all(len(column) == count for column in columns), "the columns of accesses have different lengths")
        _require(bool(numpy.isin(columns[0], records.blocks.number).all()), "an access is of no tile block")
        _within("accesses/operation", columns[2], 0, operations - 1)
        _within("accesses/array", columns[3], out_of_bounds(arrays - 1), arrays - 1)
        _within("accesses/kind", columns[4], 0, 2)
        _within("accesses/masked", columns[5], 0, _LARGEST)
        extents, strides = self._column("forms/extents"), self._column("forms/strides")
        starts = self._column("forms/start")
        _require(len(extents) == len(strides), "the columns of forms have different lengths")
        starts = self._starts("forms/start", len(starts) - 1, len(extents))
        _within("forms/extents", extents, 1, 1 << 40)
        _within("forms/strides", strides, -(1 << 48), 1 << 48)
        boxes, form = self._column("accesses/box_first"), self._column("accesses/box_form")
        _require(len(boxes) == len(form), "the columns of boxes have different lengths")
        _within("accesses/box_form", form, 0, len(starts) - 2)
        box_start = self._starts("accesses/box_start", count, len(boxes))
        forms = [
            (tuple(extents[low:high].tolist()), tuple(strides[low:high].tolist()))
            for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
        # Boxes are of elements that are there, a tile of pointers may name one often.
        most = max(sum([region.size for region in launch.memory.copies]), MAXIMUM_TILE_ELEMENTS)
        _require(all(prod(counts) <= most for counts, _ in forms), "forms/extents has more elements than memory")
        records.accesses.restore(columns, box_start, boxes, form, forms)
        rows, bits = self._column("allowed/row"), self._column("allowed/bits")
        _within("allowed/row", rows, 0, count - 1)
        places = self._starts("allowed/start", len(rows), len(bits)).tolist()
        for number, row in enumerate(rows.tolist()):
            records.allowed.bits[row] = bits[places[number] : places[number + 1]]

    def _starts(self, name: str, count: int, end: int) -> Array:
        """A column that says where each of some parts starts, and where the last one ends."""
        starts = self._column(name)
        good = len(starts) == count + 1 >= 1 and int(starts[0]) == 0 and int(starts[-1]) == end
        _require(good and bool((numpy.diff(starts) >= 0).all()), f"{name} does not lead from 0 to {end}")
        return starts

    def _writes(self, memory: OwnedMemory, rows: int) -> list[Write]:
        row, region, size, offset, form = (
            self._column(f"writes/{name}") for name in ("row", "region", "size", "offset", "form")
        )
        count = len(row)
        _require(count == len(region) == len(size) == len(offset) == len(form), "the columns of writes differ")
        _within("writes/row", row, 0, rows - 1)
        _require(bool((numpy.diff(row) > 0).all()), "writes/row is not in order")
        _within("writes/region", region, 0, len(memory.copies) - 1)
        _require(bool(numpy.isin(size, [1, 2, 4, 8]).all()), "writes/size has a size that no element has")
        places, data = self._column("writes/places"), self._column("writes/data")
        place_starts = self._starts("writes/place_start", count, len(places)).tolist()
        data_starts = self._starts("writes/data_start", count, len(data)).tolist()
        extents, strides = self._column("writes/extents"), self._column("writes/strides")
        _require(len(extents) == len(strides), "the columns of forms of writes have different lengths")
        form_starts = self._column("writes/form_start")
        forms = self._starts("writes/form_start", len(form_starts) - 1, len(extents)).tolist()
        _within("writes/form", form, -1, len(forms) - 2)
        found: list[Write] = []
        for number in range(count):
            shape = None
            if form[number] >= 0:
                low, high = forms[int(form[number])], forms[int(form[number]) + 1]
                shape = tuple(extents[low:high].tolist()), tuple(strides[low:high].tolist())
            found.append(
                _write(
                    int(row[number]),
                    memory.copies[int(region[number])],
                    int(size[number]),
                    int(offset[number]),
                    shape,
                    places[place_starts[number] : place_starts[number + 1]],
                    data[data_starts[number] : data_starts[number + 1]],
                )
            )
        return found

    # --- findings ---

    def _findings(self, head: _Head, program: NumberedProgram, records: Records) -> SanitizerReport:
        report = SanitizerReport()
        for one in head.heads("findings"):
            kind = one.text("kind")
            kinds = [name for group in get_args(AnyKind) for name in (get_args(group) or (group,))]
            _require(kind in kinds, f"there is no finding of the kind {kind!r}")
            other = _place(one.head("other"), program) if one.has("other") else None
            place = _place(one.head("place"), program)
            title, hint, *details = _phrases(one)
            found = Finding(cast(AnyKind, kind), title, place, details, hint, one.text("relation"), other)
            found.count = one.number("count", 1)
            seen = one.numbers("seen", -1)
            _require(len(seen) == 3 and seen[1] < len(records.accesses), "'seen' of a finding is not an access")
            records.seen[found] = Seen(*seen)
            (report.notes if kind == "note" else report.findings).append(found)
        return report


def _phrases(finding: _Head) -> list[str]:
    """The title, the hint and the details; files of earlier releases do not have them in a script's words."""
    texts = [finding.text("title"), finding.text("hint"), *finding.texts("details")]
    if not finding.has("scripts"):
        return texts
    scripts = finding.texts("scripts")
    _require(len(scripts) == 3 * len(texts), "'scripts' of a finding are not three for each text")
    return [Phrase(text, *scripts[3 * number : 3 * number + 3]) for number, text in enumerate(texts)]


def _is_pointer(entry: Operation, number: int) -> bool:
    parameters = entry.regions[0].blocks[0].arguments
    if number >= len(parameters):
        return False
    type = parameters[number].type
    return isinstance(type, TileType) and isinstance(type.element, PointerType)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise RecordingError(message)


def _within(name: str, column: Array, least: int, most: int) -> None:
    if len(column) and not (least <= int(column.min()) and int(column.max()) <= most):
        raise RecordingError(f"{name} has numbers that are not from {least} to {most}")


def _label(head: _Head, start: int, end: int) -> object:
    if not head.has("dtype"):
        return head.text("text")
    shape, strides = head.numbers("shape"), head.numbers("strides", -_LARGEST)
    _require(len(shape) == len(strides) <= 32, "an array has other strides than extents")
    dtype = _DTYPES.get(head.text("dtype"))
    if dtype is None:
        raise RecordingError(f"there is no dtype {head.text('dtype')!r}")
    address = head.number("address", start, end)
    buffer = Buffer(address, tuple(shape), tuple(strides), dtype, True, None, head.text("kind"))
    _require(start <= buffer.low <= buffer.high <= end, "an array is not in its region")
    return ArgumentLabel(head.text("text"), buffer, head.number("parameter", -1, 1 << 20))


def _known_dtypes() -> dict[str, numpy.dtype[Any]]:
    found: dict[str, numpy.dtype[Any]] = {}
    integers = [integer_type(width) for width in (1, 4, 8, 16, 32, 64)]
    for element in [*integers, *FLOAT_TYPES.values()]:
        for dtype in (value_dtype(element), memory_dtype(element)):
            found[dtype.name] = dtype
    for size in (1, 2, 4, 8):
        found[f"uint{8 * size}"] = numpy.dtype(f"u{size}")
    return found


_DTYPES: Final = _known_dtypes()


def _write(
    row: int,
    region: Region,
    size: int,
    offset: int,
    form: tuple[tuple[int, ...], tuple[int, ...]] | None,
    places: Array,
    data: Array,
) -> Write:
    dtype = numpy.dtype(f"u{size}")
    try:
        contents = data.view(dtype).copy()
        if form is None:
            target, where = region.typed(dtype), places.copy()
            if len(where) != len(contents) or (len(where) and not 0 <= where.min() <= where.max() < len(target)):
                raise ValueError
            return Write(row, region, target, where, contents)
        target = box_of(region, region.start + offset, size, *form)
        return Write(row, region, target, None, contents.reshape(target.shape))
    except (ValueError, TypeError, OverflowError, MemoryError):
        raise RecordingError(f"the write of row {row} is not in its region") from None


def _place(head: _Head, program: NumberedProgram) -> Place:
    operation = head.number("operation", -1, len(program.operations) - 1)
    block = head.numbers("block") if head.has("block") else None
    _require(block is None or len(block) == 3, "the tile block of a finding does not have three numbers")
    element = tuple(head.numbers("element")) if head.has("element") else None
    where = None if block is None else (block[0], block[1], block[2])
    return Place(program.operations[operation] if operation >= 0 else program.entry, where, element)

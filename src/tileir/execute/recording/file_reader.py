"""A recording out of a file (docs/recording.md).

A file may come from anywhere: everything in it is checked before it is used, and what is wrong is a `RecordingError`.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable
from itertools import pairwise
from math import prod
from typing import Any, BinaryIO, Final, cast, get_args

import numpy

from tileir.dialect.types import MAXIMUM_TILE_ELEMENTS, PointerType, TileType
from tileir.execute.arguments.binding import ArgumentLabel, Buffer
from tileir.execute.dtypes import Array, memory_dtype, value_dtype
from tileir.execute.errors import RecordingError
from tileir.execute.launching.entries import check_grid, select_entry
from tileir.execute.locations.wording import Phrase
from tileir.execute.memory import Region
from tileir.execute.recording.accesses import out_of_bounds
from tileir.execute.recording.arrays import arrays_of
from tileir.execute.recording.file_writer import DTYPES, FORMAT, HEAD, HEAD_SCHEMA, LARGEST, PROGRAM, VERSION, validate
from tileir.execute.recording.memory_states import Write, box_of
from tileir.execute.recording.prepared_launch import OwnedMemory, RecordedLaunch, Source
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.recording.recorder import Records, Seen
from tileir.execute.recording.recording import LIMIT, Recording
from tileir.execute.sanitizer.report import AnyKind, Finding, Place, SanitizerReport
from tileir.execute.schedule import block_order
from tileir.interface import parse
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import type_text
from tileir.ir.types import FLOAT_TYPES, integer_type

_TEXT_GROWS: Final = 16
"""So many times its size a text takes when it is read: a program, or JSON."""
_TEXT: Final = 1 << 24
"""Texts that are read whatever the limit is."""


class Archive:
    """The members of a zip file, of at most `limit` bytes in all."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        try:
            self._file = zipfile.ZipFile(stream)
        except Exception:
            # `zipfile` raises whatever comes of numbers and names that make no sense.
            raise RecordingError("it is not a zip file") from None
        self._names: set[str] = set(self._file.namelist())
        self._limit: int = limit
        self._left: int = limit
        self._columns: dict[str, Array] = {}

    def read(self, name: str) -> bytes:
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

    def column(self, name: str) -> Array:
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = _column_of(name, self.read(f"{name}.npy"), DTYPES.get(name, "|u1"))
        return found

    def table(self, prefix: str, names: Iterable[str], message: str) -> dict[str, Array]:
        """Columns of one length, by name."""
        found = {name: self.column(f"{prefix}/{name}") for name in names}
        require(len({len(column) for column in found.values()}) == 1, message)
        return found

    def forms(self, start: str, prefix: str, message: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Extents and strides, one after the other in columns."""
        extents, strides = self.table(prefix, ("extents", "strides"), message).values()
        starts = self.starts(start, len(self.column(start)) - 1, len(extents)).tolist()
        return [
            (tuple(extents[low:high].tolist()), tuple(strides[low:high].tolist())) for low, high in pairwise(starts)
        ]

    def head(self) -> dict[str, Any]:
        try:
            head = json.loads(self.read(HEAD))
        except (ValueError, RecursionError):
            raise RecordingError(f"{HEAD} is not JSON") from None
        validate(head, HEAD_SCHEMA, HEAD)
        return cast("dict[str, Any]", head)

    def starts(self, name: str, count: int, end: int) -> Array:
        """A column that says where each of some parts starts, and where the last one ends."""
        starts = self.column(name)
        good = len(starts) == count + 1 >= 1 and int(starts[0]) == 0 and int(starts[-1]) == end
        require(good and bool((numpy.diff(starts) >= 0).all()), f"{name} does not lead from 0 to {end}")
        return starts


def _column_of(name: str, data: bytes, dtype: str) -> Array:
    """The column in a file of NumPy's format: of the expected type, of one dimension, as long as its header says."""
    file = io.BytesIO(data)
    try:
        require(numpy.lib.format.read_magic(file) == (1, 0), "")
        shape, _, found = numpy.lib.format.read_array_header_1_0(file)
    except Exception:
        # NumPy reads the header with Python's own parser, whose exceptions are many.
        raise RecordingError(f"{name} is not a file of NumPy's format, version 1.0") from None
    expected = numpy.dtype(dtype)
    rest = len(data) - file.tell()
    if found != expected or len(shape) != 1 or shape[0] * expected.itemsize != rest:
        raise RecordingError(f"{name} is not a column of {dtype} with {rest} bytes")
    return numpy.frombuffer(data, expected, offset=file.tell())


def require(holds: bool, message: str) -> None:
    if not holds:
        raise RecordingError(message)


def within(name: str, column: Array, least: int, most: int) -> None:
    if len(column) and not (least <= int(column.min()) and int(column.max()) <= most):
        raise RecordingError(f"{name} has numbers that are not from {least} to {most}")


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
            return _Loader(Archive(stream, limit), limit).recording()
        except RecordingError as error:
            raise RecordingError(f"{os.fspath(path)} is no recording, or a damaged one: {error.message}") from None


class _Loader:
    def __init__(self, file: Archive, limit: int) -> None:
        self._file: Archive = file
        self._limit: int = limit

    def recording(self) -> Recording:
        head = self._file.head()
        require(head["format"] == FORMAT, f"its format is not '{FORMAT}'")
        version, sanitize = head["version"], head.get("sanitize")
        require(version == VERSION, f"it has version {version}, and this tileir reads version {VERSION}")
        require(isinstance(sanitize, bool) or sanitize == "all", "'sanitize' is neither true, false nor 'all'")
        entry = self._program(head)
        program = NumberedProgram(entry)
        control = ControlFlow(program)
        launch = self._launch(head, entry)
        labels = [label for one in launch.memory.copies for label in one.labels if isinstance(label, ArgumentLabel)]
        for label in labels:
            require(label.number < 0 or _is_pointer(entry, label.number), "an array is given for no pointer")
        arrays = arrays_of(program, launch.memory, labels)
        copies, numbers = launch.memory.copies, dict.fromkeys(head["written"])
        require(all(number < len(copies) for number in numbers), "'written' has a region that is not there")
        records = Records([copies[number] for number in numbers], self._limit, launch.is_interleaved)
        self._blocks(records, control, launch)
        self._accesses(records, len(program.operations), len(arrays), launch)
        writes = self._writes(launch.memory, len(records.accesses)) if head["writes"] else None
        records.states.restore(writes, len(records.accesses))
        report = self._findings(head, program, records)
        report.grid, report.kernel = launch.grid, entry.symbol_name or ""
        return Recording(
            program,
            control,
            launch,
            arrays,
            records,
            self._limit,
            head["failure"],
            report,
            cast(Any, sanitize),
            head["notes"],
        )

    # --- the program and what it runs with ---

    def _program(self, head: dict[str, Any]) -> Operation:
        text = self._file.read(PROGRAM).decode("utf-8", "surrogateescape")
        try:
            module = parse(text, PROGRAM, verify=True)
            source = head.get("source")
            if source is not None:
                # With the names and lines of its author, if it is that program.
                again = parse(source["text"], source["name"], verify=True)
                if again.text() == module.text():
                    module = again
            return select_entry(module, head["kernel"])
        except TileIRError as error:
            raise RecordingError(f"{PROGRAM} is not a program with its kernel ({error.message})") from None

    def _launch(self, head: dict[str, Any], entry: Operation) -> RecordedLaunch:
        try:
            grid = check_grid(tuple(head["grid"]))
            block_order(head["schedule"], grid)
        except TileIRError as error:
            raise RecordingError(error.message) from None
        sources: list[Source] = []
        for number, region in enumerate(head["regions"]):
            data = self._file.column(f"memory/{number}")
            start, size = region["start"], region["size"]
            require(len(data) == size, f"memory/{number} does not have {size} bytes")
            labels = tuple([_label(label, start, start + size) for label in region["labels"]])
            require(bool(labels), f"region {number} is nobody's")
            sources.append(Source(start, data, labels, region["writable"]))
        spans = sorted([(source.start, source.start + len(source.data)) for source in sources])
        for (_, before), (start, _) in pairwise(spans):
            require(before <= start, "two regions share memory")
        memory = OwnedMemory(sources, entry, head["tables"], head["areas"])
        globals = head["globals"]
        require(all(number < len(sources) for number in globals.values()), "'globals' has a region that is not there")
        named = {name: memory.copies[number] for name, number in globals.items()}
        values = self._values(head, entry, memory)
        return RecordedLaunch(entry, grid, head["schedule"], head["exact"], memory, values, named)

    def _values(self, head: dict[str, Any], entry: Operation, memory: OwnedMemory) -> list[Any]:
        parameters = entry.regions[0].blocks[0].arguments
        bits = head["parameters"]
        require(len(bits) == len(parameters), f"there are {len(bits)} parameters instead of {len(parameters)}")
        found: list[Any] = []
        for parameter, text in zip(parameters, bits, strict=True):
            dtype = value_dtype(cast(TileType, parameter.type).element)
            try:
                data = bytes.fromhex(text)
            except ValueError:
                data = b""
            require(len(data) == dtype.itemsize, f"a parameter of type {parameter.type.spelling} is not {text!r}")
            found.append(numpy.frombuffer(data, dtype)[0])
        return memory.values(entry, found)

    # --- tables ---

    def _blocks(self, records: Records, control: ControlFlow, launch: RecordedLaunch) -> None:
        table = self._file.table("blocks", records.blocks.columns(), "the columns of blocks have different lengths")
        decisions, last = self._file.column("paths/decisions"), self._file.column("paths/last")
        starts = self._file.starts("paths/start", len(last), len(decisions))
        number, began = table["number"], table["began"]
        within("blocks/number", number, 0, prod(launch.grid) - 1)
        require(len(numpy.unique(number)) == len(number), "a tile block is there twice")
        within("blocks/path", table["path"], 0, len(last) - 1)
        within("blocks/began", began, 0, len(self._file.column("accesses/block")))
        require(bool((numpy.diff(began) >= 0).all()), "blocks/began is not in order")
        known = numpy.array(sorted(control.decisions.values()), numpy.int64)
        require(bool(numpy.isin(decisions, known).all()), "paths/decisions has what decides nothing")
        stepped = numpy.array(sorted(control.steps), numpy.int64)
        require(bool(numpy.isin(last[last >= 0], stepped).all()), "paths/last has what is no step")
        records.blocks.restore(table, decisions, starts, last)
        for place, one in enumerate(records.blocks.paths):
            wrong = table["steps"][table["path"] == place] != control.count(one)
            require(not bool(wrong.any()), "blocks/steps does not fit the paths")

    def _accesses(self, records: Records, operations: int, arrays: int, launch: RecordedLaunch) -> None:
        *names, _, _, _ = records.accesses.columns()
        table = self._file.table("accesses", names, "the columns of accesses have different lengths")
        count = len(table["block"])
        require(bool(numpy.isin(table["block"], records.blocks.number).all()), "an access is of no tile block")
        within("accesses/operation", table["operation"], 0, operations - 1)
        within("accesses/array", table["array"], out_of_bounds(arrays - 1), arrays - 1)
        within("accesses/kind", table["kind"], 0, 2)
        within("accesses/masked", table["masked"], 0, LARGEST)
        forms = self._file.forms("forms/start", "forms", "the columns of forms have different lengths")
        within("forms/extents", self._file.column("forms/extents"), 1, 1 << 40)
        within("forms/strides", self._file.column("forms/strides"), -(1 << 48), 1 << 48)
        boxes = self._file.table("accesses", ("box_first", "box_form"), "the columns of boxes have different lengths")
        within("accesses/box_form", boxes["box_form"], 0, len(forms) - 1)
        boxes["box_start"] = self._file.starts("accesses/box_start", count, len(boxes["box_form"]))
        # Boxes are of elements that are there, a tile of pointers may name one often.
        most = max(sum([region.size for region in launch.memory.copies]), MAXIMUM_TILE_ELEMENTS)
        require(all(prod(counts) <= most for counts, _ in forms), "forms/extents has more elements than memory")
        records.accesses.restore(table | boxes, forms)
        rows, bits = self._file.column("allowed/row"), self._file.column("allowed/bits")
        within("allowed/row", rows, 0, count - 1)
        places = self._file.starts("allowed/start", len(rows), len(bits)).tolist()
        for row, (low, high) in zip(rows.tolist(), pairwise(places), strict=True):
            records.allowed.bits[row] = bits[low:high]

    def _writes(self, memory: OwnedMemory, rows: int) -> list[Write]:
        table = self._file.table("writes", ("row", "region", "size", "offset", "form"), "the columns of writes differ")
        row, region, size, offset, form = table.values()
        within("writes/row", row, 0, rows - 1)
        require(bool((numpy.diff(row) > 0).all()), "writes/row is not in order")
        within("writes/region", region, 0, len(memory.copies) - 1)
        require(bool(numpy.isin(size, [1, 2, 4, 8]).all()), "writes/size has a size that no element has")
        places, data = self._file.column("writes/places"), self._file.column("writes/data")
        place_starts = self._file.starts("writes/place_start", len(row), len(places)).tolist()
        data_starts = self._file.starts("writes/data_start", len(row), len(data)).tolist()
        message = "the columns of forms of writes have different lengths"
        forms = self._file.forms("writes/form_start", "writes", message)
        within("writes/form", form, -1, len(forms) - 1)
        numbers = zip(row.tolist(), region.tolist(), size.tolist(), offset.tolist(), form.tolist(), strict=True)
        return [
            _write(
                at,
                memory.copies[number],
                bytes,
                start,
                forms[shape] if shape >= 0 else None,
                places[slice(*where)],
                data[slice(*what)],
            )
            for (at, number, bytes, start, shape), where, what in zip(
                numbers, pairwise(place_starts), pairwise(data_starts), strict=True
            )
        ]

    # --- findings ---

    def _findings(self, head: dict[str, Any], program: NumberedProgram, records: Records) -> SanitizerReport:
        report = SanitizerReport()
        kinds = [name for group in get_args(AnyKind) for name in (get_args(group) or (group,))]
        for one in head["findings"]:
            kind, seen = one["kind"], one["seen"]
            require(kind in kinds, f"there is no finding of the kind {kind!r}")
            other = _place(one["other"], program) if one.get("other") is not None else None
            title, hint, *details = _phrases(one)
            place = _place(one["place"], program)
            found = Finding(cast(AnyKind, kind), title, place, details, hint, one["relation"], other)
            found.count = one["count"]
            require(len(seen) == 3 and seen[1] < len(records.accesses), "'seen' of a finding is not an access")
            records.seen[found] = Seen(*seen)
            (report.notes if kind == "note" else report.findings).append(found)
        return report


def _phrases(finding: dict[str, Any]) -> list[str]:
    """The title, the hint and the details; files of earlier releases do not have them in a script's words."""
    texts, scripts = [finding["title"], finding["hint"], *finding["details"]], finding.get("scripts")
    if scripts is None:
        return texts
    require(len(scripts) == 3 * len(texts), "'scripts' of a finding are not three for each text")
    return [Phrase(text, *scripts[3 * number : 3 * number + 3]) for number, text in enumerate(texts)]


def _is_pointer(entry: Operation, number: int) -> bool:
    parameters = entry.regions[0].blocks[0].arguments
    if number >= len(parameters):
        return False
    type = parameters[number].type
    return isinstance(type, TileType) and isinstance(type.element, PointerType)


def _label(head: dict[str, Any], start: int, end: int) -> object:
    if head.get("dtype") is None:
        return head["text"]
    members = [head.get(name) for name in ("address", "shape", "strides", "kind", "parameter")]
    require(None not in members, "an array is not described in full")
    address, shape, strides, kind, parameter = cast("list[Any]", members)
    require(len(shape) == len(strides) <= 32, "an array has other strides than extents")
    dtype = _DTYPES.get(head["dtype"])
    if dtype is None:
        raise RecordingError(f"there is no dtype {head['dtype']!r}")
    buffer = Buffer(address, tuple(shape), tuple(strides), dtype, True, None, kind)
    require(start <= min(address, buffer.low) <= buffer.high <= end, "an array is not in its region")
    return ArgumentLabel(head["text"], buffer, parameter)


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


def _place(head: dict[str, Any], program: NumberedProgram) -> Place:
    operation, block, element = head["operation"], head.get("block"), head.get("element")
    require(operation < len(program.operations), "a finding is about an operation that is not there")
    require(block is None or len(block) == 3, "the tile block of a finding does not have three numbers")
    where = None if block is None else (block[0], block[1], block[2])
    owner = program.operations[operation] if operation >= 0 else program.entry
    return Place(owner, where, None if element is None else tuple(element))

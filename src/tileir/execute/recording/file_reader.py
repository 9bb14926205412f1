"""A recording out of a file (docs/tools/recording.md).

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
from tileir.execute.recording import file_writer as layout
from tileir.execute.recording.accesses import out_of_bounds
from tileir.execute.recording.memory_states import Write, box_of
from tileir.execute.recording.program import NumberedProgram, Path
from tileir.execute.recording.recorded_launch import OwnedMemory, RecordedLaunch, Source
from tileir.execute.recording.recorder import Records, Seen
from tileir.execute.recording.recording import LIMIT, Recording
from tileir.execute.sanitizer.report import AnyKind, Finding, FindingLocation, SanitizerReport
from tileir.execute.schedule import block_order
from tileir.interface import parse
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import type_text
from tileir.ir.types import FLOAT_TYPES, integer_type

_TEXT_GROWS: Final = 16  # So many times its size a text takes when it is read: a program, or JSON.
_TEXT: Final = 1 << 24  # Texts that are read whatever the limit is.


class Archive:
    """The members of a zip file, of at most `limit` bytes in all."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        try:
            self._zip = zipfile.ZipFile(stream)
        except Exception:
            # `zipfile` raises whatever comes of numbers and names that make no sense.
            raise RecordingError("it is not a zip file") from None
        self._names: set[str] = set(self._zip.namelist())
        self._limit: int = limit
        self._left: int = limit
        self._columns: dict[str, Array] = {}

    def read(self, name: str) -> bytes:
        if name not in self._names:
            raise RecordingError(f"{name} is missing")
        size = self._zip.getinfo(name).file_size
        # Objects that are made of text take many times as much.
        if size > self._left or (
            name in (layout.HEAD, layout.PROGRAM) and size > max(self._limit // _TEXT_GROWS, _TEXT)
        ):
            raise RecordingError(f"it takes more than {self._limit} bytes: load it with a larger `memory_limit`")
        try:
            with self._zip.open(name) as member:
                # No more than the stated size, whatever the compressed data expands to.
                data = member.read(size + 1)
        except Exception:
            # The compressed data is damaged, or compressed by a method that `zipfile` does not know.
            raise RecordingError(f"{name} cannot be read") from None
        if len(data) != size:
            raise RecordingError(f"{name} is not of the size that it states")
        self._left -= size
        return data

    def column(self, name: str) -> Array:
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = _column_of(name, self.read(f"{name}.npy"), layout.DTYPES.get(name, "|u1"))
        return found

    def table(self, names: Iterable[str]) -> list[Array]:
        """Columns of one length."""
        found = {name: self.column(name) for name in names}
        require(len({len(column) for column in found.values()}) == 1, f"{', '.join(found)} have different lengths")
        return list(found.values())

    def parts(self, start: str) -> list[tuple[Array, ...]]:
        """Parts of different lengths, of each of some columns."""
        columns, starts = self.table(layout.PARTS[start]), self.column(start)
        good = len(starts) >= 1 and int(starts[0]) == 0 and int(starts[-1]) == len(columns[0])
        require(good and bool((numpy.diff(starts) >= 0).all()), f"{start} does not lead from 0 to {len(columns[0])}")
        return [tuple([column[low:high] for column in columns]) for low, high in pairwise(starts.tolist())]

    def forms(self, start: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        return [(tuple(extents.tolist()), tuple(strides.tolist())) for extents, strides in self.parts(start)]

    def head(self) -> dict[str, Any]:
        try:
            head = json.loads(self.read(layout.HEAD))
        except (ValueError, RecursionError):
            raise RecordingError(f"{layout.HEAD} is not JSON") from None
        layout.validate(head, layout.HEAD_SCHEMA, layout.HEAD)
        return cast("dict[str, Any]", head)


def _column_of(name: str, data: bytes, dtype: str) -> Array:
    """The column in a file of NumPy's format, if it has the expected type, one dimension, and the header's length."""
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


def load(path: str | os.PathLike[str], *, memory_limit: int = LIMIT) -> Recording:
    """The recording in a file that `Recording.save` wrote (docs/tools/recording.md).

    `memory_limit` is how many bytes it may take.

    Nothing of it runs before it is used.  A file that is no recording is a `RecordingError`.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a recording is read from the path of a file, not from {type_text(path)}")
    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        # A device or a pipe may have no end to look for the directory of a zip file at.
        raise RecordingError(f"{os.fspath(path)} is no recording: it is not a file on disk")
    with open(path, "rb") as stream:
        try:
            return _Loader(stream, memory_limit).recording()
        except RecordingError as error:
            raise RecordingError(f"{os.fspath(path)} is no recording, or a damaged one: {error.message}") from None


class _Loader(Archive):
    def recording(self) -> Recording:
        head = self.head()
        require(head["format"] == layout.FORMAT, f"its format is not '{layout.FORMAT}'")
        version, sanitize = head["version"], head.get("sanitize")
        require(version == layout.VERSION, f"it has version {version}, and this tileir reads version {layout.VERSION}")
        require(isinstance(sanitize, bool) or sanitize == "all", "'sanitize' is neither true, false nor 'all'")
        launch = self._launch(head, self._program(head))
        copies, numbers = launch.memory.copies, dict.fromkeys(head["written"])
        require(all(number < len(copies) for number in numbers), "'written' has a region that is not there")
        records = Records([copies[number] for number in numbers], self._limit, launch.is_interleaved)
        self._blocks(records, launch)
        self._accesses(records, launch)
        writes = self._writes(launch.memory, len(records.accesses)) if head["writes"] else None
        records.states.restore(writes, len(records.accesses))
        report = self._findings(head, launch.program, records)
        report.grid, report.kernel = launch.grid, launch.entry.symbol_name or ""
        return Recording(launch, records, self._limit, head["failure"], report, cast(Any, sanitize), head["notes"])

    def _program(self, head: dict[str, Any]) -> Operation:
        text = self.read(layout.PROGRAM).decode("utf-8", "surrogateescape")
        try:
            module = parse(text, layout.PROGRAM, verify=True)
            source = head.get("source")
            if source is not None:
                # With the names and lines of its author, if it is that program.
                again = parse(source["text"], source["name"], verify=True)
                if again.text() == module.text():
                    module = again
            return select_entry(module, head["kernel"])
        except TileIRError as error:
            raise RecordingError(f"{layout.PROGRAM} is not a program with its kernel ({error.message})") from None

    def _launch(self, head: dict[str, Any], entry: Operation) -> RecordedLaunch:
        try:
            grid = check_grid(tuple(head["grid"]))
            block_order(head["schedule"], grid)
        except TileIRError as error:
            raise RecordingError(error.message) from None
        sources: list[Source] = []
        for number, region in enumerate(head["regions"]):
            data = self.column(f"memory/{number}")
            start, size = region["start"], region["size"]
            require(len(data) == size, f"memory/{number} does not have {size} bytes")
            labels = tuple([_label(label, start, start + size, entry) for label in region["labels"]])
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
        return RecordedLaunch(NumberedProgram(entry), grid, head["schedule"], head["exact"], memory, values, named)

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

    def _blocks(self, records: Records, launch: RecordedLaunch) -> None:
        names = records.blocks.columns()
        table = dict(zip(names, self.table([f"blocks/{name}" for name in names]), strict=True))
        number, began, last = table["number"], table["began"], self.column("paths/last")
        paths = [
            Path.of(decisions, end) for (decisions,), end in zip(self.parts("paths/start"), last.tolist(), strict=False)
        ]
        require(len(paths) == len(last) == len(self.column("paths/start")) - 1, "paths/last is not one for each path")
        within("blocks/number", number, 0, prod(launch.grid) - 1)
        require(len(numpy.unique(number)) == len(number), "a tile block is there twice")
        within("blocks/path", table["path"], 0, len(last) - 1)
        within("blocks/began", began, 0, len(self.column("accesses/block")))
        require(bool((numpy.diff(began) >= 0).all()), "blocks/began is not in order")
        decided = numpy.isin(self.column("paths/decisions"), list(launch.control.decisions.values()))
        require(bool(decided.all()), "paths/decisions has what decides nothing")
        stepped = numpy.isin(last[last >= 0], list(launch.control.steps))
        require(bool(stepped.all()), "paths/last has what is no step")
        records.blocks.restore(table, paths)
        for place, one in enumerate(paths):
            wrong = table["steps"][table["path"] == place] != launch.control.count(one)
            require(not bool(wrong.any()), "blocks/steps does not fit the paths")

    def _accesses(self, records: Records, launch: RecordedLaunch) -> None:
        arrays = len(launch.arrays)
        *names, _, _, _ = records.accesses.columns()
        table = dict(zip(names, self.table([f"accesses/{name}" for name in names]), strict=True))
        count = len(table["block"])
        require(bool(numpy.isin(table["block"], records.blocks.number).all()), "an access is of no tile block")
        within("accesses/operation", table["operation"], 0, len(launch.program.operations) - 1)
        within("accesses/array", table["array"], out_of_bounds(arrays - 1), arrays - 1)
        within("accesses/kind", table["kind"], 0, 2)
        within("accesses/masked", table["masked"], 0, layout.LARGEST)
        forms = self.forms("forms/start")
        within("forms/extents", self.column("forms/extents"), 1, 1 << 40)
        within("forms/strides", self.column("forms/strides"), -(1 << 48), 1 << 48)
        boxes = len(self.parts("accesses/box_start"))
        require(boxes == count, "accesses/box_start is not one for each access")
        within("accesses/box_form", self.column("accesses/box_form"), 0, len(forms) - 1)
        # Boxes are of elements that are there, a tile of pointers may name one often.
        most = max(sum([region.size for region in launch.memory.copies]), MAXIMUM_TILE_ELEMENTS)
        require(all(prod(counts) <= most for counts, _ in forms), "forms/extents has more elements than memory")
        table |= {name: self.column(f"accesses/{name}") for name in ("box_start", "box_first", "box_form")}
        records.accesses.restore(table, forms)
        rows, bits = self.column("allowed/row"), self.parts("allowed/start")
        within("allowed/row", rows, 0, count - 1)
        require(len(rows) == len(bits), "allowed/row is not one for each part")
        records.allowed.bits |= {row: part for row, (part,) in zip(rows.tolist(), bits, strict=True)}

    def _writes(self, memory: OwnedMemory, rows: int) -> list[Write]:
        table = self.table(layout.WRITE_COLUMNS)
        row, region, size, _, form = table
        within("writes/row", row, 0, rows - 1)
        require(bool((numpy.diff(row) > 0).all()), "writes/row is not in order")
        within("writes/region", region, 0, len(memory.copies) - 1)
        require(bool(numpy.isin(size, [1, 2, 4, 8]).all()), "writes/size has a size that no element has")
        places, data = self.parts("writes/place_start"), self.parts("writes/data_start")
        require(len(places) == len(data) == len(row), "writes/places and writes/data are not of one length")
        forms = self.forms("writes/form_start")
        within("writes/form", form, -1, len(forms) - 1)
        found: list[Write] = []
        columns = zip(*[column.tolist() for column in table], places, data, strict=True)
        for at, number, size, offset, shape, (where,), (what,) in columns:
            home, dtype = memory.copies[number], numpy.dtype(f"u{size}")
            try:
                contents = what.view(dtype).copy()
                if shape < 0:
                    target, where = home.typed(dtype), where.copy()
                    if len(where) != len(contents) or (
                        len(where) and not 0 <= where.min() <= where.max() < len(target)
                    ):
                        raise ValueError
                    found.append(Write(at, home, target, where, contents))
                else:
                    target = box_of(home, home.start + offset, size, *forms[shape])
                    found.append(Write(at, home, target, None, contents.reshape(target.shape)))
            except (ValueError, TypeError, OverflowError, MemoryError):
                raise RecordingError(f"the write of row {at} is not in its region") from None
        return found

    def _findings(self, head: dict[str, Any], program: NumberedProgram, records: Records) -> SanitizerReport:
        report = SanitizerReport()
        kinds = [name for group in get_args(AnyKind) for name in (get_args(group) or (group,))]
        for one in head["findings"]:
            kind, seen = one["kind"], one["seen"]
            require(kind in kinds, f"there is no finding of the kind {kind!r}")
            other = _place(one["other"], program) if one.get("other") is not None else None
            texts, scripts = [one["title"], one["help"], *one["details"]], one.get("scripts")
            # Files of earlier releases do not have them in a script's words.
            if scripts is not None:
                require(len(scripts) == 3 * len(texts), "'scripts' of a finding are not three for each text")
                texts = [Phrase(text, *scripts[3 * at : 3 * at + 3]) for at, text in enumerate(texts)]
            title, hint, *details = texts
            place = _place(one["place"], program)
            found = Finding(cast(AnyKind, kind), title, place, details, hint, one["relation"], other)
            found.count = one["count"]
            require(len(seen) == 3 and seen[1] < len(records.accesses), "'seen' of a finding is not an access")
            records.seen[found] = Seen(*seen)
            (report.notes if kind == "note" else report.findings).append(found)
        return report


def _label(head: dict[str, Any], start: int, end: int, entry: Operation) -> object:
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
    types = [cast(TileType, each.type).element for each in entry.regions[0].blocks[0].arguments]
    is_pointer = parameter < len(types) and isinstance(types[parameter], PointerType)
    require(parameter < 0 or is_pointer, "an array is given for no pointer")
    return ArgumentLabel(head["text"], buffer, parameter)


_ELEMENTS: Final = [*[integer_type(width) for width in (1, 4, 8, 16, 32, 64)], *FLOAT_TYPES.values()]
_DTYPES: Final[dict[str, numpy.dtype[Any]]] = {
    dtype.name: dtype
    for dtype in [
        *[of(element) for element in _ELEMENTS for of in (value_dtype, memory_dtype)],
        *[numpy.dtype(f"u{size}") for size in (1, 2, 4, 8)],
    ]
}


def _place(head: dict[str, Any], program: NumberedProgram) -> FindingLocation:
    operation, block, element = head["operation"], head.get("block"), head.get("element")
    require(operation < len(program.operations), "a finding is about an operation that is not there")
    require(block is None or len(block) == 3, "the tile block of a finding does not have three numbers")
    where = None if block is None else (block[0], block[1], block[2])
    owner = program.operations[operation] if operation >= 0 else program.entry
    return FindingLocation(owner, where, None if element is None else tuple(element))

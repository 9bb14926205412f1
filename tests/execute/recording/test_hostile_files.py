"""Recordings that strangers made: a file is refused by a `RecordingError`, or what it answers is sound."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy
import pytest
from tests.execute.recording.test_files import changed, example
from tests.mutations import mutated_bytes, mutated_documents, outcomes

import tileir
from tileir.execute.errors import RecordingError
from tileir.execute.recording.file_reader import load as load_recording
from tileir.execute.recording.file_writer import COLUMNS, WRITES, column_bytes
from tileir.serve.explorer.finding_answers import findings_answer
from tileir.serve.explorer.recording_answers import accesses_answer, steps_answer, summary_answer, values_answer

LIMIT = 1 << 26


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "launch.tilerec"
    example("racy", monkeypatch).save(path)
    return path


def asked(path: Path) -> None:
    """Load a recording, and ask what a page asks first."""
    recording = load_recording(path, memory_limit=LIMIT)
    try:
        summary_answer(recording)
        accesses_answer(recording, 0, 100)
        findings_answer(recording)
        for place in range(min(2, len(recording.blocks))):
            block, steps = int(recording.blocks.number[place]), int(recording.blocks.steps[place])
            steps_answer(recording, block)
            values_answer(recording, block, steps // 2)
            for array in range(len(recording.arrays)):
                recording.array(array, block, steps)
    except tileir.TileIRError:
        # Sound as far as a file can be looked at: what it is a recording of does not run as it says.
        pass


def member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as file:
        return file.read(name)


def test_bytes_of_the_file(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "changed"
    data = saved.read_bytes()

    def cases() -> Iterator[Path]:
        # Most of what a zip file says of its members is at its end.
        for each in [*mutated_bytes(data, 1, 150), *[data[:-600] + end for end in mutated_bytes(data[-600:], 2, 250)]]:
            target.write_bytes(each)
            yield target

    assert outcomes(cases(), asked, RecordingError)["refused"] > 100


def test_names_that_are_no_text(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "changed"
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("r\u00e9cording.json", "{}")
    target.write_bytes(target.read_bytes().replace("\u00e9".encode(), b"\xff\xff"))
    with pytest.raises(RecordingError, match="is no recording"):
        load_recording(target)


def test_values_of_the_head(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "changed"
    head = json.loads(member(saved, "recording.json"))
    cases = (changed(saved, target, "recording.json", each) for each in mutated_documents(head, 3, 250))
    assert outcomes(cases, asked, RecordingError)["refused"] > 100


@pytest.mark.parametrize("name", ["recording.json", "program.mlir"])
def test_bytes_of_texts(saved: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / "changed"
    cases = (changed(saved, target, name, each) for each in mutated_bytes(member(saved, name), 4, 150))
    assert outcomes(cases, asked, RecordingError)["refused"] > 30


def test_bytes_of_columns(saved: Path, tmp_path: Path) -> None:
    """The heads of columns, which NumPy reads as Python."""
    target = tmp_path / "changed"

    def cases() -> Iterator[Path]:
        for number, name in enumerate([*COLUMNS, *WRITES, "memory/0"]):
            data = member(saved, f"{name}.npy")
            for each in mutated_bytes(data[:128], number, 8):
                yield changed(saved, target, f"{name}.npy", each + data[128:])
        head = member(saved, "accesses/block.npy")
        for text in (b"(", b"'''", b"{'descr': (", b"[" * 60, b"1" * 60, b"\xff" * 60, b"lambda: 1", b"\0" * 60):
            rest = head[10:128]
            yield changed(saved, target, "accesses/block.npy", head[:10] + text + rest[len(text) :] + head[128:])

    assert outcomes(cases(), asked, RecordingError)["refused"] > 100


def test_numbers_of_columns(saved: Path, tmp_path: Path) -> None:
    chance = Random(5)
    target = tmp_path / "changed"

    def cases() -> Iterator[Path]:
        for name, dtype in {**COLUMNS, **WRITES}.items():
            column = numpy.load(io.BytesIO(member(saved, f"{name}.npy")))
            limits = numpy.iinfo(column.dtype)
            for _ in range(6 if column.size else 0):
                wrong = column.copy()
                value = chance.choice((limits.min, limits.max, 0, 1, limits.max // 2, chance.randrange(limits.max)))
                wrong[chance.randrange(len(wrong)) :][: chance.choice((1, len(wrong)))] = value
                yield changed(saved, target, f"{name}.npy", column_bytes(wrong, dtype))
            for wrong in (column[:0], column[:-1], numpy.tile(column, 3), numpy.sort(column)[::-1]):
                yield changed(saved, target, f"{name}.npy", column_bytes(wrong, dtype))

    assert outcomes(cases(), asked, RecordingError)["refused"] > 100

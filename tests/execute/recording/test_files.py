"""Recordings in files: loaded they give the same answers, and damaged ones are refused in words."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest

import tileir
from tileir.bridge.recording import record
from tileir.execute.errors import RecordingError
from tileir.execute.recording.file_reader import load as load_recording
from tileir.execute.recording.file_writer import COLUMNS, column_bytes
from tileir.execute.recording.recording import Recording
from tileir.serve.explorer.finding_answers import findings_answer
from tileir.serve.explorer.recording_answers import accesses_answer, steps_answer, summary_answer, values_answer

EXAMPLES = Path(__file__).parents[3] / "examples"


def example(name: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Recording:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = getattr(importlib.import_module("run_all"), name)()
    kernel = tileir.compile(EXAMPLES / f"{name}.mlir", backend="interpreter")
    return record(kernel, found.grid, (*found.inputs, found.output, *found.scalars), **options)


def without_addresses(summary: dict[str, Any]) -> dict[str, Any]:
    parameters = [{**one, "value": one["array"] is None and one["value"]} for one in summary["parameters"]]
    return {**summary, "parameters": parameters, "recording": {**summary["recording"], "bytes": 0, "limit": 0}}


@pytest.mark.parametrize(
    ("name", "schedule"),
    [("vector_add", "random:1"), ("matmul", "forward"), ("histogram", "interleaved"), ("racy", "reverse")],
)
def test_a_loaded_recording_gives_the_same_answers(
    name: str, schedule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recording = example(name, monkeypatch, schedule=schedule)
    path = tmp_path / "launch.tilerec"
    recording.save(path)
    loaded = load_recording(path)
    assert without_addresses(summary_answer(loaded)) == without_addresses(summary_answer(recording))
    assert accesses_answer(loaded, 0, 1 << 20) == accesses_answer(recording, 0, 1 << 20)
    assert findings_answer(loaded) == findings_answer(recording)
    random = Random(1)
    for _ in range(4):
        place = random.randrange(len(recording.blocks))
        block, steps = int(recording.blocks.number[place]), int(recording.blocks.steps[place])
        step = random.randrange(steps + 1)
        assert steps_answer(loaded, block) == steps_answer(recording, block)
        for array in range(len(recording.arrays)):
            assert loaded.array(array, block, step).tobytes() == recording.array(array, block, step).tobytes()
        here, there = values_answer(recording, block, step)["values"], values_answer(loaded, block, step)["values"]
        types = [value.type.text for value in recording.program.values]
        assert [one for one in here if "ptr" not in types[one["value"]]] == [
            one for one in there if "ptr" not in types[one["value"]]
        ]
    assert not loaded.differs
    again = tmp_path / "again.tilerec"
    recording.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_without_all_writes_a_loaded_recording_runs_tile_blocks_again(tmp_path: Path) -> None:
    from tests.execute.recording.test_limits import BLOCKS, least_limit, recorded

    recording, arrays = recorded("forward", least_limit())
    path = tmp_path / "launch.tilerec"
    recording.save(path)
    with zipfile.ZipFile(path) as file:
        assert "writes/data.npy" not in file.namelist()
    loaded = load_recording(path)
    for block in (BLOCKS - 1, 0, 5):
        for array in (0, 1):
            assert loaded.array(array, block, 40).tobytes() == recording.array(array, block, 40).tobytes()
    assert loaded.final(0).tobytes() == arrays[0].tobytes()


def saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "launch.tilerec"
    example("racy", monkeypatch).save(path)
    return path


def changed(path: Path, target: Path, name: str, data: bytes | None) -> Path:
    """The file with other contents of one of its members, or without it."""
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(target, "w") as other:
        for member in file.namelist():
            if member != name:
                other.writestr(member, file.read(member))
            elif data is not None:
                other.writestr(member, data)
    return target


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"cuda_tile.module @m {}")
    with pytest.raises(RecordingError, match="is not a zip file"):
        load_recording(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme", "")
    with pytest.raises(RecordingError, match=r"recording\.json is missing"):
        load_recording(path)
    with pytest.raises(FileNotFoundError):
        load_recording(tmp_path / "nothing")


def test_a_column_with_numbers_that_make_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = saved(monkeypatch, tmp_path)
    target = tmp_path / "changed"
    with zipfile.ZipFile(path) as file:
        members = {name: numpy.load(io.BytesIO(file.read(f"{name}.npy"))) for name in COLUMNS}
    for name, column in members.items():
        with pytest.raises(RecordingError, match=name.replace("/", "/") + " is missing|missing"):
            load_recording(changed(path, target, f"{name}.npy", None))
        with pytest.raises(RecordingError):
            load_recording(changed(path, target, f"{name}.npy", b"\x93NUMPY and more"))
        with pytest.raises(RecordingError):
            load_recording(changed(path, target, f"{name}.npy", column_bytes(column, "<f8")))
        if name in ("accesses/step", "accesses/masked", "accesses/approximate", "accesses/box_first", "allowed/bits"):
            continue
        if column.size:
            wrong = column.copy()
            wrong[-1] = numpy.iinfo(column.dtype).max
            with pytest.raises(RecordingError):
                load_recording(changed(path, target, f"{name}.npy", column_bytes(wrong, COLUMNS[name])))


def test_a_head_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = saved(monkeypatch, tmp_path)
    with zipfile.ZipFile(path) as file:
        head = json.loads(file.read("recording.json"))
    for name in head:
        if name in ("tileir", "limit", "source"):
            continue
        wrong: tuple[Any, ...] = (None, -1, "nothing", [[]], {"a": []})
        for value in wrong:
            if value == head[name] or (name == "failure" and value == "nothing"):
                continue
            data = json.dumps({**head, name: value}).encode()
            with pytest.raises(RecordingError):
                load_recording(changed(path, tmp_path / "changed", "recording.json", data))
    newer = json.dumps({**head, "version": 2}).encode()
    with pytest.raises(RecordingError, match="it has version 2, and this tileir reads version 1"):
        load_recording(changed(path, tmp_path / "changed", "recording.json", newer))


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = saved(monkeypatch, tmp_path)
    with pytest.raises(RecordingError, match="it takes more than 1000 bytes: load it with a larger `memory_limit`"):
        load_recording(path, memory_limit=1000)


def test_damaged_bytes_end_in_a_diagnostic_or_in_a_recording(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = saved(monkeypatch, tmp_path).read_bytes()
    random = Random(3)
    target = tmp_path / "damaged"
    for _ in range(60):
        wrong = bytearray(data)
        for _ in range(random.choice((1, 4, 40))):
            wrong[random.randrange(len(wrong))] = random.randrange(256)
        target.write_bytes(bytes(wrong[: random.choice((len(wrong), random.randrange(len(wrong))))]))
        try:
            loaded = load_recording(target)
            loaded.values(0, 3)
            loaded.array(0, 0, 3)
        except tileir.TileIRError:
            pass


@pytest.mark.parametrize("parameter", [3, 99])
def test_an_array_for_a_parameter_that_is_no_pointer_is_refused(
    parameter: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "launch.tilerec"
    example("vector_add", monkeypatch).save(path)
    with zipfile.ZipFile(path) as file:
        head = json.loads(file.read("recording.json"))
    head["regions"][0]["labels"][0]["parameter"] = parameter
    data = json.dumps(head).encode()
    with pytest.raises(RecordingError, match="an array is given for no pointer"):
        load_recording(changed(path, tmp_path / "changed", "recording.json", data))


@pytest.mark.parametrize("name", ["recording.json", "program.mlir"])
def test_a_text_that_would_take_much_when_it_is_read_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, target = saved(monkeypatch, tmp_path), tmp_path / "changed"
    changed(path, target, name, None)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr(name, b" " * ((1 << 24) + 1))
    with pytest.raises(RecordingError, match="load it with a larger `memory_limit`"):
        load_recording(target, memory_limit=1 << 26)


def test_what_has_no_end_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero on this system")
    with pytest.raises(RecordingError, match="it is not a file on disk"):
        load_recording("/dev/zero")


def test_boxes_of_more_elements_than_there_are_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = saved(monkeypatch, tmp_path)
    with zipfile.ZipFile(path) as file:
        extents = numpy.load(io.BytesIO(file.read("forms/extents.npy"))).copy()
    extents[0] = 1 << 40
    data = column_bytes(extents, "<i8")
    with pytest.raises(RecordingError, match="forms/extents has more elements than memory"):
        load_recording(changed(path, tmp_path / "changed", "forms/extents.npy", data))

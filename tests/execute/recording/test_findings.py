"""The findings of a recorded launch, and the accesses they are about."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import tileir
from tileir.execute.locations.wording import Phrase
from tileir.execute.recording import file_writer
from tileir.execute.recording.file_reader import load as load_recording
from tileir.execute.recording.recording import record
from tileir.execute.sanitizer.report import KINDS, Finding
from tileir.serve.explorer.finding_answers import CHECKED, COVERED, findings_answer

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_every_kind_of_finding_is_described() -> None:
    assert sorted([*CHECKED, *COVERED]) == sorted(KINDS)


def test_a_race_names_both_accesses() -> None:
    kernel = tileir.compile(EXAMPLES / "racy.mlir", backend="interpreter")
    recording = record(kernel, 4, (numpy.ones(512, numpy.int32), numpy.zeros(1, numpy.int32), 512))
    answer = findings_answer(recording)
    json.dumps(answer, allow_nan=False)
    races = [finding for finding in answer["findings"] if finding["kind"] == "race"]
    assert races
    for race in races:
        one, other = race["place"]["access"], race["other"]["access"]
        accesses = recording.accesses
        assert other < one
        assert accesses.array[one] == accesses.array[other] == race["place"]["array"]
        assert accesses.block[one] == race["place"]["block"] and accesses.block[other] == race["other"]["block"]
        assert race["place"]["block"] != race["other"]["block"]
        assert accesses.operation[one] == race["place"]["operation"]
        assert accesses.operation[other] == race["other"]["operation"]
        assert accesses.step[one] == race["place"]["step"] and accesses.step[other] == race["other"]["step"]
        # They meet, and at least one of them writes.
        assert set(accesses.elements(one)) & set(accesses.elements(other))
        assert accesses.kind[one] or accesses.kind[other]
        assert race["place"]["position"].startswith("racy.mlir:")


def test_an_access_outside_of_its_array_is_kept_from_happening_again() -> None:
    kernel = tileir.compile(EXAMPLES / "vector_add.mlir", backend="interpreter")
    a, b, c = (numpy.ones(100, numpy.float32) for _ in range(3))
    recording = record(kernel, 1, (a, b, c, 128))
    answer = findings_answer(recording)
    assert {finding["kind"] for finding in answer["findings"]} == {"out-of-bounds"}
    assert [finding["place"]["access"] for finding in answer["findings"]] == [1, 3, 5]
    assert [(one["place"]["array"], one["place"]["outside"]) for one in answer["findings"]] == [
        (number, True) for number in range(3)
    ]
    assert recording.accesses.array.tolist() == [0, -3, 1, -4, 2, -5]
    total = next(
        value for value in range(len(recording.program.values)) if recording.program.script_name(value) == "sum"
    )
    tile = recording.tile(0, 25, total)
    assert tile.tolist() == [2.0] * 100 + [0.0] * 28
    assert recording.array(2, 0, 25).tolist() == c.tolist() == [2.0] * 100


def test_a_file_has_the_words_for_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_script(findings: list[Finding]) -> list[tuple[str, ...]]:
        texts = [text for finding in findings for text in (finding.title, finding.help, *finding.details)]
        return [(text, text.script, text.unchecked) if isinstance(text, Phrase) else (text, text, "") for text in texts]

    kernel = tileir.compile(EXAMPLES / "vector_add.mlir", backend="interpreter")
    recording = record(kernel, 1, (*[numpy.ones(100, numpy.float32) for _ in range(3)], 128))
    recording.save(tmp_path / "new")
    saved, loaded = in_script(recording.report.findings), in_script(load_recording(tmp_path / "new").report.findings)
    assert loaded == saved and any(script != text for text, script, _ in saved)
    # Files of earlier releases have the words of the tile program alone.
    finding_of = file_writer._finding
    without = lambda *given: {key: value for key, value in finding_of(*given).items() if key != "scripts"}  # noqa: E731
    monkeypatch.setattr(file_writer, "_finding", without)
    recording.save(tmp_path / "old")
    old = load_recording(tmp_path / "old").report.findings
    assert [finding.title for finding in old] == [str(finding.title) for finding in recording.report.findings]
    monkeypatch.setattr(file_writer, "_finding", lambda *given: {**finding_of(*given), "scripts": []})
    recording.save(tmp_path / "wrong")
    with pytest.raises(tileir.errors.RecordingError, match="'scripts' of a finding"):
        load_recording(tmp_path / "wrong")


def test_a_failed_launch_is_recorded_up_to_there() -> None:
    text = """
    cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>, %d: tile<i32>) {
      %x, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token
      %c = cmpi less_than %x, %d, signed : tile<i32> -> tile<i1>
      assert %c, "too large" : tile<i1>
      %y = addi %x, %x : tile<i32>
      %s = store_ptr_tko weak %a, %y token = %t : tile<ptr<i32>>, tile<i32> -> token
      return } }
    """
    kernel = tileir.compile(tileir.parse(text), backend="interpreter")
    array = numpy.array([1], numpy.int32)
    recording = record(kernel, 8, (array, 4), sanitize=False)
    assert "failed: too large" in recording.failure and array.tolist() == [4]
    assert recording.blocks.number.tolist() == [0, 1, 2] and recording.blocks.steps.tolist() == [6, 6, 3]
    assert [recording.program.operations[one].name for one in recording.steps(2).tolist()][-1] == "cuda_tile.assert"
    assert recording.tile(2, 3, 2) == 4
    array[:] = 1
    recording = record(kernel, 8, (array, 4), sanitize=True, schedule="interleaved")
    assert not recording.failure
    kinds = {finding.kind for finding in recording.findings}
    assert "race" in kinds
    answer = findings_answer(recording)
    for finding in answer["findings"]:
        if finding["kind"] == "assert":
            assert finding["place"]["step"] == 3


def test_reading_an_array_that_does_not_count_as_written_is_found() -> None:
    text = (EXAMPLES / "vector_add.mlir").read_text()
    a, b, c = [numpy.zeros(256, numpy.float32) for _ in range(3)]
    found = tileir.record(tileir.parse(text), 2, (a, b, c, a.size), uninitialized=[b[128:], c])
    (finding,) = [each for each in findings_answer(found)["findings"] if each["kind"] == "uninitialized"]
    accesses = found.accesses
    assert found.arrays[accesses.array[finding["place"]["access"]]].name == "b" and finding["place"]["block"] == 1
    assert not findings_answer(tileir.record(tileir.parse(text), 2, (a, b, c, a.size)))["findings"]

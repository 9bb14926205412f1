"""The translations of `tileir-translate`."""

from __future__ import annotations

import io
import sys

import pytest
from tests.tools.test_bytecode_commands import MODULE, Output

import tileir
from tileir.tools.drop_in import translate as drop_in_translate


class Translate:
    """Runs tileir-translate on a text or on bytes: status, output, standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def __call__(self, data: str | bytes, *arguments: str) -> tuple[int, bytes, str]:
        given = data.encode() if isinstance(data, str) else data
        output = Output()
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            patch.setattr(sys, "stdout", output)
            status = drop_in_translate.run(list(arguments))
        return status, output.written(), self.capsys.readouterr().err


@pytest.fixture
def translate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Translate:
    return Translate(monkeypatch, capsys)


def test_text_is_translated_to_bytecode_and_back(translate: Translate) -> None:
    status, data, error = translate(MODULE, "-mlir-to-cudatilebc", "-no-implicit-module")
    assert (status, error) == (0, "")
    assert data == tileir.to_bytecode(tileir.parse(MODULE), version="13.3")
    assert translate(data, "-cudatilebc-to-mlir") == (0, MODULE.encode(), "")


def test_implicit_module_is_looked_through(translate: Translate) -> None:
    _, data, _ = translate(MODULE, "-mlir-to-cudatilebc")
    assert data == tileir.to_bytecode(tileir.parse(MODULE), version="13.3")


def test_round_trip_prints_the_program(translate: Translate) -> None:
    flags = ("-test-cudatile-roundtrip", "-no-implicit-module", "-bytecode-version=13.1")
    assert translate(MODULE, *flags) == (0, MODULE.encode(), "")


def test_round_trip_needs_a_cuda_tile_module(translate: Translate) -> None:
    status, output, error = translate(MODULE, "-test-cudatile-roundtrip")
    assert (status, output) == (1, b"")
    assert error.endswith("error: expected a 'cuda_tile.module' op, got 'builtin.module'\n")


def test_versions_of_the_test_suite_are_listed(translate: Translate) -> None:
    assert translate("", "--list-versions") == (0, b"13.1\n13.2\n13.3\n250.0\n250.1\n", "")


def test_unknown_version_is_refused(translate: Translate) -> None:
    status, _, error = translate(MODULE, "-mlir-to-cudatilebc", "-bytecode-version=13.4")
    assert status == 1
    assert "Invalid argument '13.4': the supported versions are [13.1 - 13.3]" in error


def test_newer_file_is_refused(translate: Translate) -> None:
    status, output, error = translate(tileir.to_bytecode(tileir.parse(MODULE), version="13.4"), "-cudatilebc-to-mlir")
    assert (status, output) == (1, b"")
    assert "unsupported Tile version 13.4.0, this reader supports versions [13.1 - 13.3]" in error


def test_operation_of_another_dialect_is_refused(translate: Translate) -> None:
    text = 'cuda_tile.module @m {\n  entry @f() {\n    "test.x"() : () -> ()\n    return\n  }\n}\n'
    flags = ("-mlir-to-cudatilebc", "-no-implicit-module", "-allow-unregistered-dialect")
    status, _, error = translate(text, *flags)
    assert status == 1
    assert "3:5: remark: invalid op: test.x\n" in error
    assert "1:1: error: 'cuda_tile.module' op only ops from the 'cuda_tile' dialect are allowed\n" in error


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ('fused["a.py":1:2, "b.py":3:4]', "FusedLoc"),
        ('"n"("a.py":1:2)', "NameLoc"),
        ('callsite("n" at "a.py":1:2)', "NameLoc"),
    ],
)
def test_location_that_cannot_be_written_is_refused(translate: Translate, location: str, name: str) -> None:
    text = MODULE.replace("addi %arg0, %cst_1_i32 : tile<i32>", f"addi %arg0, %cst_1_i32 : tile<i32> loc({location})")
    status, _, error = translate(text, "-mlir-to-cudatilebc", "-no-implicit-module")
    assert status == 1
    assert f"unsupported location, got {name}, expected DILocAttr or CallSiteLoc" in error


EVOLUTION = """\
cuda_tile.module @kernels {
  entry @f() {
    %0 = make_token : token
    %cst_1_i32 = constant <i32: 1> : tile<i32>
    %1 = testing$bytecode_test_evolution(%cst_1_i32 : !cuda_tile.tile<i32>) new_attr = 5 token = %0 : token priority = <high> test_attr = <7> -> token
    testing$bytecode_test_new_attribute new_flag new_param = 123
    return
  }
}
"""


def test_operations_of_the_test_suite_have_bytecode(translate: Translate) -> None:
    flags = ("-test-cudatile-roundtrip", "-no-implicit-module", "-bytecode-version=250.1")
    assert translate(EVOLUTION, *flags) == (0, EVOLUTION.encode(), "")


def test_bytecode_of_the_test_suite_is_none_of_the_product(translate: Translate) -> None:
    _, data, _ = translate(EVOLUTION, "-mlir-to-cudatilebc", "-no-implicit-module", "-bytecode-version=250.1")
    with pytest.raises(tileir.BytecodeError, match=r"unsupported Tile version 250\.1\.0"):
        tileir.from_bytecode(data)

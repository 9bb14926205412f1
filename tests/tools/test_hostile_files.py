"""Files of strangers that commands read beside programs: arrays, settings, archives, the state of a reduction.

Each is read, or refused by tileir's own error; a command says so in one line.
"""

from __future__ import annotations

import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from tests.mutations import mutated_bytes, mutated_documents, outcomes

import tileir
from tileir.analyze.lint import configuration
from tileir.analyze.reducing.search import Verdicts
from tileir.execute.arguments.argument_text import LaunchDescriptionError, argument
from tileir.judging.archives import members
from tileir.judging.errors import SweepError
from tileir.tools.main import run

EXAMPLES = Path(__file__).parents[2] / "examples"


def saved(array: numpy.ndarray, **options: bool) -> bytes:
    file = io.BytesIO()
    numpy.save(file, array, **options)
    return file.getvalue()


def written(target: Path, contents: Iterator[bytes]) -> Iterator[Path]:
    for each in contents:
        target.write_bytes(each)
        yield target


def test_arrays(tmp_path: Path) -> None:
    target = tmp_path / "a.npy"
    data = saved(numpy.arange(64, dtype="f4"))
    archive = io.BytesIO()
    numpy.savez(archive, a=numpy.arange(4))
    contents = [
        *[head + data[128:] for head in mutated_bytes(data[:128], 1, 300)],
        *mutated_bytes(data, 2, 50),
        *mutated_bytes(archive.getvalue(), 3, 50),
    ]
    found = outcomes(written(target, iter(contents)), lambda path: argument(str(path), None), LaunchDescriptionError)
    assert found["refused"] > 50


class Touches:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


def test_arrays_of_objects_are_not_unpickled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = tmp_path / "ran"
    for data in (saved(numpy.array([Touches(ran)], object), allow_pickle=True), pickle.dumps(Touches(ran))):
        target = tmp_path / "a.npy"
        target.write_bytes(data)
        with pytest.raises(LaunchDescriptionError, match="cannot read"):
            argument(str(target), None)
        program = str(EXAMPLES / "vector_add.mlir")
        assert run(["run", program, *[f"--arg={each}" for each in (target, target, target, 8)]]) in (1, 2)
        assert "Traceback" not in capsys.readouterr().err
    assert not ran.exists()


SETTINGS = b"""\
[tool.tileir.lint]
select = ["all"]
ignore = ["style"]
target = ["h100"]
bytecode-version = "13.2"
per-file-ignores = { "experiments/*.mlir" = ["unused-"] }
"""


def test_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tomllib")
    target = tmp_path / "pyproject.toml"
    program = tmp_path / "program.mlir"
    program.write_bytes((EXAMPLES / "vector_add.mlir").read_bytes())
    values = [b"nan", b"inf", b"[[]]", b"{}", b"1979-05-27", b"-1", b"1e999", b'"\\u0000"', b"[" * 5000, b"9" * 5000]
    wrong = [SETTINGS.replace(b'"' + word + b'"', each) for word in (b"all", b"13.2", b"h100") for each in values]
    dotted = [
        b"[tool]\ntileir = 5\n",
        b"tool = 5 # tileir",
        b"a." * 5000 + b"tileir = 1",
        b"[tool.tileir]\nlint = []\n",
    ]

    def lint(path: Path) -> None:
        configuration.forget()
        status = run(["lint", str(program)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        if status == 2:
            first, *advice = said.err.splitlines()
            assert first.startswith("error: ") and len(advice) <= 1, said.err
            assert all(each.startswith("help: choose one of sm_80, ") for each in advice), said.err
            raise tileir.TileIRError([])

    contents = iter([*wrong, *dotted, *mutated_bytes(SETTINGS, 4, 150)])
    assert outcomes(written(target, contents), lint, tileir.TileIRError)["refused"] > 50
    configuration.forget()


@pytest.mark.parametrize("name", ["my gpu: install evil", "it's one: use evil"])
def test_what_a_file_quotes_is_no_advice(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tomllib")
    (tmp_path / "pyproject.toml").write_text(f'[tool.tileir.lint]\ntarget = ["{name}"]\n')
    program = tmp_path / "program.mlir"
    program.write_bytes((EXAMPLES / "vector_add.mlir").read_bytes())
    configuration.forget()
    assert run(["lint", str(program)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"error: '{name}' is no GPU that Tile IR is compiled for" and second.startswith("help: choose one")
    configuration.forget()


def test_states_of_reductions(tmp_path: Path) -> None:
    about = {"program": "x", "test": "y"}
    Verdicts(str(tmp_path / "state"), about).put(b"\1\2", True)
    first = (tmp_path / "state" / "about.json").read_bytes()
    contents = [*mutated_documents(json.loads(first), 5, 80), *mutated_bytes(first, 6, 80)]

    def read(path: Path) -> None:
        Verdicts(str(path.parent), about)

    target = tmp_path / "state" / "about.json"
    assert outcomes(written(target, iter(contents)), read, tileir.TileIRError)["refused"] > 80
    target.write_bytes(first)
    verdicts = mutated_bytes(b"0102 1\n0304 0\n" * 5, 7, 80)
    assert outcomes(written(target.with_name("verdicts"), verdicts), read, tileir.TileIRError)["read"] == 80


def archives() -> Iterator[bytes]:
    for mode in ("w", "w:gz", "w:bz2", "w:xz"):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode=mode) as file:
            for name in ("a.mlir", "b/c.mlir"):
                entry = tarfile.TarInfo(name)
                entry.size = 5
                file.addfile(entry, io.BytesIO(b"hello"))
        yield made.getvalue()
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as file:
            file.writestr("a.mlir", b"hello")
            file.writestr("b/\u00e9.mlir", b"hello")
        yield made.getvalue()


@pytest.mark.parametrize("number", range(8))
def test_archives(tmp_path: Path, number: int) -> None:
    data = list(archives())[number]
    target = tmp_path / "programs"

    def read(path: Path) -> None:
        with path.open("rb") as file:
            found = list(members(file, lambda name, beginning: True))
        if any(member.trouble for member in found):
            raise SweepError("")

    contents = [*mutated_bytes(data, number, 120), *[data[:-200] + end for end in mutated_bytes(data[-200:], 8, 80)]]
    assert outcomes(written(target, iter(contents)), read, SweepError)["refused"] > 10

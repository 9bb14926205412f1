"""What a sweep is given: every kind of input, in order, and hostile archives."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.judging import archives
from tileir.judging.inputs import Inputs, SeedRange, is_candidate
from tileir.judging.model import SweepInput

TEXT = b"cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"


def shown(found: list[SweepInput]) -> list[tuple[str, str, str]]:
    return [(each.name, each.kind, each.trouble) for each in found]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def zipped(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def tarred(path: Path, files: dict[str, bytes], mode: Any = "w") -> None:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def test_files_directories_patterns_and_seeds_in_order(folder: Path) -> None:
    for name in ("d/b.mlir", "d/a.mlir", "d/notes.txt", "one.mlir", "two.mlir", "kernels.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(TEXT)
    inputs = Inputs(["two.mlir", "d", "o*.mlir", "kernels.py"], SeedRange(range(2)))
    assert inputs.total == 7
    assert shown(list(inputs)) == [
        ("two.mlir", "program", ""),
        (os.path.join("d", "a.mlir"), "program", ""),
        (os.path.join("d", "b.mlir"), "program", ""),
        ("one.mlir", "program", ""),
        ("kernels.py", "kernels", ""),
        ("smith:0", "seed", ""),
        ("smith:1", "seed", ""),
    ]


def test_what_cannot_be_read_is_an_item_with_the_reason(folder: Path) -> None:
    os.mkfifo(folder / "pipe.mlir")
    os.mkfifo(folder / "pipe.zip")
    (folder / "empty").mkdir()
    (folder / "large.mlir").write_bytes(b"")
    os.truncate(folder / "large.mlir", archives.MOST_OF_A_FILE + 1)
    found = list(Inputs(["missing.mlir", "pipe.mlir", "pipe.zip", "empty", "large.mlir", "@missing"]))
    assert [(each.kind, each.trouble) for each in found] == [
        ("unreadable", "cannot read 'missing.mlir': No such file or directory"),
        ("unreadable", "cannot read 'pipe.mlir': it is no file"),
        ("unreadable", "cannot read 'pipe.zip': it is no file"),
        ("unreadable", "cannot read 'empty': there is no Tile IR program in it"),
        ("unreadable", "cannot read 'large.mlir': it is larger than 64 MiB"),
        ("unreadable", "cannot read 'missing': No such file or directory"),
    ]
    assert len({each.digest for each in found}) == 6


def test_a_list_names_paths_and_no_other_lists(folder: Path) -> None:
    (folder / "a b.mlir").write_bytes(TEXT)
    (folder / "list").write_bytes(b"a b.mlir\r\n\n@list\n")
    assert shown(list(Inputs("@list"))) == [
        ("a b.mlir", "program", ""),
        ("./@list", "unreadable", "cannot read './@list': No such file or directory"),
    ]


def test_programs_in_memory_and_streams_of_inputs(folder: Path) -> None:
    (folder / "a.mlir").write_bytes(TEXT)

    def stream() -> Iterator[str | SweepInput | tileir.Operation]:
        yield "a.mlir"
        yield SweepInput("made", "program", TEXT)
        yield tileir.parse(TEXT.decode())

    inputs = Inputs(stream())
    assert inputs.total is None
    found = list(inputs)
    assert shown(found) == [("a.mlir", "program", ""), ("made", "program", ""), ("m", "program", "")]
    assert tileir.parse(found[2].content.decode()).text() == tileir.parse(TEXT.decode()).text()


def test_seeds_say_what_is_asked_for_and_nothing_else() -> None:
    (plain,) = Inputs([], SeedRange([7]))
    assert json.loads(plain.content) == {"seed": 7}
    found = list(Inputs([], SeedRange([7], ["a", "b"], ["addf", "mulf"], "13.2", 30)))
    assert [each.name for each in found] == [
        "smith:a:7:addf,mulf:version=13.2:size=30",
        "smith:b:7:addf,mulf:version=13.2:size=30",
    ]
    assert json.loads(found[1].content) == {
        "seed": 7,
        "family": "b",
        "operations": ["addf", "mulf"],
        "version": "13.2",
        "size": 30,
    }


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz"])
def test_archives_are_read_without_being_unpacked(folder: Path, name: str) -> None:
    files = {
        "x/one.mlir": TEXT,
        "x/two.bin": tileir.to_bytecode(tileir.parse(TEXT.decode())),
        "notes.txt": b"nothing",
        ".hidden/a.mlir": TEXT,
        # As long as a whole number of blocks, behind which tarfile steps back.
        "y.mlir": TEXT.ljust(1024),
        "../../outside.mlir": TEXT,
        "/etc/absolute.mlir": TEXT,
        "inner.zip": b"PK",
    }
    if name == "a.zip":
        zipped(folder / name, files)
    else:
        compression = {"a.tar": "", "a.tgz": "gz"}.get(name, name.rpartition(".")[2])
        tarred(folder / name, files, f"w:{compression}")
    inputs = Inputs([name])
    assert inputs.total is None
    found = list(inputs)
    assert [(each.name, each.kind) for each in found] == [
        (f"{name}/x/one.mlir", "program"),
        (f"{name}/x/two.bin", "program"),
        (f"{name}/y.mlir", "program"),
        (f"{name}/../../outside.mlir", "program"),
        (f"{name}//etc/absolute.mlir", "program"),
        (f"{name}/inner.zip", "unreadable"),
    ]
    assert found[5].trouble == f"cannot read '{name}/inner.zip': an archive in an archive is not opened"
    assert [each.content for each in found[:3]] == [TEXT, files["x/two.bin"], files["y.mlir"]]
    assert sorted(os.listdir(folder)) == [name]


def test_links_in_archives_lead_nowhere(folder: Path) -> None:
    with tarfile.open(folder / "a.tar", "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            entry = tarfile.TarInfo("link.mlir")
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    with zipfile.ZipFile(folder / "a.zip", "w") as zip_archive:
        link = zipfile.ZipInfo("link.mlir")
        link.external_attr = 0o120777 << 16
        zip_archive.writestr(link, "/etc/passwd")
    nothing = "there is no Tile IR program in it"
    assert [each.trouble for each in Inputs(["a.tar", "a.zip"])] == [
        f"cannot read 'a.tar': {nothing}",
        f"cannot read 'a.zip': {nothing}",
    ]


def test_a_file_that_unpacks_to_more_than_is_kept_costs_no_more_than_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_OF_A_FILE", 1 << 20)
    files = {"bomb.mlir": bytes(2 << 20), "fine.mlir": TEXT}
    zipped(folder / "a.zip", files)
    tarred(folder / "a.tar.gz", files, "w:gz")
    for name in ("a.zip", "a.tar.gz"):
        assert [each.trouble for each in Inputs([name])] == [
            f"cannot read '{name}/bomb.mlir': it is larger than 1 MiB",
            "",
        ]


def test_an_archive_that_unpacks_to_too_much_ends_there(folder: Path) -> None:
    files = {"a.mlir": TEXT, "skipped.dat": bytes(3 << 20), "b.mlir": bytes(1 << 20), "c.mlir": TEXT}
    zipped(folder / "a.zip", files)
    tarred(folder / "a.tar.gz", files, "w:gz")
    for name in ("a.zip", "a.tar.gz"):
        with open(folder / name, "rb") as file:
            found = list(archives.members(file, lambda name, _: name.endswith(".mlir"), 1 << 20))
        assert found[-1].trouble == "it holds more than 1048576 bytes: the rest is left out"
        assert found[0].content == TEXT and "c.mlir" not in [member.name for member in found]


def test_a_header_that_claims_gigabytes_is_not_believed(folder: Path) -> None:
    # A name, which tarfile would read whole before anybody is asked.
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 8 << 30
    with gzip.open(folder / "a.tar.gz", "wb", 1) as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        file.write(bytes(1 << 20))
    (found,) = Inputs(["a.tar.gz"])
    assert found.trouble == "cannot read 'a.tar.gz': the archive is damaged: a header claims more than there can be"


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tar.xz", "tar.bz2", "tar"])
@pytest.mark.parametrize("cut", [0, 1, 20, 200, 2000])
def test_damaged_archives_are_rows(folder: Path, kind: str, cut: int) -> None:
    whole, name = folder / f"whole.{kind}", f"a.{kind}"
    content = random.Random(1).randbytes(4000)
    if kind == "zip":
        zipped(whole, {"a.mlir": content})
    else:
        tarred(whole, {"a.mlir": content}, f"w:{kind[4:]}")
    (folder / name).write_bytes(whole.read_bytes()[:cut])
    found = list(Inputs([name]))
    assert found and found[-1].trouble.startswith(f"cannot read '{name}': ")


def test_one_wrong_checksum_spoils_one_file(folder: Path) -> None:
    zipped(folder / "a.zip", {"a.mlir": TEXT, "b.mlir": TEXT})
    data = bytearray((folder / "a.zip").read_bytes())
    with zipfile.ZipFile(folder / "a.zip") as archive:
        start = archive.infolist()[0].header_offset + 30 + len("a.mlir")
    data[start + 5] ^= 0xFF
    (folder / "a.zip").write_bytes(data)
    first, second = Inputs(["a.zip"])
    assert first.kind == "unreadable" and first.trouble.startswith("cannot read 'a.zip/a.mlir': ")
    assert second.content == TEXT


@pytest.mark.parametrize(
    "line", ["import triton", "import torch, triton", "from triton import jit", "import triton.language as tl"]
)
def test_a_module_that_imports_a_language_and_defines_run_is_a_candidate(line: str) -> None:
    run = "\ndef run(x):\n    return x\n"
    assert is_candidate(f"{line}{run}".encode())
    assert not is_candidate(f"# {line}{run}".encode())
    assert not is_candidate(f"{line.replace('triton', 'tritonclient')}{run}".encode())

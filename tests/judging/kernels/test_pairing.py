"""Candidates in directories and archives, and their references."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.judging.kernels.judged import EXAMPLES

from tileir.judging.inputs import Inputs, References, is_candidate

CANDIDATE = b"import cuda.tile as ct\ndef run(x): pass\n"


def test_python_files_are_candidates_by_their_words() -> None:
    for path in sorted(EXAMPLES.glob("*.py")):
        assert is_candidate(path.read_bytes()) == (path.stem != "softmax_reference"), path
    assert is_candidate(b"from cuda import tile as ct\nclass ModelNew(nn.Module): pass")
    assert is_candidate(b"import cuda.tile\ncustom_kernel = solve\n")
    assert not is_candidate(b"def run(x): pass")
    assert not is_candidate(b"import cuda.tile\n    def run(self): pass")


def test_candidates_are_found_in_directories_and_archives(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.py").write_bytes(CANDIDATE)
    (tmp_path / "d" / "setup.py").write_bytes(b"import setuptools")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("b.py", CANDIDATE)
        archive.writestr("setup.py", "import setuptools")
    found = list(Inputs([tmp_path / "d", tmp_path / "all.zip"]))
    assert [(Path(item.name).name, item.kind, item.reference) for item in found] == [
        ("a.py", "kernels", b""),
        ("b.py", "kernels", b""),
    ]


def test_one_reference_is_for_all(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(CANDIDATE)
    (tmp_path / "reference.py").write_bytes(b"# it")
    (found,) = Inputs([tmp_path / "a.py"], references=References(tmp_path / "reference.py"))
    assert found.reference == b"# it"
    with pytest.raises(FileNotFoundError):
        References(tmp_path / "none.py")


def test_a_directory_has_a_reference_for_each(tmp_path: Path) -> None:
    (tmp_path / "softmax").mkdir()
    for name in ("softmax.py", "softmax_wide.py", "matmul.py", "softmax/9.py"):
        (tmp_path / name).write_text(name)
    references = References(tmp_path)
    for name, expected in [
        ("c/softmax.py", "softmax.py"),
        ("c/softmax_17.py", "softmax.py"),
        ("c/softmax_wide_b.py", "softmax_wide.py"),
        ("archive.zip/softmax/9.py", "softmax/9.py"),
        ("softmax/8.py", "softmax.py"),
        ("matmul-v2.final.py", "matmul.py"),
    ]:
        assert references.reference_for(name).decode() == expected
    (tmp_path / "candidate.py").write_bytes(CANDIDATE)
    (found,) = Inputs([tmp_path / "candidate.py"], references=References(tmp_path / "softmax"))
    assert found.kind == "unreadable"
    assert "there is no reference for" in found.trouble

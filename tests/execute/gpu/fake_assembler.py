"""A program in the place of NVIDIA's assembler that fails as it is told, on machines without one too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.execute.gpu.cubin_files import cubin

_PROGRAM = """#!{python} -IS
import os, signal, sys, time
ARGUMENTS = sys.argv[1:]
if "--version" in ARGUMENTS:
    print("Cuda compilation tools, release 13.4, V{version}")
elif "--help" in ARGUMENTS:
    print("  --gpu-name=<value>\\n    =sm_90 - SM 90\\n    =sm_100 - SM 100\\n  --list-versions\\n  --remarks=<value>")
elif "--list-versions" in ARGUMENTS:
    print({versions!r}.replace(" ", "\\n"))
else:
    with open({log!r}, "a") as log:
        print(os.getpid(), os.getcwd(), *ARGUMENTS, file=log)
    output = ARGUMENTS[ARGUMENTS.index("-o") + 1]
    source = ARGUMENTS[ARGUMENTS.index("-o") - 1]
    target = next(each for each in ARGUMENTS if each.startswith("--gpu-name=")).partition("=")[2]
    data = open({cubin!r} + target, "rb").read() if os.path.exists({cubin!r} + target) else b""
{body}
"""

SUCCEED = 'open(output, "wb").write(data)'


class FakeAssembler:
    """The program: `calls` are the command lines it was run with, to compile."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = folder / "tileiras"
        self._folder = folder
        self._log = folder / "log"
        monkeypatch.setenv("TILEIR_TILEIRAS", str(self.path))
        self.does(SUCCEED)

    def does(self, body: str, *, version: str = "13.4.1", versions: str = "13.1 13.2 13.3 13.4") -> None:
        """What it does to compile, in Python."""
        for number in (90, 100):
            (self._folder / f"made-sm_{number}").write_bytes(cubin(("k",), number=number))
        lines = "\n".join([f"    {line}" for line in body.splitlines()])
        text = _PROGRAM.format(
            python=sys.executable,
            version=version,
            versions=versions,
            log=str(self._log),
            cubin=str(self._folder / "made-"),
            body=lines,
        )
        # Not in place: a file that is written to cannot be run, and its look must change.
        beside = self._folder / "beside"
        beside.write_text(text)
        beside.chmod(0o755)
        os.replace(beside, self.path)

    @property
    def calls(self) -> list[list[str]]:
        return [line.split()[2:] for line in self._lines()]

    @property
    def processes(self) -> list[int]:
        return [int(line.split()[0]) for line in self._lines()]

    @property
    def directories(self) -> list[str]:
        """The directories that it was run in."""
        return [line.split()[1] for line in self._lines()]

    def _lines(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeAssembler:
    """A fake assembler in the place of NVIDIA's, with a cache and a place for crashes of its own."""
    if sys.platform == "win32":
        pytest.skip("a script in the place of a program is run by POSIX systems only")
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache" / "kernels"))
    monkeypatch.delenv("TILEIR_CACHE", raising=False)
    folder = tmp_path / "fake"
    folder.mkdir()
    return FakeAssembler(folder, monkeypatch)

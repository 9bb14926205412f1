"""No subcommand ends in a traceback on a file that nests deeply."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bytecode.pieces import constant, make_file
from tests.bytecode.test_safety import call_sites, lexical_blocks, nested

from tileir.tools import main

FILES = {
    "callers": call_sites(1000, "caller"),
    "callees": call_sites(1000, "callee"),
    "shared call sites": call_sites(60, "both"),
    "scopes": lexical_blocks(1000),
    "arrays": make_file(flags=6, hints=b"\x0b\1\0\x0a\1\0" + b"\6\1" * 1000 + b"\x0a\0"),
    "dictionaries": make_file(flags=6, hints=b"\x0b\1\0\x0a\1\0" + b"\x0a\1\0" * 1000 + b"\x0a\0"),
    "regions": make_file(nested(1000), constants=(constant(b"\xff"),)),
}
COMMANDS = (
    ["check"],
    ["dis"],
    ["dis", "-g"],
    ["objdump"],
    ["opt", "-g"],
    ["opt", "-O2", "-g"],
    ["opt", "--passes=strip-debuginfo"],
    ["opt", "--passes=synthesize-debug-info-scopes", "-g"],
    ["run"],
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FILES)
def test_every_command_takes_a_file_that_nests_deeply(name, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.tileirbc"
    path.write_bytes(FILES[name])
    for command in COMMANDS:
        assert main.run([command[0], str(path), *command[1:]]) == 0, command
        text, errors = capsys.readouterr()
        assert errors == "", command
        if command[0] in ("dis", "opt"):
            # What is printed is read again, with its locations.
            again = tmp_path / "again.mlir"
            again.write_text(text)
            assert main.run(["check", str(again)]) == 0, command
            assert capsys.readouterr() == ("", "")

"""Run a compiled program with the emulated driver and assembler."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tileir.bridge.native.library import build
from tileir.bridge.settings import Settings


def run_program(command: list[str], settings: Settings) -> int:
    """The exit status of a program, as a shell has it."""
    with tempfile.TemporaryDirectory(prefix="tileir-") as folder:
        environment = _environment(Path(folder), settings)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            status = subprocess.run(
                [os.path.abspath(command[0]), *command[1:]], env=environment, preexec_fn=_interruptible
            ).returncode
        finally:
            signal.signal(signal.SIGINT, before)
    return 128 - status if status < 0 else status


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _environment(folder: Path, settings: Settings) -> dict[str, str]:
    build(folder, settings.words())
    assembler = folder / "tileiras"
    path = shlex.quote(os.pathsep.join([os.path.abspath(each) for each in sys.path if each]))
    run = f"{shlex.quote(sys.executable)} -m tileir.bridge.native.assembler"
    assembler.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {run} "$@"\n', encoding="utf-8")
    assembler.chmod(0o700)
    found = {**os.environ, "CUTILE_TILEIRAS_PATH": str(assembler)}
    for name in ("PATH", "LD_LIBRARY_PATH"):
        found[name] = os.pathsep.join(filter(None, [str(folder), found.get(name)]))
    return found

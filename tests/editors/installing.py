"""The extension for Visual Studio Code and its npm packages, which `make test` installs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.optional import needs

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"


def run(*command: str) -> str:
    """What a command of npm's world prints, in the folder of the extension; it must succeed."""
    needs("npm")
    done = subprocess.run(command, cwd=EXTENSION, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout

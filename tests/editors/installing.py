"""The npm packages of the extension, installed where its own commands have them, once for all processes of a run."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
_LIMIT = 300
# What npm says where no registry answers.
_OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "ECONNRESET", "network")


def installed() -> Path:
    """The folder of the extension with its packages; a machine that cannot have them skips the test."""
    if shutil.which("npm") is None:
        pytest.skip("the extension is built and checked by npm: apt-get install nodejs npm")
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / "npm.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_current():
            _install()
    return EXTENSION


def run(*command: str) -> str:
    """What a command of npm's world prints, in the folder of the extension; it must succeed."""
    done = subprocess.run(command, cwd=installed(), capture_output=True, text=True, timeout=_LIMIT)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _is_current() -> bool:
    mark = EXTENSION / "node_modules" / ".package-lock.json"
    return mark.exists() and mark.stat().st_mtime >= (EXTENSION / "package-lock.json").stat().st_mtime


def _install() -> None:
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(command, cwd=EXTENSION, capture_output=True, text=True, timeout=_LIMIT)
    if done.returncode and any(word in done.stderr for word in _OFFLINE):
        pytest.skip("the npm packages of the extension cannot be had: no registry answers")
    assert done.returncode == 0, done.stderr
    (EXTENSION / "node_modules" / ".package-lock.json").touch()

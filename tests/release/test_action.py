"""The GitHub Action: its script, on repositories with planted errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import tileir

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action" / "action.yml").read_text(encoding="utf-8"))
STEP = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Check programs")
EXAMPLES = ROOT / "examples"
# With advice: a value that nothing uses.
UNUSED = "cuda_tile.module @m { entry @k() { %a = iota : tile<8xi32> return } }"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its bash is not that of GitHub's machines")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout of a pull request: `main` has a program with errors, the change adds another one."""
    if shutil.which("git") is None:
        pytest.skip("the action needs git: apt-get install git")
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    shutil.copy(EXAMPLES / "broken.mlir", folder / "old.mlir")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "old")
    git(tmp_path, "clone", "--quiet", "--bare", "checkout", "origin")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin"))
    git(folder, "checkout", "--quiet", "-b", "change")
    shutil.copy(EXAMPLES / "broken.mlir", folder / "- new.mlir")
    (folder / "unused.mlir").write_text(UNUSED)
    (folder / "notes.txt").touch()
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "new")
    return folder


def check(folder: Path, base: str = "", **inputs: str) -> tuple[int, list[str]]:
    """Run the step as GitHub does; return its status and the files of its annotations."""
    installed = folder.parent / "tileir"
    if not installed.exists():
        installed.symlink_to(Path(tileir.__file__).parents[1])
    values = {name: declared.get("default", "") for name, declared in ACTION["inputs"].items()} | inputs
    expressions = {f"${{{{ inputs.{name} }}}}": value for name, value in values.items()}
    expressions["${{ github.base_ref }}"] = base
    environment = {name: expressions[value] for name, value in STEP["env"].items()}
    environment |= {"RUNNER_TEMP": str(folder.parent), "GITHUB_ACTION_PATH": str(ROOT / "action")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", STEP["run"]],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    return done.returncode, [line.split("file=")[1].split(",")[0] for line in lines if line.startswith("::")]


def test_a_pull_request_is_annotated_where_it_changes_programs(repository: Path) -> None:
    status, files = check(repository, base="main")
    assert (status, files) == (1, ["- new.mlir"] * 3 + ["unused.mlir"])


def test_without_lint_only_errors_are_reported(repository: Path) -> None:
    assert check(repository, base="main", lint="false") == (1, ["- new.mlir"] * 3)
    assert check(repository, lint="false", files="unused.mlir") == (0, [])


def test_a_pull_request_without_programs_passes(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "main")
    assert check(repository, base="main") == (0, [])


def test_all_programs_are_checked_on_other_events(repository: Path) -> None:
    status, files = check(repository)
    assert status == 1 and set(files) == {"- new.mlir", "old.mlir", "unused.mlir"}


def test_inputs_name_files_and_options(repository: Path) -> None:
    assert check(repository, files="unused.mlir\n  u*.mlir", arguments="--exit-zero") == (0, ["unused.mlir"])


def test_findings_are_written_for_code_scanning(repository: Path) -> None:
    assert check(repository, files="old.mlir unused.mlir", sarif="found.sarif")[0] == 1
    written: dict[str, Any] = json.loads((repository / "found.sarif").read_text(encoding="utf-8"))
    assert len(written["runs"][0]["results"]) == 4


def test_what_is_checked_out_is_not_imported(repository: Path) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("Python has safe paths since 3.11")
    (repository / "json.py").write_text("raise SystemExit('imported')")
    assert check(repository, files="unused.mlir", arguments="--exit-zero") == (0, ["unused.mlir"])

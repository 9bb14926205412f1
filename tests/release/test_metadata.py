"""What a release says of itself, in one voice: versions, dependencies, commands, addresses."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import tileir

tomllib = pytest.importorskip("tomllib", reason="Python reads TOML since 3.11")

ROOT = Path(__file__).parents[2]
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def parsed(path: str) -> Any:
    readers = {".json": json.loads, ".toml": tomllib.loads}
    return readers.get(Path(path).suffix, yaml.safe_load)(text(path))


PROJECT = parsed("pyproject.toml")["project"]
RECIPE = parsed("conda/recipe.yaml")
HOME = PROJECT["urls"]["Homepage"]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("pyproject.toml", ["project"]),
        ("CITATION.cff", []),
        ("conda/recipe.yaml", ["context"]),
        ("editors/vscode/package.json", []),
        ("editors/zed/Cargo.toml", ["package"]),
        ("editors/zed/extension.toml", []),
    ],
)
def test_version_is_that_of_the_package(path: str, names: list[str]) -> None:
    table = parsed(path)
    for name in names:
        table = table[name]
    assert table["version"] == tileir.__version__


@pytest.mark.parametrize("path", ["CHANGELOG.md", "editors/vscode/CHANGELOG.md"])
def test_changelog_has_a_section_of_the_version(path: str) -> None:
    assert f"\n## [{tileir.__version__}]" in text(path)
    assert len(text(path).splitlines()) <= 40


def test_emacs_mode_has_the_version() -> None:
    assert f"\n;; Version: {tileir.__version__}\n" in text("editors/emacs/tileir-mode.el")


def test_every_python_that_is_claimed_gets_a_compiled_wheel() -> None:
    claimed = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert claimed == PYTHONS and PROJECT["requires-python"] == f">={PYTHONS[0]}"
    built = parsed("pyproject.toml")["tool"]["cibuildwheel"]["build"]
    assert built == "cp{" + ",".join(each.replace(".", "") for each in PYTHONS) + "}-*"


def test_conda_recipe_agrees_with_the_package() -> None:
    commands = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == commands
    assert RECIPE["context"]["python_min"] == PYTHONS[0]
    assert PROJECT["dependencies"] == [] and RECIPE["requirements"]["run"] == ["python >=${{ python_min }}"]
    building = [each.replace(">=", " >=") for each in parsed("pyproject.toml")["build-system"]["requires"]]
    assert RECIPE["requirements"]["host"][1:-1] == building
    extras = PROJECT["optional-dependencies"]
    optional = dict.fromkeys([*extras["run"], *extras["cpu"], *extras["lsp"]])
    assert RECIPE["requirements"]["run_constraints"] == [each.replace(">=", " >=") for each in optional]
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_the_repository_has_one_address() -> None:
    assert HOME == RECIPE["about"]["homepage"] == parsed("CITATION.cff")["repository-code"]
    assert parsed("editors/vscode/package.json")["repository"]["url"] == f"{HOME}.git"
    assert parsed("editors/zed/extension.toml")["repository"] == HOME
    owner = HOME.rpartition("/")[0]
    for path in ("SECURITY.md", "CHANGELOG.md", "action/README.md", "editors/vscode/README.md"):
        addresses = re.findall(r"https://github\.com/[\w-]+(?=/tileir)", text(path))
        assert addresses and set(addresses) == {owner}, path


def test_sdist_has_every_file_of_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: clone the repository")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    included = parsed("pyproject.toml")["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    # Hatchling adds these itself.
    included += ["/.gitignore", "/LICENSE", "/README.md", "/pyproject.toml"]
    assert {f"/{path.partition('/')[0]}" for path in listed.splitlines()} <= set(included)
    assert not [path for path in included if not (ROOT / path[1:]).exists()]

"""The workflows of the repository: what keeps a release safe, which their linters do not know."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "action" / "action.yml"])


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_foreign_actions_are_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert action.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert action.startswith("./") or re.fullmatch(r" # v[\d.]+", comment), action


def test_only_the_job_that_publishes_gets_an_identity() -> None:
    workflows = {path.name: read(path.name) for path in FILES if path.name != "action.yml"}
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in workflows.values())
    publish = workflows["publish.yml"]["jobs"]["pypi"]
    assert publish["permissions"] == {"id-token": "write"} and publish["environment"]["name"] == "pypi"
    others = [job for workflow in workflows.values() for job in workflow["jobs"].values() if job is not publish]
    assert not [job for job in others if "permissions" in job]


def test_what_is_published_was_tested() -> None:
    publish, wheels = read("publish.yml")["jobs"], read("wheels.yml")["jobs"]
    assert publish["pypi"]["needs"] == "wheels" and publish["wheels"]["uses"] == "./.github/workflows/wheels.yml"
    uploads = [step["with"]["name"] for job in wheels.values() for step in job["steps"] if "upload" in str(step)]
    assert uploads == ["dist-${{ matrix.os }}", "dist-pure"]
    assert publish["pypi"]["steps"][0]["with"]["pattern"] == "dist-*"

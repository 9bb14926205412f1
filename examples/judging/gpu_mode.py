"""Judge a submission for a problem of GPU MODE: a folder with `task.yml` and `reference.py`.

    python examples/judging/gpu_mode.py problems/pmpp/vectoradd_py submission.py

The submission has `custom_kernel`.  Shapes are those of the problem's tests, without their seeds, which a submission
could know: the smallest ones, and one of them held out.  Modules of the problem, as `task` and `utils`, travel within
the reference and the submission, as each of them is one file for the judge.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import tileir

SHAPES = 3
_OWN = ("submission.py", "reference.py", "eval.py")


def settings_of(folder: Path) -> dict[str, Any]:
    """What the problem's `task.yml` states."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise SystemExit("task.yml is YAML, and PyYAML is not installed: pip install pyyaml") from None
    return dict(yaml.safe_load((folder / "task.yml").read_text()))


def modules_of(folder: Path, settings: dict[str, Any]) -> str:
    """Statements that make the modules of the problem, which its reference and submissions import."""
    lines = ["import sys as _sys, types as _types"]
    for file in settings.get("files", ()):
        name = file["name"]
        if name.endswith(".py") and name not in _OWN:
            source = (folder / file["source"]).read_text()
            lines += [f"_made = _types.ModuleType({name[:-3]!r})", f"_sys.modules[{name[:-3]!r}] = _made"]
            lines.append(f"exec(compile({source!r}, {name!r}, 'exec'), _made.__dict__)")
    return "; ".join(lines) + "\n"


def tolerance_of(source: str) -> dict[str, float] | None:
    """The tolerance that a reference gives to `make_match_reference`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("make_match_reference"):
            found = {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg in ("rtol", "atol")}
            return {str(name): float(value) for name, value in found.items()} or None
    return None


def judge(problem: str | Path, submission: str | Path | bytes, **options: Any) -> tileir.sweeps.Judgment:
    """The judgment of `tileir.judge` for a folder of GPU MODE; `options` are that function's."""
    path = Path(problem)
    settings = settings_of(path)
    made = modules_of(path, settings)
    reference = (path / "reference.py").read_text()
    tests = [{name: value for name, value in test.items() if name != "seed"} for test in settings["tests"]]
    tests = [test for number, test in enumerate(tests) if test not in tests[:number]]
    tests.sort(key=lambda test: math.prod([value for value in test.values() if isinstance(value, int) and value]))
    tests = tests[: SHAPES + 1]
    task: dict[str, Any] = {"name": path.name, "shapes": tests[:SHAPES], "held_out": tests[SHAPES:]}
    if (tolerance := tolerance_of(reference)) is not None:
        task["tolerance"] = tolerance
    source = submission if isinstance(submission, bytes) else Path(submission).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "reference.py").write_text(made + reference)
        Path(folder, "task.json").write_text(json.dumps(task))
        return tileir.judge(folder, made.encode() + source, **options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("problem", help="a folder with task.yml")
    parser.add_argument("submission", help="a module with custom_kernel")
    given = parser.parse_args()
    judgment = judge(given.problem, given.submission)
    print(judgment)
    return 0 if judgment.accepted else 1


if __name__ == "__main__":
    sys.exit(main())

"""Judge a candidate for a task of KernelBench: a file of its levels 1 to 3, which is read, and not copied.

    python examples/judging/kernelbench.py KernelBench/level1/19_ReLU.py candidate.py [--most 64]

The file has `Model`, `get_inputs` and `get_init_inputs`; the candidate has `ModelNew`.  Sizes at the top of the file,
as `dim = 393216`, fill a GPU: here they are at most `--most`, and those of the candidate should follow its inputs.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import tileir

MOST = 64


def smaller(source: str, most: int) -> str:
    """The source with the sizes that its module states, alone or in tuples, of at most so much."""
    module = ast.parse(source)
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Constant) and type(node.value) is int:
                    node.value = min(node.value, most)
    return ast.unparse(module)


def judge(
    problem: str | Path, candidate: str | Path | bytes, most: int = MOST, **options: Any
) -> tileir.sweeps.Judgment:
    """The judgment of `tileir.judge` for a file of KernelBench; `options` are that function's."""
    path = Path(problem)
    with tempfile.TemporaryDirectory() as folder:
        # A tolerance of 1e-2 for float16 and of 1e-4 for float32 is the judge's, too.
        Path(folder, "reference.py").write_text(smaller(path.read_text(), most))
        Path(folder, "task.json").write_text(json.dumps({"name": path.stem}))
        return tileir.judge(folder, candidate, **options)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("problem", help="a file of KernelBench")
    parser.add_argument("candidate", help="a module with ModelNew")
    parser.add_argument("--most", type=int, default=MOST, help=f"the largest size; by default {MOST}")
    given = parser.parse_args()
    judgment = judge(given.problem, given.candidate, given.most)
    print(judgment)
    return 0 if judgment.accepted else 1


if __name__ == "__main__":
    sys.exit(main())

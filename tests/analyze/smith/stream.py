"""What seeds of `tileir.smith` stand for: digests of programs and results, kept beside this file.

PYTHONPATH=src:. python -m tests.analyze.smith.stream     writes them anew, for a change that is meant
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tileir import smith
from tileir.analysis import SMITH_FAMILIES, SMITH_STREAM

KEPT = Path(__file__).with_name("stream.json")
OTHERS: tuple[dict[str, Any], ...] = (
    {"seed": 5, "operations": ["addf", "mmaf", "exp"]},
    {"seed": 5, "version": "13.1"},
    {"seed": 5, "size": 200},
    {"seed": 5, "family": "functions", "allow_open": True},
)


def requests() -> list[dict[str, Any]]:
    return [{"seed": seed, "family": family} for family in SMITH_FAMILIES for seed in range(3)] + list(OTHERS)


def digests(request: dict[str, Any]) -> dict[str, str]:
    options = dict(request)
    program = smith(options.pop("seed"), **options)
    results = hashlib.blake2b(digest_size=16)
    for array in program.expected():
        results.update(array.tobytes())
    return {
        "text": hashlib.blake2b(program.text().encode(), digest_size=16).hexdigest(),
        "results": results.hexdigest(),
    }


def main() -> None:
    found = [{"request": request, **digests(request)} for request in requests()]
    lines = ",\n".join([json.dumps(one) for one in found])
    KEPT.write_text(f'{{"stream": {SMITH_STREAM}, "programs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()

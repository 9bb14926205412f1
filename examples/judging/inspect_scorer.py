"""A scorer of inspect_ai: the kernel in a model's answer is judged, and its score is the judge's.

    pip install inspect-ai
    inspect eval examples/judging/inspect_scorer.py --model ...

`kernel_task` is an evaluation over folders of tasks; `kernel_scorer` fits into others, whose samples name the folder
of their task in the metadata `task`.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import tileir

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState, generate
except ModuleNotFoundError:
    raise ImportError("inspect_ai is not installed: pip install inspect-ai") from None

EXAMPLES = Path(__file__).parents[1] / "judged"
_FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_PROMPT = (
    "Write a Python module with a function `run` that computes what `reference` does. It launches kernels written with "
    "cuda.tile or Triton; nothing else may compute. Answer with the module in one fenced block.\n\n"
    "{description}\n\n{source}"
)


def code_in(answer: str) -> str:
    """The last fenced block of an answer, or all of it."""
    found = _FENCED.findall(answer)
    return found[-1] if found else answer


@scorer(metrics=[mean(), stderr()])
def kernel_scorer(folder: str | None = None, **options: Any) -> Scorer:
    """Judge answers for the task in a folder, or in the folder that the metadata of each sample name."""

    async def score(state: TaskState, target: Target) -> Score:
        source = code_in(state.output.completion)
        path = folder or state.metadata["task"]
        judgment = await asyncio.to_thread(tileir.judge, path, source.encode(), **options)
        checks = {check.name: check.outcome for check in judgment.checks}
        metadata = {"reason": judgment.reason, "accepted": judgment.accepted, "checks": checks}
        return Score(value=judgment.score, answer=source, explanation=str(judgment), metadata=metadata)

    return score


def sample_of(folder: Path) -> Sample:
    """What a model is asked for a task; held-out shapes are nowhere in it."""
    stated = folder / "task.json"
    settings = json.loads(stated.read_text()) if stated.exists() else {}
    description = settings.get("description", "")
    prompt = _PROMPT.format(description=description, source=(folder / "reference.py").read_text())
    return Sample(input=prompt, target="accepted", id=folder.name, metadata={"task": str(folder)})


@task
def kernel_task(folders: str = str(EXAMPLES)) -> Task:
    """An evaluation of all tasks below a folder."""
    found = sorted(path.parent for path in Path(folders).rglob("reference.py"))
    return Task(dataset=MemoryDataset([sample_of(path) for path in found]), solver=generate(), scorer=kernel_scorer())

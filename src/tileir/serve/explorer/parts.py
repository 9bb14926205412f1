"""The parts that answer the page's questions: each stands for one package that knows something of a launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tileir.analyze.comparing.compare import Comparisons
from tileir.analyze.cost.costs import cost
from tileir.analyze.cost.targets import DEFAULT, target_named, target_names
from tileir.analyze.forms.forms import Forms
from tileir.execute.recording.recording import Recording
from tileir.serve.explorer.finding_answers import findings_answer
from tileir.serve.explorer.questions import Answer
from tileir.serve.explorer.session import Part


def forms_part(forms: Forms) -> Part:
    """The program in its forms; one is made when it is asked for."""

    def form(id: str) -> Answer:
        return forms.form(id).answer()

    def summary() -> dict[str, Any]:
        return {"forms": [each._asdict() for each in forms.list()]}

    return Part({"form": form}, summary)


def cost_part(
    kernel: Any, grid: int | tuple[int, ...], arguments: Sequence[object], targets: Sequence[str] | None = None
) -> Part:
    """What the launch costs; `kernel` and `arguments` are those of `tileir.cost`, `targets` those to choose from."""
    names = target_names()
    # The first is what the page begins with.
    keys = sorted(names, key=lambda name: name != DEFAULT)
    if targets is not None:
        keys = list(dict.fromkeys([target_named(name).key for name in targets]))

    def costs(target: str) -> Answer:
        return cost(kernel, grid, *arguments, target=target).answer()

    def summary() -> dict[str, Any]:
        return {"targets": [{"id": key, "title": names[key]} for key in keys]}

    return Part({"cost": costs}, summary)


def findings_part(recording: Recording) -> Part:
    """What the sanitizer found while the launch was recorded."""
    return Part({"findings": lambda: findings_answer(recording)})


def comparisons_part(comparisons: Comparisons) -> Part:
    """The launch beside other runs."""

    def summary() -> dict[str, Any]:
        return {"comparisons": comparisons.listed()}

    questions: dict[str, Callable[..., Answer]] = {
        "comparison": comparisons.comparison,
        "compared": comparisons.compared,
    }
    return Part(questions, summary, [recording.lock for recording in comparisons.recordings])

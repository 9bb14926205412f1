"""An environment of OpenEnv: an agent writes a kernel for a task, and the reward is the judge's score.

    pip install openenv-core
    python -c "
    from openenv_environment import KernelAction, KernelEnvironment
    environment = KernelEnvironment('examples/judged/softmax')
    print(environment.reset().task)
    print(environment.step(KernelAction(source=open('examples/judged/softmax_good.py').read())).reward)"

`openenv.core.create_app(lambda: KernelEnvironment(task), KernelAction, KernelObservation)` serves it.
An episode ends when a kernel is accepted, or after `most_steps` attempts.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import tileir

try:
    from openenv.core.env_server import Action, Environment, Observation, State
except ModuleNotFoundError:
    raise ImportError("OpenEnv is not installed: pip install openenv-core") from None


class KernelAction(Action):
    """A candidate: the source of a module with a function `run` that launches kernels."""

    source: str


class KernelObservation(Observation):
    """What the judge reports; `reward` is its score, from 0 to 1."""

    task: str = ""
    """What to write: the task's description, and the source of its reference."""
    accepted: bool = False
    reason: str = ""
    message: str = ""
    checks: dict[str, str] = {}


class KernelState(State):
    """The episode so far."""

    best_score: float = 0.0
    accepted: bool = False


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    """One task; each step judges one candidate."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, task: str | Path, most_steps: int = 8, **options: Any) -> None:
        super().__init__()
        self._task = Path(task)
        self._most_steps = most_steps
        self._options = options
        self._state = KernelState()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> KernelObservation:
        self._state = KernelState(episode_id=episode_id or str(uuid.uuid4()), step_count=0)
        stated = self._task / "task.json"
        settings = json.loads(stated.read_text()) if stated.exists() else {}
        # Held-out shapes are nowhere in it.
        text = [settings.get("description", ""), (self._task / "reference.py").read_text()]
        return KernelObservation(task="\n".join(text).strip())

    def step(self, action: KernelAction, timeout_s: float | None = None, **more: Any) -> KernelObservation:
        judgment = tileir.judge(self._task, action.source.encode(), timeout=timeout_s, **self._options)
        state = self._state
        state.step_count += 1
        state.best_score = max(state.best_score, judgment.score)
        state.accepted = state.accepted or judgment.accepted
        return KernelObservation(
            reward=judgment.score,
            done=judgment.accepted or state.step_count >= self._most_steps,
            accepted=judgment.accepted,
            reason=judgment.reason,
            message=judgment.message,
            checks={check.name: check.outcome for check in judgment.checks},
        )

    @property
    def state(self) -> KernelState:
        return self._state

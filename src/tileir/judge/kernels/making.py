"""The reference's module makes the inputs: in a process of its own, as the candidate must not see its source."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

from tileir.judge.ended import BeginStep
from tileir.judge.kernels.carried import dump, load
from tileir.judge.kernels.launches import Launches, emulated
from tileir.judge.kernels.loading import failure_of, load_module
from tileir.judge.kernels.protocol import Case, case_of, shapes_of, speedup_of, tolerance_of
from tileir.judge.plans import Plan


def make_inputs(file: str, directory: str, plan: Plan, begin_step: BeginStep) -> dict[str, Any]:
    """Write `inputs_0.bin` and so on; gives their digests, and what the module asks of candidates."""
    begin_step("inputs")
    try:
        module = loaded_reference(file, directory, plan, Launches(0, ""))
        digests = []
        for number, data in enumerate(_cases(module, plan)):
            digests.append(digest_of(data))
            with open(f"inputs_{number}.bin", "wb") as written:
                written.write(data)
        return {"inputs": digests, "tolerance": tolerance_of(module), "speedup": speedup_of(module)}
    except BaseException as error:
        return failed("inputs", error, file)


def loaded_reference(file: str, directory: str, plan: Plan, watcher: Launches) -> Any:
    """The reference's module, which is in a file of the directory."""
    emulated(backend_of(plan), watcher)
    with open(os.path.join(directory, file), "rb") as source:
        content = source.read()
    return load_module(content, directory, file, "reference")


def backend_of(plan: Plan) -> str:
    """The engine that runs kernels: the fast one of the plan's that needs no GPU, or else the first."""
    return "cpu" if "cpu" in plan.engines else plan.engines[0] if plan.engines else "auto"


def _cases(module: Any, plan: Plan) -> Iterator[bytes]:
    """Every set of inputs, as bytes."""
    for shape in shapes_of(module):
        for trial in range(max(plan.trials, 1)):
            case = case_of(module, plan.seed + trial, shape)
            yield dump(case._asdict(), "the inputs")


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def case_in(data: bytes) -> Case:
    """A set of inputs in arrays of its own."""
    return Case(**load(data))


def failed(step: str, error: BaseException, file: str) -> dict[str, Any]:
    """What a child tells of foreign code that failed."""
    failure = failure_of(error, file)
    told = {"step": step, "outcome": failure.outcome, "message": failure.message, "cause": failure.cause}
    return {"failed": told}

"""The reference's module makes the inputs: in a process of its own, as the candidate must not see its source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from tileir.judge.ended import BeginStep
from tileir.judge.kernels.carried import dump, load
from tileir.judge.kernels.launches import Launches, emulated
from tileir.judge.kernels.loading import failure_of, load_module
from tileir.judge.kernels.protocol import Case, case_of, shapes_of, speedup_of, tolerance_of
from tileir.judge.plans import Plan


class ReferenceSource(NamedTuple):
    """The module that says what is expected."""

    content: bytes
    file: str
    """What messages call it."""


def make_inputs(source: ReferenceSource, directory: str, plan: Plan, begin_step: BeginStep) -> dict[str, Any]:
    """Write `inputs_0.bin` and so on; gives their digests, and what the module asks of candidates."""
    begin_step("inputs")
    try:
        module = loaded_reference(source, directory, plan, Launches(0, ""))
        digests = []
        for number, data in enumerate(_cases(module, plan)):
            digests.append(digest_of(data))
            with open(f"inputs_{number}.bin", "wb") as file:
                file.write(data)
        return {"inputs": digests, "tolerance": tolerance_of(module), "speedup": speedup_of(module)}
    except BaseException as error:
        return failed("inputs", error, source.file)


def loaded_reference(source: ReferenceSource, directory: str, plan: Plan, watcher: Launches) -> Any:
    emulated(backend_of(plan), watcher)
    return load_module(source.content, directory, source.file, "reference")


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

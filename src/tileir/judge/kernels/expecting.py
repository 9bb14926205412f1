"""The reference's module computes what is expected, from the inputs that it made.

Only now: while the candidate ran, there was nothing to be found.
"""

from __future__ import annotations

from typing import Any

from tileir.judge.ended import BeginStep
from tileir.judge.kernels.computing import compute
from tileir.judge.kernels.launches import Launches
from tileir.judge.kernels.loading import Failure
from tileir.judge.kernels.making import case_in, digest_of, failed, loaded_reference
from tileir.judge.kernels.protocol import REFERENCES, computes
from tileir.judge.plans import Plan


def compute_expected(
    file: str, directory: str, digests: list[str], plan: Plan, begin_step: BeginStep
) -> dict[str, Any]:
    """Write `expected_0.bin` and so on, and the launches of the baseline, which is the reference if there is no other;
    gives their counts and the baseline's seconds, where the plan asks for them."""
    launches = Launches(plan.limits.file_bytes, "baseline_")
    begin_step("reference")
    try:
        module = loaded_reference(file, directory, plan, launches)
        has_baseline = hasattr(module, "baseline")
        seconds: list[float] = []
        inputs = [_inputs(number, digest) for number, digest in enumerate(digests)]
        for number, data in enumerate(inputs):
            case = case_in(data)
            launches.keeps = number == 0 and not has_baseline
            function = computes(module, REFERENCES, "reference", case)
            seconds.append(compute(function, case.inputs, f"expected_{number}.bin"))
        if has_baseline and (plan.time or plan.cost):
            seconds = _baseline(module, inputs, plan, launches)
    except BaseException as error:
        return failed("reference", error, file)
    return {"seconds": seconds, "kept": launches.kept}


def _inputs(number: int, digest: str) -> bytes:
    """Inputs as they were made: where nothing keeps the candidate from writing to their file, it is seen."""
    with open(f"inputs_{number}.bin", "rb") as file:
        data = file.read()
    if digest_of(data) != digest:
        raise Failure("forbidden", "the candidate changed the files of the inputs")
    return data


def _baseline(module: Any, inputs: list[bytes], plan: Plan, launches: Launches) -> list[float]:
    """What the candidate is measured against; its results do not matter, and without a clock it need not run."""
    seconds = []
    launches.runs = plan.time
    for number, data in enumerate(inputs):
        case = case_in(data)
        launches.keeps = number == 0
        function = computes(module, ("baseline",), "baseline", case)
        seconds.append(compute(function, case.inputs, "baseline.bin"))
        if not plan.time:
            break
    return seconds

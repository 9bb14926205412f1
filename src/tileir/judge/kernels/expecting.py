"""The reference's module makes the inputs again, and computes what is expected of them.

Only now: while the candidate ran, there was nothing to be found.  The inputs are made again, as the candidate could
write to the files that it was given.
"""

from __future__ import annotations

from typing import Any

from tileir.judge.ended import BeginStep
from tileir.judge.kernels.computing import compute
from tileir.judge.kernels.launches import Launches
from tileir.judge.kernels.loading import Failure
from tileir.judge.kernels.making import ReferenceSource, case_in, cases, digest_of, failed, loaded_reference
from tileir.judge.kernels.protocol import REFERENCES, computes
from tileir.judge.plans import Plan


def compute_expected(
    source: ReferenceSource, directory: str, digests: list[str], plan: Plan, begin_step: BeginStep
) -> dict[str, Any]:
    """Write `expected_0.bin` and so on, and the launches of the baseline, which is the reference if there is no other;
    gives their counts and the baseline's seconds, where the plan asks for them."""
    launches = Launches(plan.limits.file_bytes, "baseline_")
    begin_step("reference")
    try:
        module = loaded_reference(source, directory, plan, launches)
        has_baseline = hasattr(module, "baseline")
        seconds: list[float] = []
        for number, (_, data) in enumerate(cases(module, plan)):
            if digest_of(data) != digests[number]:
                raise Failure("failed", "the inputs are others when they are made again with the same seed")
            case = case_in(data)
            launches.keeps = number == 0 and not has_baseline
            function = computes(module, REFERENCES, "reference", case)
            seconds.append(compute(function, case.inputs, f"expected_{number}.bin"))
        if has_baseline and (plan.time or plan.cost):
            seconds = _baseline(module, plan, launches)
    except BaseException as error:
        return failed("reference", error, source.file)
    return {"seconds": seconds, "kept": launches.kept}


def _baseline(module: Any, plan: Plan, launches: Launches) -> list[float]:
    """What the candidate is measured against; its results do not matter, and without a clock it need not run."""
    seconds = []
    launches.runs = plan.time
    for number, (_, data) in enumerate(cases(module, plan)):
        case = case_in(data)
        launches.keeps = number == 0
        function = computes(module, ("baseline",), "baseline", case)
        seconds.append(compute(function, case.inputs, "baseline.bin"))
        if not plan.time:
            break
    return seconds

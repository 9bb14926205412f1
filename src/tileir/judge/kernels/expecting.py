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
    gives their counts and the baseline's seconds."""
    launches = Launches(plan.limits.file_bytes, "baseline_")
    seconds: list[float] = []
    begin_step("reference")
    try:
        module = loaded_reference(source, directory, plan, launches)
        baseline = "baseline" if hasattr(module, "baseline") else ""
        for number, (_, data) in enumerate(cases(module, plan)):
            if digest_of(data) != digests[number]:
                raise Failure("failed", "the inputs are others when they are made again with the same seed")
            case = case_in(data)
            launches.keeps = number == 0 and not baseline
            seconds.append(
                compute(computes(module, REFERENCES, "reference", case), case.inputs, f"expected_{number}.bin")
            )
            if baseline:
                case = case_in(data)
                launches.keeps = number == 0
                function = computes(module, (baseline,), "baseline", case)
                seconds[-1] = compute(function, case.inputs, "baseline.bin")
    except BaseException as error:
        return failed("reference", error, source.file)
    return {"seconds": seconds, "kept": launches.kept, "baseline": baseline or "reference"}

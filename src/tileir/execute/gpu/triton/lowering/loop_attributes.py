"""What Triton is told about single loops: how many iterations are under way, and which loops are joined."""

from __future__ import annotations

from tileir.execute.gpu.triton.options import Schedule
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.ir.core import Operation


def loop_attributes(entry: Operation, schedule: Schedule) -> dict[Operation, str]:
    """The attributes of the loops of a kernel, where they have some."""
    features = features_of(entry)
    found: dict[Operation, list[str]] = {}
    for loop in features.loops:
        if not loop.is_early:
            # Triton does not ask whether an iteration loads what the one before stores.
            found.setdefault(loop.operation, []).append("tt.num_stages = 1 : i32")
    if schedule.flatten and features.persistent is not None and features.loops[0].is_early:
        found.setdefault(features.persistent, []).append("tt.flatten")
    if schedule.row_stages > 1:
        for operation in features.row_loops:
            found.setdefault(operation, []).append(f"tt.num_stages = {schedule.row_stages} : i32")
    return {operation: f"{{{', '.join(marks)}}}" for operation, marks in found.items() if marks}

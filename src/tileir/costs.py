"""What `tileir.cost` returns."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.analyze.cost.occupancy": "Occupancy",
        "tileir.analyze.cost.result": "Cost Roofline",
    },
)

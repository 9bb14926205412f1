# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.analyze.cost.occupancy import Occupancy as Occupancy
from tileir.analyze.cost.result import Cost as Cost, Roofline as Roofline

__all__ = ["Cost", "Occupancy", "Roofline"]

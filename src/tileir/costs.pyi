# Written by `make docs` from the table of the module.
# ruff: noqa
# fmt: off
from tileir.analyze.cost.occupancy import Occupancy as Occupancy
from tileir.analyze.cost.result import Cost as Cost, Roofline as Roofline

__all__: list[str]

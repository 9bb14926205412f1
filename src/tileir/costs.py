"""What `tileir.cost` returns.

>>> cost = tileir.cost(kernel, 8, args, target="h200")
>>> [type(part).__name__ for part in (cost, cost.roofline, cost.occupancy)]
['Cost', 'Roofline', 'Occupancy']
>>> cost.bytes_moved, cost.flops
(12000, 1024)
"""

from tileir.public import publish

publish(__name__)

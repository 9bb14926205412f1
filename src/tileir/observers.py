"""Watch a launch, operation by operation, in the interpreter.

>>> from tileir.observers import Access, Memory, Observer, ObserverCallback, TileBlock, Trace
>>> class Accesses(Observer):
...     count = 0
...     def launch_started(self, grid: tuple[int, int, int], memory: Memory) -> None:
...         print(grid, len(memory.regions))
...     def access(self, access: Access) -> None:
...         self.count += access.addresses.size
>>> accesses, lines = Accesses(), []
>>> kernel.launch(8, args, observer=accesses)
(8, 1, 1) 3
>>> kernel.launch(8, args, observer=Trace((0, 0, 0), lines.append))
>>> accesses.count, len(lines) > 0
(3072, True)
>>> def look(operation: tileir.Operation, block: TileBlock, operands: list, results: list) -> None:
...     if operation.name == "cuda_tile.addf":
...         print(block.id, results[0].max())
>>> kernel.launch(2, args, observer=ObserverCallback(look))
(0, 0, 0) 2.0
(1, 0, 0) 2.0
"""

from tileir.public import publish

publish(__name__)
